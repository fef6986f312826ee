"""SQLite's write-ahead log, and how a start makes the log of a crashed writer durable.

The last pages in that log may be in the page cache only. After a failed sync the next sync reports
success, though the kernel has dropped the pages it could not write. So a start checkpoints the
whole log into the database and truncates the log: an older version of the log on disk must not hide
newer pages in the database.

A power failure during the checkpoint would leave a torn database, and the log that could repair it
might not be on disk. So the log is first copied to a new file, which is reliably synced. The log
itself cannot be replaced by that file: readers may have the log open, and SQLite would go on
writing to the old one.
"""

from __future__ import annotations

import errno
import hashlib
import sqlite3
from pathlib import Path

from laissez.journal.disk import fsync, read_or_empty, remove, write_atomically
from laissez.journal.format import DATABASE, connect

LOG = f"{DATABASE}-wal"
COPY = f"{LOG}.copy"
_CHECK_BYTES = hashlib.sha256().digest_size

# Pages of 4 KiB in the log before SQLite checkpoints within an append. That append waits: 9 ms for
# 1,000 pages and 35 ms for 4,000 as measured, at the same throughput.
CHECKPOINT_PAGES = 1_000


def open_for_writing(folder: Path) -> sqlite3.Connection:
    connection = connect(folder / DATABASE, "rw")
    try:
        turn_on(connection)
        connection.execute("PRAGMA synchronous = FULL")
        # an archive holds the rows that a cut deletes, and zeroing them would double its cost
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        # a write without effect, so that a read-only file fails now and not at the first append
        connection.execute("DELETE FROM groups WHERE first < 0 AND count < 0")
        make_durable(connection, folder)
    except BaseException:
        connection.close()
        raise
    return connection


def turn_on(connection: sqlite3.Connection) -> None:
    """Turn WAL mode on, or raise: SQLite itself does not, and durability depends on it."""
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise sqlite3.OperationalError(
            f"the write-ahead log could not be turned on: the mode is still {mode!r}"
        )


def make_durable(connection: sqlite3.Connection, folder: Path) -> None:
    """Checkpoint the log. If a long-running reader keeps SQLite from truncating it, the log is
    synced, which is enough unless the disk has failed."""
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    fsync(folder / LOG)
    remove(folder / COPY)
    # a deleted log or copy must not reappear after a power failure
    fsync(folder)


def copy_log(folder: Path) -> None:
    """Copy the log before a checkpoint; `make_durable` removes the copy. A full disk is no reason
    to refuse a start, so the copy is then skipped."""
    log = read_or_empty(folder / LOG)
    if not log:
        return
    try:
        write_atomically(folder / COPY, hashlib.sha256(log).digest(), log)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        remove(folder / f"{COPY}.new")


def restore_log(folder: Path) -> None:
    """Restore the log if a checkpoint was interrupted. Repeating the checkpoint is harmless."""
    stored = read_or_empty(folder / COPY)
    check, log = stored[:_CHECK_BYTES], stored[_CHECK_BYTES:]
    if hashlib.sha256(log).digest() == check and read_or_empty(folder / LOG) != log:
        write_atomically(folder / LOG, log)
