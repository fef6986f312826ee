"""The journal: one SQLite file to which groups of entries are appended, each durable before
`append` returns.

SQLite in WAL mode with `synchronous = FULL` writes a group at the end of the write-ahead log and
asks the disk to keep it, once. Torn writes and recovery after a crash are SQLite's part; the
sequence, the hash chain and the mark are ours.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from laissez.journal import chain, log_copy
from laissez.journal.disk import create, keep, keep_above, make_folder, remove, rename
from laissez.journal.entries import Document, Entry, Filed, pack
from laissez.journal.errors import JournalError, JournalExists, JournalFailed
from laissez.journal.lock import Lock
from laissez.journal.mark import MARK, MarkFile
from laissez.journal.reader import Reader
from laissez.journal.schema import DATABASE, FORMAT, archives, connect, make_tables
from laissez.journal.segment import Base

__all__ = ["Journal"]

# Pages of 4 KiB in the write-ahead log before SQLite moves them into the file, within an append.
# That append waits: 9 ms for 1,000 pages, 35 ms for 4,000 as measured, at the same throughput.
CHECKPOINT_PAGES = 1_000
# A cut deletes this much at a time, so that no group waits for more than a few milliseconds.
CUT_BYTES, CUT_GROUPS, CUT_DOCUMENTS = 128 << 10, 64, 128


class Journal:
    """Made by `create` or `open`. One thread at a time may append; `last`, `head` and `last_at`
    always describe durable entries."""

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
        try:
            make_folder(folder)
            keep_above(folder)
            lock = Lock(folder)
            try:
                _refuse_remains(folder)
                _make_database(
                    folder,
                    genesis,
                    identity or secrets.token_bytes(16),
                    time.time_ns() // 1000 if created_us is None else created_us,
                )
            finally:
                lock.release()
        except (sqlite3.Error, OSError) as error:
            raise JournalError(
                f"a journal cannot be made in {folder}: {error}. Make room, mend the disk, or name"
                " another folder."
            ) from error
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """The journal in the folder, if it is whole at both ends; `recover` checks everything
        between. Until then nothing is changed, except that a log is put back of which a copy was
        left."""
        _keep_name(folder)
        if (folder / log_copy.COPY).exists():
            _put_log_back(folder)
        with Reader(folder) as reader:
            lock = Lock(folder)
            try:
                return cls(folder, lock, reader)
            except BaseException as error:
                lock.release()
                if isinstance(error, sqlite3.Error | OSError):
                    raise JournalError(
                        f"{folder / DATABASE} cannot be opened for writing: {error}. Its folder"
                        " must be writable."
                    ) from error
                raise

    def begin(self) -> None:
        """Open it for writing, once all is well; from here on what was found is durable. Earlier,
        SQLite would change what may be damaged."""
        if self._connection:
            return
        try:
            if self._synced < self.last:
                log_copy.make(self.folder)
            connection = _writing(self.folder / DATABASE)
            try:
                self._mark = MarkFile(self.folder, self.last, self.head)
            except BaseException:
                connection.close()
                raise
        except (sqlite3.Error, OSError) as error:
            raise JournalError(
                f"{self.folder / DATABASE} cannot be opened for writing: {error}. Its folder must"
                " be writable."
            ) from error
        self._connection = connection

    def append(
        self, entries: Sequence[Entry], documents: Sequence[tuple[int, Document]] = ()
    ) -> None:
        """Store the entries as one group, and each document with the entry at its index. All of it
        is durable on return, or JournalFailed is raised and nothing more is taken: after a failed
        write nobody knows what the disk holds until the journal is opened anew."""
        if self._failure or self._closed:
            raise JournalFailed(self._refusal()) from self._failure
        self.begin()
        self._check_times(entries)
        first = self.last + 1
        filed = _filed(first, len(entries), documents)
        packed = pack(entries)
        link = chain.link(self.head, first, len(entries), packed, filed)
        try:
            self._store((first, len(entries), link, packed), filed)
        except BaseException as error:
            self._failure = error
            if isinstance(error, sqlite3.Error | OSError):
                raise JournalFailed(self._refusal()) from error
            raise
        self.head = link
        self.last_at = entries[-1].at
        self.last = first + len(entries) - 1
        assert self._mark is not None
        self._mark.write(self.last, link)

    def cut(self, until: Base) -> bool:
        """Delete one piece of what an archive holds up to `until`; says whether that was the last.
        The base moves in the same transaction, so the chain has no gap whenever this stops."""
        if self._failure or self._closed:
            raise JournalFailed(self._refusal()) from self._failure
        self.begin()
        try:
            return self._cut(until)
        except BaseException as error:
            self._failure = error
            if isinstance(error, sqlite3.Error | OSError):
                raise JournalFailed(self._refusal()) from error
            raise

    def reader(self, *, archived: bool = False) -> Reader:
        return Reader(self.folder, archived=archived)

    def close(self) -> None:
        """Release the journal. Without it nothing is lost either: what was appended is durable."""
        if self._closed:
            return
        self._closed = True
        with ExitStack() as last_first:
            last_first.callback(self._lock.release)
            if self._connection and self._mark:
                last_first.callback(self._connection.close)
                last_first.callback(self._mark.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _store(self, group: tuple[int, int, bytes, bytes], filed: list[Filed]) -> None:
        insert = "INSERT INTO groups(first, count, chain, entries) VALUES (?, ?, ?, ?)"
        assert self._connection is not None
        if not filed:
            # A statement by itself is a transaction: one step, and so one wait for the interpreter
            # lock, instead of three.
            self._connection.execute(insert, group)
            return
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute(insert, group)
        self._connection.executemany(
            "INSERT INTO documents(seq, name, body) VALUES (?, ?, ?)",
            [(d.seq, d.name, d.body) for d in filed],
        )
        self._connection.execute("COMMIT")

    def _cut(self, until: Base) -> bool:
        assert self._connection is not None
        rows = self._connection.execute(
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
        # Statements may be many: those of groups that are gone are deleted piece by piece, too.
        documents = self._connection.execute(
            "SELECT name, seq FROM documents INDEXED BY documents_by_seq WHERE seq <= ? ORDER BY"
            " seq LIMIT ?",
            (base.seq, CUT_DOCUMENTS),
        ).fetchall()
        if base == self.base and not documents:
            return True
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute("DELETE FROM groups WHERE first <= ?", (base.seq,))
        self._connection.executemany("DELETE FROM documents WHERE name = ? AND seq = ?", documents)
        self._connection.execute("UPDATE meta SET value = ? WHERE key = 'base'", (base.packed(),))
        self._connection.execute("COMMIT")
        self.base = base
        return False

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

    def _refusal(self) -> str:
        if not self._failure:
            return f"the journal in {self.folder} is closed"
        why = str(self._failure) or type(self._failure).__name__
        return (
            f"the journal in {self.folder} could not be written after entry {self.last}: {why}."
            " Nothing after that entry was acknowledged. Make room or mend the disk, then open the"
            " journal anew."
        )


def _keep_name(folder: Path) -> None:
    """The making of the journal may have been cut short before its name was kept. SQLite makes a
    log beside it as soon as anybody looks, and the log alone must not survive: it would be taken
    for what is left of a journal that was lost."""
    if (folder / DATABASE).exists():
        try:
            keep(folder)
        except OSError as error:
            raise JournalError(
                f"{folder} cannot be kept on the disk: {error}. Mend the disk, or put the folder on"
                " another one."
            ) from error


def _put_log_back(folder: Path) -> None:
    lock = Lock(folder)
    try:
        log_copy.put_back(folder)
    except OSError as error:
        raise JournalError(
            f"{folder / log_copy.LOG} cannot be written: {error}. Make room, or mend the disk."
        ) from error
    finally:
        lock.release()


def _writing(path: Path) -> sqlite3.Connection:
    connection = connect(path, "rw")
    try:
        _log_ahead(connection)
        connection.execute("PRAGMA synchronous = FULL")
        # what a cut deletes is in an archive; zeroing it would double the cost of the cut
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        # A write that changes nothing, so that a file which can only be read is found out now and
        # not by the first append.
        connection.execute("DELETE FROM groups WHERE first < 0 AND count < 0")
        _make_durable(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Have SQLite write a log ahead of the file. That it could not is no error to SQLite, only
    another answer; here nothing would hold without it."""
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise sqlite3.OperationalError(
            f"the write-ahead log could not be turned on: the mode is still {mode!r}"
        )


