"""Back up a journal, even one in use. SQLite copies the live file, including the write-ahead log;
the archives are copied as files.

The mark is not copied: it may be ahead of the copy. Snapshots are copied only if the journal was
cut: without one, a start would replay the archives.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from laissez.journal import snapshots
from laissez.journal.disk import copy_file, create, fsync, make_folder, remove, rename
from laissez.journal.errors import JournalExists, SnapshotUnusable, disk_errors_as
from laissez.journal.format import ARCHIVES, DATABASE, archives
from laissez.journal.reader import Reader


def backup(
    folder: Path,
    target: Path,
    copy_first: Callable[[Path, Path], None] = lambda folder, target: None,
) -> int:
    """Copy the journal in `folder` into the folder `target`, which must not hold one; returns the
    last entry the copy holds.

    `copy_first` copies other files that refer to entries. It runs first, so that the copy of the
    journal holds every entry they refer to."""
    path = target / DATABASE
    if path.exists():
        raise JournalExists(f"{path} exists. A backup is made into a folder of its own.")
    fresh = path.with_name(f"{DATABASE}.new")
    with disk_errors_as(
        f"a backup cannot be made in {target}", "Make room, mend the disk, or name another folder."
    ):
        with Reader(folder) as reader:
            make_folder(target)
            remove(fresh)
            create(fresh)
            copy_first(folder, target)
            if reader.base().seq:
                _copy_snapshots(folder, target)  # before the entries: a snapshot must not be newer
            reader.copy_to(fresh)
        _copy_archives(folder, target)  # after the entries: groups cut meanwhile are here
        fsync(fresh)
        rename(fresh, path)
        fsync(target)
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
