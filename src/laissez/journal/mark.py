"""The mark: how far the journal had got when it last said "durable", kept in `journal.mark`.

SQLite takes a damaged or missing write-ahead log for one that ended early, and a history that ends
early is a valid chain. The mark is the witness against that: the journal must reach at least as
far, with the same link there. It is written after each commit through a memory map: no system call,
so it costs nothing next to the commit, and it survives the end of the process, though not always a
power failure; it is then older, and still true.

Two slots of `seq, link, check`, written in turn, so that a slot torn by a crash leaves the one
before it.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from laissez.journal.disk import content, map_whole, write_whole
from laissez.journal.errors import JournalDamaged
from laissez.journal.format import LINK_BYTES

MARK = "journal.mark"
_CHECK_BYTES = 24
_SLOT_BYTES = 8 + LINK_BYTES + _CHECK_BYTES


class Mark(NamedTuple):
    seq: int
    link: bytes


class MarkFile:
    def __init__(self, folder: Path, seq: int, link: bytes) -> None:
        """Open the mark and note how far the journal has got. A new one notes it in both slots, so
        that there is always one to fall back on."""
        path = folder / MARK
        data = content(path)
        marks = _marks(data)
        if len(data) != 2 * _SLOT_BYTES or marks == [None, None]:
            write_whole(path, 2 * _slot(seq, link))
        self._map = map_whole(path)
        # the older slot is written first
        self._turn = marks.index(min(marks, key=lambda mark: mark.seq if mark else -1))
        self.write(seq, link)

    def write(self, seq: int, link: bytes) -> None:
        begin = self._turn * _SLOT_BYTES
        self._map[begin : begin + _SLOT_BYTES] = _slot(seq, link)
        self._turn = 1 - self._turn

    def close(self) -> None:
        with suppress(OSError):  # the mark is then older, and still true
            self._map.flush()
        self._map.close()


def read(folder: Path) -> Mark | None:
    """The newest mark, or None if none was ever made."""
    path = folder / MARK
    data = content(path)
    marks = [mark for mark in _marks(data) if mark]
    if not marks and any(data):
        raise JournalDamaged(
            str(path),
            "the mark cannot be read. Verify the journal; if it is complete, remove the mark and"
            " start again.",
        )
    return max(marks, default=None)


def _marks(data: bytes) -> list[Mark | None]:
    return [_mark(data[begin : begin + _SLOT_BYTES]) for begin in (0, _SLOT_BYTES)]


def _mark(slot: bytes) -> Mark | None:
    mark = Mark(int.from_bytes(slot[:8], "big"), slot[8 : 8 + LINK_BYTES])
    return mark if slot == _slot(*mark) else None


def _slot(seq: int, link: bytes) -> bytes:
    noted = seq.to_bytes(8, "big") + link
    return noted + hashlib.sha256(noted).digest()[:_CHECK_BYTES]
