"""Making files that stay: a file or a folder is on the disk only after the disk was asked to keep
it.

Every file of a data folder is changed through here, except by SQLite, which has its own way, and by
the lock, which nobody needs to keep. `system` is the operating system; a check puts a disk with
faults in its place.
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
    """A file as memory."""

    def __setitem__(self, place: slice, content: bytes) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


class System:
    """One method for each thing that is asked of the operating system. All files are for their
    owner alone."""

    def write(self, path: Path, parts: Iterable[bytes]) -> None:
        """Write a file and sync it."""
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(file, "wb") as stream:
            stream.writelines(parts)
            stream.flush()
            os.fsync(file)

    def keep(self, path: Path) -> None:
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


def keep(path: Path) -> None:
    """Have the disk keep a file's contents, or a folder's list of names."""
    system.keep(path)


def create(path: Path) -> None:
    """Create an empty file unless there is one."""
    system.create(path)


def rename(old: Path, new: Path) -> None:
    """Rename a file; the new name is on the disk once its folder is kept."""
    system.rename(old, new)


def remove(path: Path) -> None:
    """Remove a file if it is there."""
    if path.exists():
        system.remove(path)


def content(path: Path) -> bytes:
    """What a file holds; nothing if there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, each kept by the one that holds it."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    system.make_folder(folder)
    keep(folder.parent)


def keep_above(folder: Path) -> None:
    """Keep the names of a folder and of those above it: what made them may have been cut short.
    What may not be read was not made by us."""
    for above in folder.absolute().parents:
        with suppress(PermissionError):
            keep(above)


def write_whole(path: Path, *parts: bytes) -> None:
    """Write a file completely or not at all."""
    _replace(path, parts)


def copy_file(path: Path, copy: Path) -> None:
    """Copy a file completely or not at all, piece by piece: it may be large."""
    with path.open("rb") as stream:
        _replace(copy, iter(lambda: stream.read(_COPY_BYTES), b""))


def _replace(path: Path, parts: Iterable[bytes]) -> None:
    """Write under another name, keep that, then rename it."""
    fresh = path.with_name(f"{path.name}.new")
    system.write(fresh, parts)
    system.rename(fresh, path)
    keep(path.parent)


def map_whole(path: Path) -> Mapped:
    """Map a file into memory. What is written there is on the disk only once it is flushed."""
    return system.map(path)