def _make_durable(connection: sqlite3.Connection, path: Path) -> None:
    """What a writer that died left in the log may be in the system's memory alone; and if a sync of
    it failed, the next one says that all is well.

    So all of it is written anew, into the file, and the log is emptied, lest its old end on the
    disk hide what is newer in the file. A reader that is at work for long keeps SQLite from it;
    then the log is synced, which is enough unless the disk has failed."""
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    keep(path.with_name(log_copy.LOG))
    remove(path.with_name(log_copy.COPY))
    # a log, or a copy of one, that was deleted must not come back with what nobody has found since
    keep(path.parent)


def _filed(first: int, count: int, documents: Sequence[tuple[int, Document]]) -> list[Filed]:
    """In the order in which the chain takes them."""
    if not documents:
        return []
    filed = sorted(
        (Filed(first + index, document.name, document.body) for index, document in documents),
        key=lambda d: (d.seq, d.name),
    )
    if not (first <= filed[0].seq and filed[-1].seq < first + count):
        raise ValueError(
            f"a document is filed with an entry of its group: an index from 0 to {count - 1} was"
            " expected"
        )
    if len({(d.seq, d.name) for d in filed}) < len(filed):
        raise ValueError("two documents of one entry have the same name")
    return filed


def _refuse_remains(folder: Path) -> None:
    """A write-ahead log, a mark, snapshots or archives without their journal mean that a journal
    was lost, not that there was none."""
    remains = [
        folder / DATABASE,
        folder / log_copy.LOG,
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


def _make_database(folder: Path, genesis: bytes, identity: bytes, created_us: int) -> None:
    """Made under another name and renamed when complete: a crash leaves a journal or none."""
    path = folder / f"{DATABASE}.new"
    # of one whose making was cut short: SQLite would take its log for the new one's
    for left in ("", "-journal", "-wal", "-shm"):
        remove(folder / f"{DATABASE}.new{left}")
    create(path)
    created = str(created_us).encode()
    start = chain.start(FORMAT, genesis, identity, created)
    meta = {
        "genesis": genesis,
        "identity": identity,
        "created": created,
        "start": start,
        "base": Base(0, start).packed(),
    }
    connection = connect(path, "rw")
    try:
        make_tables(connection, meta)
        _log_ahead(connection)
    finally:
        connection.close()
    keep(path)
    rename(path, folder / DATABASE)
    keep(folder)
