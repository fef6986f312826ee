"""Durable changes to files: a file, or a name in a folder, is durable only after an fsync.

All changes to files in a data folder go through here, except SQLite's own and those of the lock
file, which need not be durable. `system` is the operating system; tests replace it with a disk that
fails.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

_COPY_BYTES = 1 << 20


class Mapped(Protocol):
    """A file mapped into memory."""

    def __setitem__(self, place: slice, content: bytes) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


class System:
    """The calls to the operating system. Files are readable by their owner only."""

    def write(self, path: Path, parts: Iterable[bytes]) -> None:
        """Write a file and sync it."""
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(file, "wb") as stream:
            stream.writelines(parts)
            stream.flush()
            os.fsync(file)

    def fsync(self, path: Path) -> None:
        file = os.open(path, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)

    def create(self, path: Path) -> None:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))

    def rename(self, old: Path, new: Path) -> None:
        old.rename(new)

    def remove(self, path: Path) -> None:
        path.unlink()

    def make_folder(self, path: Path) -> None:
        path.mkdir(mode=0o700)

    def map(self, path: Path) -> Mapped:
        file = os.open(path, os.O_RDWR)
        try:
            return mmap.mmap(file, 0)
        finally:
            os.close(file)


system = System()


def fsync(path: Path) -> None:
    """Fsync a file's contents, or a folder's list of names."""
    system.fsync(path)


def create(path: Path) -> None:
    """Create an empty file unless it exists."""
    system.create(path)


def rename(old: Path, new: Path) -> None:
    """Rename a file. The new name is durable once its folder is synced."""
    system.rename(old, new)


def remove(path: Path) -> None:
    """Remove a file if it exists."""
    if path.exists():
        system.remove(path)


def read_or_empty(path: Path) -> bytes:
    """The content of a file, empty if it does not exist."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def make_folder(folder: Path) -> None:
    """Make a folder and its missing parents, durably."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    system.make_folder(folder)
    fsync(folder.parent)


def sync_parents(folder: Path) -> None:
    """Sync all parents of a folder: a crash may have interrupted `make_folder`. A parent that may
    not be read was not made by us."""
    for above in folder.absolute().parents:
        with suppress(PermissionError):
            fsync(above)


def write_atomically(path: Path, *parts: bytes) -> None:
    """Write a file completely or not at all."""
    _replace(path, parts)


def copy_file(path: Path, copy: Path) -> None:
    """Copy a file completely or not at all, piece by piece: it may be large."""
    with path.open("rb") as stream:
        _replace(copy, iter(lambda: stream.read(_COPY_BYTES), b""))


def _replace(path: Path, parts: Iterable[bytes]) -> None:
    """Write and sync under another name, then rename."""
    fresh = path.with_name(f"{path.name}.new")
    system.write(fresh, parts)
    system.rename(fresh, path)
    fsync(path.parent)


def map_file(path: Path) -> Mapped:
    """Map a file into memory. Writes are durable only after a flush."""
    return system.map(path)
