"""One writer at a time: an advisory lock on `journal.lock`, which also names the process that holds
it. Readers do not take it.

The lock ends with the process, however that ends, so the file may stay behind; it is never a reason
to refuse. Python opens files close-on-exec, so a program started by the server does not keep the
lock alive.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from laissez.journal.errors import JournalError, JournalLocked

__all__ = ["Lock"]


class Lock:
    def __init__(self, folder: Path) -> None:
        """Take the lock of the folder or raise JournalLocked."""
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
        self._write_pid()

    def _write_pid(self) -> None:
        """Only for the message that another process gives: a full disk must not keep a journal from
        being opened and read."""
        try:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)
        except OSError:
            pass

    def release(self) -> None:
        """Said, not only closed: a program that is just being started may hold a copy of the file
        for a moment."""
        fcntl.flock(self._file, fcntl.LOCK_UN)
        os.close(self._file)
