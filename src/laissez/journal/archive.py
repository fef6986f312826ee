"""Archives: groups older than the retention, moved out of the live file in two steps.

1. `make` copies them into `archive/<first entry, 16 digits>.journal`, a file of the same format
   that continues the same chain. The copy is read back, synced and only then renamed.
2. `Journal.cut` deletes the same groups from the live file, piece by piece. The same transaction
   moves the base, which records where in the chain the live file begins.

A crash in step 1 leaves a `.new` file, which readers ignore and the next `make` replaces. A crash
in step 2 leaves groups in both files; the next `make` checks the archive again and returns where
the cut may resume.

Recovery needs a snapshot and the entries after it, so nothing after the oldest usable snapshot is
ever moved. The server runs this module as a program (`python -m laissez.journal.archive FOLDER
BEFORE_US`): in the server's process the copying would hold the interpreter lock and delay the event
loop.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from laissez.journal import snapshots
from laissez.journal.disk import create, fsync, make_folder, remove, rename
from laissez.journal.errors import JournalDamaged, JournalError, SnapshotUnusable
from laissez.journal.format import (
    ARCHIVES,
    INSERT_DOCUMENT,
    INSERT_GROUP,
    SEQ_MAX,
    Position,
    archives,
    connect,
    make_tables,
)
from laissez.journal.reader import Reader
from laissez.journal.segment import Segment

ARCHIVE_BYTES_MAX = 256 << 20  # of entries; a long history becomes several archives


def make(folder: Path, before_us: int, bytes_max: int = ARCHIVE_BYTES_MAX) -> Position | None:
    """Archive groups whose entries are all older than `before_us`. Returns how far the live file
    may be cut, or None if there is nothing to move."""
    with Reader(folder) as live:
        if done := _newest_beyond(folder, live.base()):
            return _checked_end(done, live)
        base = live.base()
        path = folder / ARCHIVES / f"{base.seq + 1:016}.journal"
        fresh = path.with_name(f"{path.name}.new")
        make_folder(path.parent)
        end = _copy(live, fresh, before_us, bytes_max)
        if end == base:
            remove(fresh)
            return None
        with closing(Segment(fresh)) as copy:
            copy.check_file()
            _check_whole(copy, base, end)
    fsync(fresh)
    rename(fresh, path)
    fsync(path.parent)
    return end


def unfinished(folder: Path, base: Position) -> bool:
    """Whether an archive and the live file share groups, so that a cut must be resumed."""
    return _newest_beyond(folder, base) is not None


def _newest_beyond(folder: Path, base: Position) -> Path | None:
    for path in archives(folder)[-1:]:
        with closing(Segment(path)) as newest:
            return path if newest.tail().last > base.seq else None
    return None


def _checked_end(path: Path, live: Reader) -> Position:
    """The end of an archive whose groups are still in the live file; both must hold the same."""
    with closing(Segment(path)) as archive:
        last, head, _ = archive.tail()
        end = Position(last, head)
        archive.check_file()
        _check_whole(archive, archive.base(), end)
    if archive.start != live.start or live.chain_at(last) != head:
        raise JournalDamaged(
            f"{path}, entry {last}",
            "the live file holds another history there. Put back a complete backup.",
        )
    return end


def _check_whole(segment: Segment, base: Position, end: Position) -> None:
    found = base
    for group in segment.groups(base.seq + 1, SEQ_MAX):
        found = Position(group.last, group.chain)
    if (segment.base(), found) != (base, end):
        raise JournalDamaged(f"entries {base.seq + 1} to {end.seq}", "their archive lacks some")


def _copy(live: Reader, path: Path, before_us: int, bytes_max: int) -> Position:
    """Copy the movable groups into a new file; returns where they end."""
    base, limit = live.base(), _movable(live)
    remove(path)
    create(path)
    end, size = base, 0
    with closing(connect(path, "rw")) as target:
        # the file is synced as a whole, before it gets its name
        target.execute("PRAGMA journal_mode = OFF")
        target.execute("PRAGMA synchronous = OFF")
        make_tables(target, live.genesis, live.identity, live.created, base)
        target.execute("BEGIN")
        for group in live.groups(base.seq + 1, limit):
            size += len(group.packed)
            if group.last > limit or group.entries[-1].at >= before_us or size > bytes_max:
                break
            target.execute(INSERT_GROUP, (group.first, group.count, group.chain, group.packed))
            target.executemany(INSERT_DOCUMENT, group.documents)
            end = Position(group.last, group.chain)
        target.execute("COMMIT")
    return end


def _movable(live: Reader) -> int:
    """The last entry that recovery cannot need: the oldest usable snapshot, and never the last
    group."""
    usable = [seq for file in snapshots.newest_first(live.folder) if (seq := _usable(file, live))]
    newest = live.last_group()
    return min([*usable, newest.first - 1]) if usable and newest else 0


def _usable(file: snapshots.SnapshotFile, live: Reader) -> int:
    try:
        return file.seq if file.read().head == live.chain_at(file.seq) else 0
    except SnapshotUnusable:
        return 0


def main() -> None:
    """Print the end of the archive as `<entry> <link>`, or nothing."""
    os.nice(10)
    try:
        end = make(Path(sys.argv[1]), int(sys.argv[2]))
    except (JournalError, OSError, sqlite3.Error) as error:
        sys.exit(str(error))
    if end:
        sys.stdout.write(f"{end.seq} {end.link.hex()}\n")


if __name__ == "__main__":
    main()
