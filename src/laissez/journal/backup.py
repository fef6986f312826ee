"""A backup of a journal, also of one in use: SQLite's own copy, which includes what is still in the
write-ahead log, and all archives.

The mark is not copied: it would outrun the copy. Snapshots are copied only of a journal that was
cut, where a start without one would replay the archives.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from laissez.journal import snapshots
from laissez.journal.disk import copy_file, create, keep, make_folder, remove, rename
from laissez.journal.errors import JournalExists, SnapshotUnusable, failing_as
from laissez.journal.format import ARCHIVES, DATABASE, archives
from laissez.journal.reader import Reader


def backup(
    folder: Path,
    target: Path,
    copy_first: Callable[[Path, Path], None] = lambda folder, target: None,
) -> int:
    """Copy the journal in `folder` into the folder `target`, which must not hold one; returns the
    last entry the copy holds.

    `copy_first` copies what else belongs to the journal and refers to its entries: they are all in
    a copy that is made afterwards."""
    path = target / DATABASE
    if path.exists():
        raise JournalExists(f"{path} exists. A backup is made into a folder of its own.")
    fresh = path.with_name(f"{DATABASE}.new")
    with failing_as(
        f"a backup cannot be made in {target}", "Make room, mend the disk, or name another folder."
    ):
        with Reader(folder) as reader:
            make_folder(target)
            remove(fresh)
            create(fresh)
            copy_first(folder, target)
            if reader.base().seq:
                _copy_snapshots(folder, target)  # before the entries: none may be newer than they
            reader.copy_to(fresh)
        _copy_archives(folder, target)  # after the entries: what was cut meanwhile is there by now
        keep(fresh)
        rename(fresh, path)
        keep(target)
    with Reader.of(target) as copy:
        return copy.tail().last


def _copy_snapshots(folder: Path, target: Path) -> None:
    for file in snapshots.newest_first(folder):
        with suppress(SnapshotUnusable):  # a running server may have pruned it meanwhile
            snapshots.write(target, *file.read())


def _copy_archives(folder: Path, target: Path) -> None:
    for path in archives(folder):
        copy = target / ARCHIVES / path.name
        make_folder(copy.parent)
        copy_file(path, copy)
