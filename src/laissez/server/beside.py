"""State beside the journal: sign-ins, webhook cursors, dead letters and the log of refusals.

All of it is one SQLite file with one thread of its own. None of it is part of the market, and no
start needs it: a file that is damaged, or of another journal, is set aside under another name with
a line in the log, and a new one takes its place. Hence these are not tables of the journal, where
one bad page must stop a start.

SQLite has no checksums of pages. So each row carries its own (`seal`, or a hash chain): a flipped
bit costs a row, and is never believed.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TypeVar

from laissez.journal import disk
from laissez.journal.format import connect

FILE = "beside.db"  # in the data folder
APPLICATION_ID = 0x4C5A4253  # "LZBS", in the header of the file
FORMAT = 2  # `user_version` in the header: raised when the tables change
SUM_BYTES = 16
MAY_PASS = {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
}

# Each table is bounded by its owner: 16 sign-ins a key, a cursor and DEAD_LETTERS_MAX dead letters
# a webhook, `audit.lines_per_day` for `audit.keep_days`, and a digest a day.
TABLES = (
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE signins(digest BLOB PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE cursors(webhook TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID",
    (
        "CREATE TABLE dead_letters(webhook TEXT NOT NULL, n INTEGER NOT NULL, last INTEGER NOT"
        " NULL, body BLOB NOT NULL, PRIMARY KEY(webhook, n)) WITHOUT ROWID"
    ),
    "CREATE TABLE refusals(n INTEGER PRIMARY KEY, line BLOB NOT NULL)",
    "CREATE TABLE digests(n INTEGER PRIMARY KEY, line BLOB NOT NULL)",
)

T = TypeVar("T")
log = logging.getLogger("laissez.beside")


class BesideFailed(Exception):
    """The file could not be read or written; the message says why. The server goes on."""


class Damaged(Exception):
    """A row or a file is not what was written."""


class Beside:
    """Any thread may call `transact`, which waits for the disk; `run` does it in the thread of the
    database. Without a path the database is in memory alone."""

    def __init__(self, path: Path | None, identity: bytes) -> None:
        """`identity` is that of the journal. Never raises: where the file cannot be opened, each
        transaction tries again."""
        self.identity = identity
        self.set_aside = ""  # the name of the damaged file that this one replaces
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, "beside")
        try:
            self._connection = self._owned(self._open_or_replace())
        except (sqlite3.Error, OSError) as error:
            log.error(
                "the state beside the journal cannot be opened; the server goes on without it",
                extra={"file": str(path), "reason": str(error)},
            )

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Like `transact`, for the event loop. It goes on though nobody waits for it any more."""
        if self._path is None:
            return self.transact(work)  # no disk to wait for
        loop = asyncio.get_running_loop()
        return await asyncio.shield(loop.run_in_executor(self._thread, self.transact, work))

    def transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do all of it, durably, or nothing, and raise `BesideFailed`."""
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._owned(_open(self._path, self.identity))
                with self._connection:  # commits, or rolls back
                    self._connection.execute("BEGIN IMMEDIATE")
                    return work(self._connection)
            except (sqlite3.Error, OSError, Damaged) as error:
                self._close()  # opened anew by the next one: nobody knows what the disk has
                raise BesideFailed(str(error)) from error

    def close(self) -> None:
        """Waits for what is under way."""
        self._thread.shutdown()
        with self._lock:
            if self._connection is not None:
                _close_quietly(self._connection)
                self._connection = None

    def seal(self, name: str, content: bytes) -> bytes:
        return seal(self.identity, name, content)

    def unseal(self, name: str, stored: bytes) -> bytes:
        return unseal(self.identity, name, stored)

    def _close(self) -> None:
        if self._connection is not None and self._path is not None:  # memory would be lost
            _close_quietly(self._connection)
            self._connection = None

    def _owned(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        """Closed at the latest when this object goes: a database in memory has no other end."""
        weakref.finalize(self, _close_quietly, connection).atexit = False
        return connection

    def _open_or_replace(self) -> sqlite3.Connection:
        try:
            return _open(self._path, self.identity, checks=True)
        except (sqlite3.DatabaseError, Damaged) as error:
            path = self._path
            if path is None or _may_pass(error):
                raise
            aside = _set_aside(path)
            self.set_aside = aside.name
            log.error(
                "the state beside the journal is damaged and was set aside: everybody signs in"
                " again, webhooks repeat deliveries, and the log of refusals begins anew",
                extra={"file": str(path), "aside": str(aside), "reason": str(error)},
            )
            return _open(path, self.identity)


def _close_quietly(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):
        connection.close()


def seal(identity: bytes, name: str, content: bytes) -> bytes:
    """The content with a checksum over it, its name and the journal's identity: under another name,
    or beside another journal, it is not believed."""
    return _sum(identity, name, content) + content


def unseal(identity: bytes, name: str, stored: bytes) -> bytes:
    """Raises `Damaged` unless it is what was sealed."""
    content = bytes(stored[SUM_BYTES:])
    if _sum(identity, name, content) != stored[:SUM_BYTES]:
        raise Damaged("its checksum differs: it is damaged, or of another journal")
    return content


def _sum(identity: bytes, name: str, content: bytes) -> bytes:
    named = b"\n".join((identity.hex().encode(), name.encode(), content))
    return hashlib.sha256(named).digest()[:SUM_BYTES]


@contextmanager
def reading(path: Path, identity: bytes) -> Iterator[sqlite3.Connection]:
    """One state of the file, also while a server writes it; an empty one if there is no file.
    Raises `BesideFailed`, also for an SQLite error inside the block."""
    try:
        is_there = path.exists()
        with closing(connect(path, "ro") if is_there else _open(None, identity)) as connection:
            check_origin(connection, identity)
            connection.execute("BEGIN")
            yield connection
    except (sqlite3.Error, Damaged) as error:
        raise BesideFailed(f"{path} cannot be read: {error}") from error


def _open(path: Path | None, identity: bytes, checks: bool = False) -> sqlite3.Connection:
    if path is None:
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    else:
        if path.is_dir():
            raise Damaged("it is a folder")
        is_new = not path.exists()
        disk.create(path)  # for its owner alone
        if is_new:
            disk.fsync(path.parent)
        connection = connect(path, "rw")
    try:
        _prepare(connection, identity)
        if checks:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise Damaged(found)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, identity: bytes) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    # What a process that died left in the log may be in the system's memory alone.
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if not connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            for table in TABLES:
                connection.execute(table)
            connection.execute("INSERT INTO meta VALUES ('identity', ?)", (identity,))
    check_origin(connection, identity)


def check_origin(connection: sqlite3.Connection, identity: bytes) -> None:
    """Raises `Damaged` unless it is a file of this format, and beside this journal."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if (application, version) != (APPLICATION_ID, FORMAT):
        raise Damaged("it is a file of another kind")
    found = connection.execute("SELECT value FROM meta WHERE key = 'identity'").fetchone()
    if found is None or found[0] != identity:
        raise Damaged("it belongs to another journal")


def _may_pass(error: Exception) -> bool:
    """A full disk, an I/O error or a lock says nothing of what the file holds."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in MAY_PASS


def _set_aside(path: Path) -> Path:
    """With its log, so that SQLite's own tools can look into it."""
    aside = next(
        one for n in count(1) if not (one := path.with_name(f"{FILE}.damaged-{n}")).exists()
    )
    for end in ("", "-wal", "-shm"):
        if (old := path.with_name(FILE + end)).exists():
            disk.rename(old, path.with_name(aside.name + end))
    disk.fsync(path.parent)
    return aside
