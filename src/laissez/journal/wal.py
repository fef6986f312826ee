"""SQLite's write-ahead log, and how a start makes durable what a crash left in it.

What a writer that died left in the log may be in the system's memory alone. After a failed sync the
next one reports success, though the system has forgotten what it could not write. So a start moves
all of the log into the file and empties the log, lest its old end on the disk hide what is newer in
the file.

If the power failed in the middle of that, the file would be torn, and the log that could mend it
might not be on the disk. So a copy of the log is made first: a new file is synced in earnest. The
log itself cannot be replaced by one: readers may have it open, and SQLite would go on writing to
the old one.
"""

from __future__ import annotations

import errno
import hashlib
import sqlite3
from pathlib import Path

from laissez.journal.disk import content, keep, remove, write_whole
from laissez.journal.format import DATABASE, connect

LOG = f"{DATABASE}-wal"
COPY = f"{LOG}.copy"
_CHECK_BYTES = hashlib.sha256().digest_size

# Pages of 4 KiB in the log before SQLite moves them into the file, within an append. That append
# waits: 9 ms for 1,000 pages, 35 ms for 4,000 as measured, at the same throughput.
CHECKPOINT_PAGES = 1_000


def open_for_writing(folder: Path) -> sqlite3.Connection:
    connection = connect(folder / DATABASE, "rw")
    try:
        turn_on(connection)
        connection.execute("PRAGMA synchronous = FULL")
        # what a cut deletes is in an archive; zeroing it would double the cost of the cut
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        # A write that changes nothing finds out now, not at the first append, whether the file can
        # be written.
        connection.execute("DELETE FROM groups WHERE first < 0 AND count < 0")
        make_durable(connection, folder)
    except BaseException:
        connection.close()
        raise
    return connection


def turn_on(connection: sqlite3.Connection) -> None:
    """SQLite does not raise an error where it cannot, and no promise would hold without the log."""
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise sqlite3.OperationalError(
            f"the write-ahead log could not be turned on: the mode is still {mode!r}"
        )


def make_durable(connection: sqlite3.Connection, folder: Path) -> None:
    """Move the log into the file. A reader that is at work for long keeps SQLite from emptying the
    log; then the log is synced, which is enough unless the disk has failed."""
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    keep(folder / LOG)
    remove(folder / COPY)
    # a log, or a copy of one, that was deleted must not come back with what nobody has found since
    keep(folder)


def copy_log(folder: Path) -> None:
    """To be removed once the log has been moved, before anything is added to it. Without room a
    service should start all the same."""
    log = content(folder / LOG)
    if not log:
        return
    try:
        write_whole(folder / COPY, hashlib.sha256(log).digest(), log)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        remove(folder / f"{COPY}.new")


def put_back(folder: Path) -> None:
    """Restore the log if moving it was cut short. All of it is then moved once more, which changes
    nothing."""
    stored = content(folder / COPY)
    check, log = stored[:_CHECK_BYTES], stored[_CHECK_BYTES:]
    if hashlib.sha256(log).digest() == check and content(folder / LOG) != log:
        write_whole(folder / LOG, log)
