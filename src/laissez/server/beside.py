"""State beside the journal: sign-ins, webhook cursors, dead letters and the log of refusals.

One SQLite file with a thread of its own. This state is not part of the market, and a start does not
need it: a file that is damaged, or belongs to another journal, is renamed, logged and replaced by a
new one. So these tables are not in the journal, where one bad page prevents a start.

SQLite has no page checksums. So each row carries its own (`seal`, or a hash chain): a flipped bit
loses one row and is always detected.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TypeVar

import msgspec

from laissez.journal import disk
from laissez.journal.format import connect

FILE = "beside.db"  # in the data folder
APPLICATION_ID = 0x4C5A4253  # "LZBS", in the header of the file
FORMAT = 2  # `user_version` in the header: raised when the tables change
SUM_BYTES = 16
TEMPORARY_ERRORS = {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
}

# Every table is bounded: 16 sign-ins per key, one cursor and DEAD_LETTERS_MAX dead letters per
# webhook, `audit.lines_per_day` for `audit.keep_days`, and one digest per day.
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
    """The file cannot be read or written. The server runs on without it."""


class Damaged(Exception):
    """A row or the file is damaged, or belongs to another journal."""


class Beside:
    """`transact` blocks, in any thread; `run` awaits it in the database's thread. Without a path
    the database is in memory only."""

    def __init__(self, path: Path | None, identity: bytes) -> None:
        """`identity` is that of the journal. Never raises: if the file cannot be opened, each
        transaction tries again."""
        self.identity = identity
        self.set_aside = ""  # the damaged file that this one replaces, until the audit log names it
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, "beside")
        try:
            self._connection = self._open_or_replace()
        except (sqlite3.Error, OSError) as error:
            log.error(
                "the state beside the journal cannot be opened; the server goes on without it",
                extra={"file": str(path), "reason": str(error)},
            )

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Like `transact`, for the event loop. Cancelling the caller does not stop the
        transaction."""
        if self._path is None:
            return self.transact(work)  # no disk to wait for
        loop = asyncio.get_running_loop()
        return await asyncio.shield(loop.run_in_executor(self._thread, self.transact, work))

    def transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in one durable transaction, or raise `BesideFailed`."""
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = _open(self._path, self.identity)
                with self._connection:  # commits, or rolls back
                    self._connection.execute("BEGIN IMMEDIATE")
                    return work(self._connection)
            except (sqlite3.Error, OSError, Damaged) as error:
                if self._path is not None:  # memory would be lost
                    self._disconnect()  # the state of the disk is unknown: reopen
                raise BesideFailed(str(error)) from error

    def close(self) -> None:
        """Close after the running transactions."""
        self._thread.shutdown()
        with self._lock:
            self._disconnect()

    def __del__(self) -> None:
        self._disconnect()  # a database in memory is never closed

    def encode(self, name: str, value: msgspec.Struct) -> bytes:
        """A row's content, sealed with its name."""
        return seal(self.identity, name, msgspec.json.encode(value))

    def decode(self, name: str, stored: bytes, kind: type[T]) -> T | None:
        """The content of a row; None, with a warning in the log, if the row is damaged."""
        try:
            return msgspec.json.decode(unseal(self.identity, name, stored), type=kind)
        except (Damaged, msgspec.MsgspecError, TypeError) as error:
            log.warning(
                "a row of beside.db is damaged and ignored",
                extra={"row": name, "reason": str(error)},
            )
            return None

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def _open_or_replace(self) -> sqlite3.Connection:
        path = self._path
        try:
            return _open(path, self.identity, checks=True)
        except (sqlite3.DatabaseError, Damaged) as error:
            # a full disk or a lock is no damage
            is_temporary = getattr(error, "sqlite_errorcode", 0) & 0xFF in TEMPORARY_ERRORS
            if path is None or is_temporary:
                raise
            aside = _set_aside(path)
            self.set_aside = aside.name
            log.error(
                "the state beside the journal is damaged and was set aside: everybody signs in"
                " again, webhooks repeat deliveries, and the log of refusals begins anew",
                extra={"file": str(path), "aside": str(aside), "reason": str(error)},
            )
            return _open(path, self.identity)


def seal(identity: bytes, name: str, content: bytes) -> bytes:
    """Prefix the content with a checksum that also covers its name and the journal's identity."""
    return _sum(identity, name, content) + content


def unseal(identity: bytes, name: str, stored: bytes) -> bytes:
    """The sealed content. Raises `Damaged` if the content, the name or the identity differs."""
    content = bytes(stored[SUM_BYTES:])
    if _sum(identity, name, content) != stored[:SUM_BYTES]:
        raise Damaged("its checksum differs: it is damaged, or of another journal")
    return content


def _sum(identity: bytes, name: str, content: bytes) -> bytes:
    named = b"\n".join((identity.hex().encode(), name.encode(), content))
    return hashlib.sha256(named).digest()[:SUM_BYTES]


@contextmanager
def reading(path: Path, identity: bytes) -> Iterator[sqlite3.Connection]:
    """A consistent view of the file, even while a server writes it; empty if there is no file.
    Raises `BesideFailed`, also for SQLite errors inside the block."""
    try:
        exists = path.exists()
        with closing(connect(path, "ro") if exists else _open(None, identity)) as connection:
            _check_origin(connection, identity)
            connection.execute("BEGIN")
            yield connection
    except (sqlite3.Error, Damaged) as error:
        raise BesideFailed(f"{path} cannot be read: {error}") from error


def _open(path: Path | None, identity: bytes, checks: bool = False) -> sqlite3.Connection:
    """`checks` lets SQLite check the structure of the file."""
    if path is None:
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    else:
        if path.is_dir():
            raise Damaged("it is a folder")
        is_new = not path.exists()
        disk.create(path)  # readable by its owner only
        if is_new:
            disk.fsync(path.parent)
        connection = connect(path, "rw")
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        # The log of a crashed process may be in the page cache only.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            if not connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
                _lay_out(connection, identity)
        _check_origin(connection, identity)
        if checks:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise Damaged(found)
    except BaseException:
        connection.close()
        raise
    return connection


def _lay_out(connection: sqlite3.Connection, identity: bytes) -> None:
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    for table in TABLES:
        connection.execute(table)
    connection.execute("INSERT INTO meta VALUES ('identity', ?)", (identity,))


def _check_origin(connection: sqlite3.Connection, identity: bytes) -> None:
    """Raise `Damaged` unless the file has this format and belongs to this journal."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if (application, version) != (APPLICATION_ID, FORMAT):
        raise Damaged("it is a file of another kind")
    found = connection.execute("SELECT value FROM meta WHERE key = 'identity'").fetchone()
    if found is None or found[0] != identity:
        raise Damaged("it belongs to another journal")


def _set_aside(path: Path) -> Path:
    """Rename the file together with its log, so that SQLite's tools can still read it."""
    aside = next(
        one for n in count(1) if not (one := path.with_name(f"{FILE}.damaged-{n}")).exists()
    )
    for end in ("", "-wal", "-shm"):
        if (old := path.with_name(FILE + end)).exists():
            disk.rename(old, path.with_name(aside.name + end))
    disk.fsync(path.parent)
    return aside
