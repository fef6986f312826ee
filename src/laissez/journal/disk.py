"""Making files that stay: a file or a folder is on the disk only after the disk was asked to keep it."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["keep", "make_folder", "write_whole"]


def keep(path: Path) -> None:
    """Have the disk keep a file's contents, or a folder's list of names."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def make_folder(folder: Path) -> None:
    """For its owner alone; what it holds is nobody else's business."""
    if folder.is_dir():
        return
    folder.mkdir(mode=0o700, parents=True)
    keep(folder.parent)


def write_whole(path: Path, *parts: bytes) -> None:
    """Write a file completely or not at all: under another name, kept, then renamed."""
    fresh = path.with_name(f"{path.name}.new")
    file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(file, "wb") as stream:
        for part in parts:
            stream.write(part)
        stream.flush()
        os.fsync(file)
    fresh.rename(path)
    keep(path.parent)
