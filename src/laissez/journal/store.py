"""The journal's writer: one SQLite file to which groups of entries are appended.

How it works. `append` stores a group as one transaction. SQLite in WAL mode with `synchronous =
FULL` writes it at the end of the write-ahead log and syncs once. Torn writes and recovery after a
crash are SQLite's part. Ours are the sequence, the hash chain (`format`), the mark (`mark`) and
what a start does with the log of a writer that died (`wal`).

Why it is correct.
- An entry is durable before anybody hears of it: `last`, `head` and `last_at` move only after
  SQLite has said that the group is on the disk.
- One order: `flock` on `journal.lock` keeps a second writer out. If the lock file is deleted under
  a running server, `first` is still a primary key: the second writer to store a group fails.
- A history that is damaged or ends too early is refused: each link stands for all entries before
  it, and the mark for the last one that was acknowledged.
- Entries leave the file only once an archive holds them (`archive`), and the base moves in the same
  transaction, so archives and live file have no gap between them at any moment.

What must never happen.
- A write after a failed one. Nobody knows what the disk holds until the journal is opened anew: the
  kernel may have dropped the pages of a failed sync, and the next sync would succeed.
- A change to any file before all was checked: SQLite would write to what may be damaged. So `open`
  reads, `recover` checks, and only then `begin` opens the file for writing. The one exception is a
  log that is put back from its copy.
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
from laissez.journal.disk import create, keep, keep_above, make_folder, remove, rename
from laissez.journal.errors import JournalExists, JournalFailed, failing_as
from laissez.journal.format import (
    DATABASE,
    INSERT_DOCUMENT,
    INSERT_GROUP,
    Base,
    Entry,
    Filed,
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

# A cut deletes this much at a time, so that no group waits for more than a few milliseconds.
CUT_BYTES, CUT_GROUPS, CUT_DOCUMENTS = 128 << 10, 64, 128


class Journal:
    """Made by `create` or `open`. One thread at a time may append."""

    def __init__(self, folder: Path, lock: Lock, reader: Reader) -> None:
        self.folder = folder
        self.genesis = reader.genesis
        self.identity = reader.identity
        self.last, self.head, self.last_at = reader.tail()
        self.base = reader.base()  # entries up to here are in archives
        # up to here the process that wrote it asked the disk to keep it, and the disk said yes
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
        """A new journal that holds nothing but how the state machine begins. To make the same one
        again, give its identity and time."""
        identity = identity or secrets.token_bytes(16)
        created_us = time.time_ns() // 1000 if created_us is None else created_us
        with failing_as(
            f"a journal cannot be made in {folder}",
            "Make room, mend the disk, or name another folder.",
        ):
            make_folder(folder)
            keep_above(folder)
            with closing(Lock(folder)):
                _refuse_remains(folder)
                _make_database(folder, genesis, identity, str(created_us).encode())
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """The journal in the folder, if it is whole at both ends; `recover` checks everything
        between."""
        _keep_name(folder)
        if (folder / wal.COPY).exists():
            _put_log_back(folder)
        with Reader(folder) as reader:
            lock = Lock(folder)
            try:
                with _failing_to_open(folder):
                    return cls(folder, lock, reader)
            except BaseException:
                lock.close()
                raise

    def begin(self) -> sqlite3.Connection:
        """Open the file for writing, once all is well. What was found is durable on return."""
        if self._connection:
            return self._connection
        with _failing_to_open(self.folder):
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
        """Store the entries as one group, and each document with the entry at its index. All of it
        is durable on return, or JournalFailed is raised and nothing more is taken."""
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

    def cut(self, until: Base) -> bool:
        """Delete one piece of what an archive holds up to `until`; says whether that was the last.
        The base moves in the same transaction, so the chain has no gap whenever this stops."""
        with self._writing() as connection:
            base = self._next_base(connection, until)
            # Documents may be many: those of groups that are gone are deleted piece by piece, too.
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
        """Release the journal. Without it nothing is lost either: what was appended is durable."""
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

    def _next_base(self, connection: sqlite3.Connection, until: Base) -> Base:
        """How far one piece of a cut goes."""
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
            base = Base(first + count - 1, link)
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
        """Whatever goes wrong while writing is the journal's end."""
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


def _failing_to_open(folder: Path) -> AbstractContextManager[None]:
    return failing_as(
        f"{folder / DATABASE} cannot be opened for writing", "Its folder must be writable."
    )


def _keep_name(folder: Path) -> None:
    """The making of the journal may have been cut short before its name was kept. SQLite makes a
    log beside it as soon as anybody looks, and the log alone must not survive: it would be taken
    for what is left of a journal that was lost."""
    if (folder / DATABASE).exists():
        with failing_as(
            f"{folder} cannot be kept on the disk",
            "Mend the disk, or put the folder on another one.",
        ):
            keep(folder)


def _put_log_back(folder: Path) -> None:
    with (
        closing(Lock(folder)),
        failing_as(f"{folder / wal.LOG} cannot be written", "Make room, or mend the disk."),
    ):
        wal.put_back(folder)


def _store(
    connection: sqlite3.Connection, group: tuple[int, int, bytes, bytes], filed: list[Filed]
) -> None:
    if not filed:
        # A statement by itself is a transaction: one step, and so one wait for the interpreter
        # lock, instead of three.
        connection.execute(INSERT_GROUP, group)
        return
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(INSERT_GROUP, group)
    connection.executemany(INSERT_DOCUMENT, filed)
    connection.execute("COMMIT")


def _filed(first: int, count: int, documents: Sequence[tuple[int, Document]]) -> list[Filed]:
    """In the order in which the chain takes them."""
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
    """Made under another name and renamed when complete: a crash leaves a journal or none."""
    path = folder / f"{DATABASE}.new"
    # of one whose making was cut short: SQLite would take its log for the new one's
    for left in ("", "-journal", "-wal", "-shm"):
        remove(folder / f"{DATABASE}.new{left}")
    create(path)
    base = Base(0, start_link(genesis, identity, created))
    with closing(connect(path, "rw")) as connection:
        make_tables(connection, genesis, identity, created, base)
        wal.turn_on(connection)
    keep(path)
    rename(path, folder / DATABASE)
    keep(folder)
