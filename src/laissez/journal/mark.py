"""The mark: the last entry that the journal reported as durable, and its link, in `journal.mark`.

SQLite treats a damaged or missing write-ahead log as one that ended early, and a history that ends
early is a valid chain. The mark detects that: the journal must reach the marked entry, with the
same link there. The mark is written after each commit through a memory map, without a system call.
It survives the end of the process. A power failure may leave an older mark, which is still true.

Two slots of `seq, link, check` are written in turn, so that a torn write leaves the other slot.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from laissez.journal.disk import map_file, read_or_empty, write_atomically
from laissez.journal.errors import JournalDamaged
from laissez.journal.format import LINK_BYTES, Position

MARK = "journal.mark"
_CHECK_BYTES = 24
_SLOT_BYTES = 8 + LINK_BYTES + _CHECK_BYTES


class MarkFile:
    def __init__(self, folder: Path, seq: int, link: bytes) -> None:
        """Open the mark and write it. A new file gets the mark in both slots, so that one is always
        valid."""
        path = folder / MARK
        data = read_or_empty(path)
        marks = _marks(data)
        if len(data) != 2 * _SLOT_BYTES or marks == [None, None]:
            write_atomically(path, 2 * _slot(Position(seq, link)))
        self._map = map_file(path)
        # the older slot is written first
        self._turn = marks.index(min(marks, key=lambda mark: mark.seq if mark else -1))
        self.write(seq, link)

    def write(self, seq: int, link: bytes) -> None:
        begin = self._turn * _SLOT_BYTES
        self._map[begin : begin + _SLOT_BYTES] = _slot(Position(seq, link))
        self._turn = 1 - self._turn

    def close(self) -> None:
        with suppress(OSError):  # an older mark is still true
            self._map.flush()
        self._map.close()


def read(folder: Path) -> Position | None:
    """The newest mark, or None if none was ever made."""
    path = folder / MARK
    data = read_or_empty(path)
    marks = [mark for mark in _marks(data) if mark]
    if not marks and any(data):
        raise JournalDamaged(
            str(path),
            "the mark cannot be read. Verify the journal; if it is complete, remove the mark and"
            " start again.",
        )
    return max(marks, default=None)


def _marks(data: bytes) -> list[Position | None]:
    return [_mark(data[begin : begin + _SLOT_BYTES]) for begin in (0, _SLOT_BYTES)]


def _mark(slot: bytes) -> Position | None:
    mark = Position.unpacked(slot[: 8 + LINK_BYTES])
    return mark if slot == _slot(mark) else None


def _slot(mark: Position) -> bytes:
    packed = mark.packed()
    return packed + hashlib.sha256(packed).digest()[:_CHECK_BYTES]
