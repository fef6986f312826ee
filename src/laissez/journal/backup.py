"""A backup of a journal, also of one in use: SQLite's own copy, which includes what is still in the write-ahead log.

Only the journal is copied. Snapshots are not needed, and the mark would outrun the copy.
"""

from __future__ import annotations

from pathlib import Path

from laissez.journal.disk import create, keep, make_folder, remove, rename
from laissez.journal.errors import JournalExists
from laissez.journal.reader import Reader
from laissez.journal.schema import DATABASE

__all__ = ["backup"]


def backup(folder: Path, target: Path) -> int:
    """Copy the journal in `folder` into the folder `target`, which must not hold one; returns the last entry the copy holds."""
    make_folder(target)
    path = target / DATABASE
    if path.exists():
        raise JournalExists(f"{path} exists. A backup is made into a folder of its own.")
    fresh = path.with_name(f"{DATABASE}.new")
    remove(fresh)
    create(fresh)
    with Reader.of(folder) as reader:
        reader.copy_to(fresh)
    keep(fresh)
    rename(fresh, path)
    keep(target)
    with Reader.of(target) as copy:
        return copy.tail().last
