"""The memory of a runner, which survives restarts: one small file, replaced atomically, with a lock
beside it so that no two runners do the same work.

Orders, leases and floors are not in it, because the server knows them.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T", bound=msgspec.Struct)


class MemoryFault(Exception):
    """The file cannot be used. The message has the reason and a remedy."""


class TaskMemory(msgspec.Struct, forbid_unknown_fields=True):
    """The memory of a task. `leases` are the leaves of leases whose start hook has finished, by id;
    `spent_before` is the tenant's debt when the task began, in micro-dollars.

    `application` is empty before the first decision.
    """

    task: str
    tenant: str
    url: str
    started_at: int
    spent_before: int = 0
    last_event: int | None = None
    leases: dict[str, str] = {}
    application: dict[str, Any] = {}


class MemoryFile(Generic[T]):
    """A file with a struct of type `form`, and its lock, which ends with the process."""

    def __init__(self, path: Path, form: type[T]) -> None:
        self.path = path
        self._form = form
        try:
            self._lock = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise MemoryFault(
                f"{path} cannot be kept: {error.strerror}. Name another place with --state."
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise MemoryFault(
                f"{path} is in use: another process already does this. Stop that one first."
            ) from None

    def read(self) -> T | None:
        """The memory, or None at the first start."""
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=self._form)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise MemoryFault(f"{self.path} cannot be read: {error.strerror}") from error
        except (msgspec.DecodeError, ValueError) as error:
            raise MemoryFault(
                f"{self.path} is damaged ({error}). Move it away to start without it."
            ) from error

    def write(self, memory: T) -> None:
        """Replace the file atomically: a reader finds the old content or the new one."""
        fresh = self.path.with_name(self.path.name + ".new")
        try:
            with open(fresh, "wb", opener=_private) as file:
                file.write(msgspec.json.format(msgspec.json.encode(memory), indent=2) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self.path)
        except OSError as error:
            raise MemoryFault(f"{self.path} cannot be written: {error.strerror}") from error

    def forget(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        os.close(self._lock)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
