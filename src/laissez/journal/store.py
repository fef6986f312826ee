"""The journal's writer: one SQLite file to which groups of entries are appended.

How it works. `append` stores a group as one transaction. SQLite in WAL mode with `synchronous =
FULL` appends it to the write-ahead log and syncs once. SQLite handles torn writes and recovery
after a crash. We add the sequence, the hash chain (`format`), the mark (`mark`) and the handling of
the log of a writer that died (`wal`).

Why it is correct.
- An entry is durable before it is reported: `last`, `head` and `last_at` change only after SQLite
  has synced the group.
- One order: `flock` on `journal.lock` keeps a second writer out. If the lock file is deleted under
  a running server, `first` is still a primary key: the second writer to store a group fails.
- A history that is damaged or ends too early is refused: each link covers all entries before it,
  and the mark covers the last acknowledged entry.
- Entries leave the file only once an archive holds them (`archive`), and the base moves in the same
  transaction, so archives and live file have no gap between them at any moment.

What must never happen.
- A write after a failed one. The kernel may have dropped the pages of a failed sync, and the next
  sync would succeed, so the content of the disk is unknown until the journal is opened again.
- A change to any file before everything is checked: SQLite would write to a file that may be
  damaged. So `open` reads, `recover` checks, and only then `begin` opens the file for writing. The
  one exception is a log that is restored from its copy.
- A new journal where one was lost: a log, a mark, snapshots or archives without their journal are
  refused.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import Self

from laissez.exchange.events import Document
from laissez.journal import wal
from laissez.journal.disk import create, fsync, make_folder, remove, rename, sync_parents
from laissez.journal.errors import JournalExists, JournalFailed, disk_errors_as
from laissez.journal.format import (
    DATABASE,
    INSERT_DOCUMENT,
    INSERT_GROUP,
    Entry,
    Filed,
    Position,
    archives,
    connect,
    group_link,
    make_tables,
    pack,
    start_link,
)
from laissez.journal.lock import Lock
from laissez.journal.mark import MARK, MarkFile
from laissez.journal.reader import Reader

# the most that a cut deletes at a time, so that no group waits for more than a few milliseconds
CUT_BYTES, CUT_GROUPS, CUT_DOCUMENTS = 128 << 10, 64, 128


class Journal:
    """Made by `create` or `open`. One thread at a time may append."""

    def __init__(self, folder: Path, lock: Lock, reader: Reader) -> None:
        self.folder = folder
        self.genesis = reader.genesis
        self.identity = reader.identity
        self.last, self.head, self.last_at = reader.tail()
        self.base = reader.base()  # entries up to here are in archives
        # entries up to here were synced by the process that wrote them
        self._synced = reader.check_mark()
        self._lock = lock
        self._failure: BaseException | None = None
        self._closed = False
        self._mark: MarkFile | None = None
        self._connection: sqlite3.Connection | None = None

    @classmethod
    def create(
        cls,
        folder: Path,
        genesis: bytes,
        *,
        identity: bytes | None = None,
        created_us: int | None = None,
    ) -> Self:
        """Make a journal without entries. `genesis` is the initial state; `identity` and
        `created_us` can be given to make the same journal again."""
        identity = identity or secrets.token_bytes(16)
        created_us = time.time_ns() // 1000 if created_us is None else created_us
        with disk_errors_as(
            f"a journal cannot be made in {folder}",
            "Make room, mend the disk, or name another folder.",
        ):
            make_folder(folder)
            sync_parents(folder)
            with closing(Lock(folder)):
                _refuse_remains(folder)
                _make_database(folder, genesis, identity, str(created_us).encode())
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open the journal and check its first and last entries; `recover` checks all in
        between."""
        _sync_name(folder)
        if (folder / wal.COPY).exists():
            _restore_log(folder)
        with Reader(folder) as reader:
            lock = Lock(folder)
            try:
                with _open_errors_named(folder):
                    return cls(folder, lock, reader)
            except BaseException:
                lock.close()
                raise

    def begin(self) -> sqlite3.Connection:
        """Open the file for writing, after all checks. Every entry in it is durable on return."""
        if self._connection:
            return self._connection
        with _open_errors_named(self.folder):
            if self._synced < self.last:
                wal.copy_log(self.folder)
            connection = wal.open_for_writing(self.folder)
            try:
                self._mark = MarkFile(self.folder, self.last, self.head)
            except BaseException:
                connection.close()
                raise
        self._connection = connection
        return connection

    def append(
        self, entries: Sequence[Entry], documents: Sequence[tuple[int, Document]] = ()
    ) -> None:
        """Store the entries as one group, and each document with the entry at its index. The group
        is durable on return; after JournalFailed no further append succeeds."""
        self._check_times(entries)
        first = self.last + 1
        filed = _filed(first, len(entries), documents)
        packed = pack(entries)
        link = group_link(self.head, first, len(entries), packed, filed)
        with self._writing() as connection:
            _store(connection, (first, len(entries), link, packed), filed)
        self.head = link
        self.last_at = entries[-1].at
        self.last = first + len(entries) - 1
        assert self._mark is not None
        self._mark.write(self.last, link)

    def cut(self, until: Position) -> bool:
        """Delete one piece of the archived groups up to `until`; returns whether the cut is
        complete. The base moves in the same transaction, so a crash leaves no gap in the chain."""
        with self._writing() as connection:
            base = self._next_base(connection, until)
            # Documents may be many, so those of deleted groups are deleted piece by piece, too.
            documents = connection.execute(
                "SELECT name, seq FROM documents INDEXED BY documents_by_seq WHERE seq <= ? ORDER"
                " BY seq LIMIT ?",
                (base.seq, CUT_DOCUMENTS),
            ).fetchall()
            if base == self.base and not documents:
                return True
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("DELETE FROM groups WHERE first <= ?", (base.seq,))
            connection.executemany("DELETE FROM documents WHERE name = ? AND seq = ?", documents)
            connection.execute("UPDATE meta SET value = ? WHERE key = 'base'", (base.packed(),))
            connection.execute("COMMIT")
            self.base = base
        return False

    def reader(self, *, archived: bool = False) -> Reader:
        return Reader(self.folder, archived=archived)

    def close(self) -> None:
        """Release the journal. Nothing is lost without it: appended entries are durable."""
        if self._closed:
            return
        self._closed = True
        with ExitStack() as last_first:
            last_first.callback(self._lock.close)
            if self._connection and self._mark:
                last_first.callback(self._connection.close)
                last_first.callback(self._mark.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _next_base(self, connection: sqlite3.Connection, until: Position) -> Position:
        """The base after one more piece of a cut."""
        rows = connection.execute(
            "SELECT first, count, chain, length(entries) FROM groups WHERE first <= ? ORDER BY"
            " first LIMIT ?",
            (until.seq, CUT_GROUPS),
        ).fetchall()
        base, size = self.base, 0
        for first, count, link, length in rows:
            assert first == base.seq + 1, "groups follow each other"
            size += length
            if size > CUT_BYTES and base != self.base:
                break
            base = Position(first + count - 1, link)
        assert base.seq < self.last, "a cut leaves a group"
        assert base.seq <= until.seq and (base.seq < until.seq or base == until), (
            "a cut ends where an archive ends"
        )
        return base

    def _check_times(self, entries: Sequence[Entry]) -> None:
        if not entries:
            raise ValueError("a group holds at least one entry")
        at = self.last_at
        for entry in entries:
            if entry.at < at:
                raise ValueError(
                    f"time never falls in a journal: an entry at {entry.at} cannot follow one at"
                    f" {at}"
                )
            at = entry.at

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """After any error while writing, refuse all further writes."""
        if self._failure:
            raise JournalFailed(self._reason()) from self._failure
        if self._closed:
            raise JournalFailed(f"the journal in {self.folder} is closed")
        connection = self.begin()
        try:
            yield connection
        except BaseException as error:
            self._failure = error
            if isinstance(error, sqlite3.Error | OSError):
                raise JournalFailed(self._reason()) from error
            raise

    def _reason(self) -> str:
        why = str(self._failure) or type(self._failure).__name__
        return (
            f"the journal in {self.folder} could not be written after entry {self.last}: {why}."
            " Nothing after that entry was acknowledged. Make room or mend the disk, then open the"
            " journal anew."
        )


def _open_errors_named(folder: Path) -> AbstractContextManager[None]:
    return disk_errors_as(
        f"{folder / DATABASE} cannot be opened for writing", "Its folder must be writable."
    )


def _sync_name(folder: Path) -> None:
    """Sync the journal's name, which a crash during `create` may have left unsynced. SQLite makes a
    log as soon as the file is opened. If the log alone survived a power failure, it would look like
    the remains of a lost journal."""
    if (folder / DATABASE).exists():
        with disk_errors_as(
            f"{folder} cannot be kept on the disk",
            "Mend the disk, or put the folder on another one.",
        ):
            fsync(folder)


def _restore_log(folder: Path) -> None:
    with (
        closing(Lock(folder)),
        disk_errors_as(f"{folder / wal.LOG} cannot be written", "Make room, or mend the disk."),
    ):
        wal.restore_log(folder)


def _store(
    connection: sqlite3.Connection, group: tuple[int, int, bytes, bytes], filed: list[Filed]
) -> None:
    if not filed:
        # A single statement is a transaction: one wait for the interpreter lock instead of three.
        connection.execute(INSERT_GROUP, group)
        return
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(INSERT_GROUP, group)
    connection.executemany(INSERT_DOCUMENT, filed)
    connection.execute("COMMIT")


def _filed(first: int, count: int, documents: Sequence[tuple[int, Document]]) -> list[Filed]:
    """The documents in the order of the hash chain."""
    if not documents:
        return []
    filed = sorted(Filed(first + index, one.name, one.body) for index, one in documents)
    if not (first <= filed[0].seq and filed[-1].seq < first + count):
        raise ValueError(
            f"a document is filed with an entry of its group: an index from 0 to {count - 1} was"
            " expected"
        )
    if len({(one.seq, one.name) for one in filed}) < len(filed):
        raise ValueError("two documents of one entry have the same name")
    return filed


def _refuse_remains(folder: Path) -> None:
    remains = [
        folder / DATABASE,
        folder / wal.LOG,
        folder / MARK,
        *sorted(folder.glob("snapshots/*.snapshot")),
        *archives(folder),
    ]
    for path in remains:
        if path.exists():
            raise JournalExists(
                f"{path} exists: it is or belongs to a journal. Open that journal, or make the new"
                " one in another folder."
            )


def _make_database(folder: Path, genesis: bytes, identity: bytes, created: bytes) -> None:
    """Make the file under another name, then rename it: a crash leaves a complete journal or
    none."""
    path = folder / f"{DATABASE}.new"
    # left by a crash: SQLite would apply the old log to the new file
    for left in ("", "-journal", "-wal", "-shm"):
        remove(folder / f"{DATABASE}.new{left}")
    create(path)
    base = Position(0, start_link(genesis, identity, created))
    with closing(connect(path, "rw")) as connection:
        make_tables(connection, genesis, identity, created, base)
        wal.turn_on(connection)
    fsync(path)
    rename(path, folder / DATABASE)
    fsync(folder)
