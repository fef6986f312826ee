"""A copy of SQLite's write-ahead log, while a start moves what may be in the system's memory alone
from the log into the file.

After a failed sync the next one says that all is well, though the system has forgotten what it
could not write. SQLite believes that, and moves the log into the file; if the power failed in the
middle of it, the file would be torn, and the log that could mend it not on the disk. A new file is
synced in earnest. The log itself cannot be replaced by one: readers may have it open, and what came
next would be written elsewhere.
"""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path

from laissez.journal.disk import remove, write_whole
from laissez.journal.schema import DATABASE

__all__ = ["COPY", "make", "put_back"]

LOG = f"{DATABASE}-wal"
COPY = f"{LOG}.copy"
_CHECK_BYTES = hashlib.sha256().digest_size


def make(folder: Path) -> None:
    """To be removed as soon as the log has been moved, before anything is added to it. Without room
    a service should start all the same."""
    content = _content(folder / LOG)
    if not content:
        return
    try:
        write_whole(folder / COPY, hashlib.sha256(content).digest(), content)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        remove(folder / f"{COPY}.new")


def put_back(folder: Path) -> None:
    """If moving it was cut short, and the log is no longer what it was. All of it is moved once
    more, which changes nothing."""
    stored = _content(folder / COPY)
    check, content = stored[:_CHECK_BYTES], stored[_CHECK_BYTES:]
    if hashlib.sha256(content).digest() == check and _content(folder / LOG) != content:
        write_whole(folder / LOG, content)


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
