"""A backup of a journal, also of one in use: SQLite's own copy, which includes what is still in the
write-ahead log.

Of the journal's files only that one is copied. Snapshots are not needed, and the mark would outrun
the copy.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from laissez.journal.disk import create, keep, make_folder, remove, rename
from laissez.journal.errors import JournalError, JournalExists
from laissez.journal.reader import Reader
from laissez.journal.schema import DATABASE

__all__ = ["backup"]


def backup(
    folder: Path,
    target: Path,
    copy_first: Callable[[Path, Path], None] = lambda folder, target: None,
) -> int:
    """Copy the journal in `folder` into the folder `target`, which must not hold one; returns the
    last entry the copy holds.

    `copy_first` copies what else belongs to it and speaks of its entries: they are all in a copy
    that is made afterwards."""
    path = target / DATABASE
    if path.exists():
        raise JournalExists(f"{path} exists. A backup is made into a folder of its own.")
    fresh = path.with_name(f"{DATABASE}.new")
    try:
        with Reader.of(folder) as reader:
            make_folder(target)
            remove(fresh)
            create(fresh)
            copy_first(folder, target)
            reader.copy_to(fresh)
        keep(fresh)
        rename(fresh, path)
        keep(target)
    except OSError as error:
        raise JournalError(
            f"a backup cannot be made in {target}: {error}. Make room, mend the disk, or name"
            " another folder."
        ) from error
    with Reader.of(target) as copy:
        return copy.tail().last
