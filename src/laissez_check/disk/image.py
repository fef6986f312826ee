"""The content of one file that a disk has kept, and the unsynced changes, which a power failure may
take.

A disk keeps or loses each unsynced write separately, in any order. It may stop within a write, at
the end of a sector, or leave garbage in the sectors that it was writing. It never changes bytes
beside these, as SQLite expects ("powersafe overwrite").
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

SECTOR_BYTES = 512


class Change(NamedTuple):
    """A write, or a truncation if there is no data."""

    offset: int
    data: bytes | None


class Image:
    """The content of a file, without its name."""

    def __init__(self, kept: bytes = b"") -> None:
        self._kept = bytearray(kept)
        self._changes: list[Change] = []
        self.size = len(kept)  # with the changes
        # Written through memory: the disk may have any earlier content.
        self.mapped = False

    def change(self, offset: int, data: bytes | None) -> None:
        self._changes.append(Change(offset, data))
        self.size = offset if data is None else max(self.size, offset + len(data))

    def sync(self) -> None:
        for change in self._changes:
            _apply(self._kept, change)
        self._changes.clear()

    def sync_failed(self, draw: random.Random) -> None:
        """The system forgets failed writes, and the next sync reports success."""
        for change in self._changes:
            if draw.random() < 0.5:
                _apply(self._kept, change)
        self._changes.clear()

    def after_power_failure(self, draw: random.Random, met: Counter[str]) -> bytes:
        """The content that is left. `met` counts the fates of unsynced writes."""
        fate = (
            _as_it_once_was(draw, len(self._changes))
            if self.mapped
            else draw.choice((_all, _nothing, _first, _each, _each))(draw, len(self._changes))
        )
        for index, change in enumerate(self._changes):
            survivor = fate(index, change)
            met[_became(change, survivor)] += 1
            if survivor is not None:
                _apply(self._kept, survivor)
        return bytes(self._kept)


def _became(change: Change, survivor: Change | None) -> str:
    if survivor is None:
        return "write lost"
    if survivor is change:
        return "write kept"
    return "write torn" if len(survivor.data or b"") < len(change.data or b"") else "write garbled"


Fate = Callable[[int, Change], Change | None]


def _all(draw: random.Random, count: int) -> Fate:
    return lambda index, change: change


def _nothing(draw: random.Random, count: int) -> Fate:
    return lambda index, change: None


def _first(draw: random.Random, count: int) -> Fate:
    """All up to one write, which is torn."""
    end = draw.randrange(count) if count else 0
    return lambda index, change: (
        change if index < end else _torn(draw, change) if index == end else None
    )


def _each(draw: random.Random, count: int) -> Fate:
    kinds = (lambda draw, change: change, lambda draw, change: None, _torn, _garbled)
    return lambda index, change: draw.choice(kinds)(draw, change)


def _as_it_once_was(draw: random.Random, count: int) -> Fate:
    """A page of memory may be copied to the disk while it is being written."""
    end = draw.randrange(count + 1)
    half = draw.random()
    return lambda index, change: (
        change
        if index < end
        else Change(change.offset, (change.data or b"")[: int(64 * half)])
        if index == end
        else None
    )


def _torn(draw: random.Random, change: Change) -> Change | None:
    if change.data is None:
        return None
    ends = range(SECTOR_BYTES - change.offset % SECTOR_BYTES, len(change.data), SECTOR_BYTES)
    return Change(change.offset, change.data[: draw.choice(ends)]) if ends else None


def _garbled(draw: random.Random, change: Change) -> Change | None:
    if not change.data:
        return None
    begin = draw.randrange(len(change.data)) // SECTOR_BYTES * SECTOR_BYTES
    end = min(len(change.data), begin + SECTOR_BYTES)
    return Change(
        change.offset, change.data[:begin] + draw.randbytes(end - begin) + change.data[end:]
    )


def _apply(content: bytearray, change: Change) -> None:
    offset, data = change
    if data is None:
        del content[offset:]
        content.extend(bytes(offset - len(content)))
        return
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data
