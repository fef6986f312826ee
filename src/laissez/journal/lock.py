"""One writer at a time: an advisory lock on `journal.lock`, which names the process that holds it.

The lock ends with the process, so a file left behind does no harm. Python opens files
close-on-exec, so a child process does not inherit the lock. Readers do not take it.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from laissez.journal.errors import JournalError, JournalLocked


class Lock:
    def __init__(self, folder: Path) -> None:
        path = folder / "journal.lock"
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise JournalError(
                f"{path} cannot be opened: {error.strerror}. The journal's folder must be readable"
                " and writable."
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._file, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._file)
            raise JournalLocked(
                f"{folder} is in use by process {holder}. Only one process may write a journal:"
                " stop that one first."
            ) from error
        # only for the message above: a full disk must not prevent opening the journal
        with suppress(OSError):
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def close(self) -> None:
        # a child process between fork and exec holds a copy of the file, so closing alone would not
        # release the lock at once
        fcntl.flock(self._file, fcntl.LOCK_UN)
        os.close(self._file)
