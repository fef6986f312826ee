"""The content of one file that a disk has kept, and the unsynced changes, which a power failure may
take.

A disk keeps or loses each unsynced write separately, in any order. It may stop within a write, at
the end of a sector, or leave garbage in the sectors that it was writing. It never changes bytes
beside these, as SQLite expects ("powersafe overwrite").
"""

from __future__ import annotations

import random
from collections import Counter
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
        fates = (_all, _nothing, _first, _each, _each)
        fate = _as_it_once_was if self.mapped else draw.choice(fates)
        for change, survivor in zip(self._changes, fate(draw, self._changes), strict=True):
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


# Each fate returns the survivor of every change.
Survivors = list[Change | None]


def _all(draw: random.Random, changes: list[Change]) -> Survivors:
    return [*changes]


def _nothing(draw: random.Random, changes: list[Change]) -> Survivors:
    return [None] * len(changes)


def _first(draw: random.Random, changes: list[Change]) -> Survivors:
    """All up to one write, which is torn."""
    end = draw.randrange(len(changes)) if changes else 0
    torn = [_torn(draw, change) for change in changes[end : end + 1]]
    return [*changes[:end], *torn, *_nothing(draw, changes[end + 1 :])]


def _each(draw: random.Random, changes: list[Change]) -> Survivors:
    kinds = (lambda draw, change: change, lambda draw, change: None, _torn, _garbled)
    return [draw.choice(kinds)(draw, change) for change in changes]


def _as_it_once_was(draw: random.Random, changes: list[Change]) -> Survivors:
    """A page of memory may be copied to the disk while it is being written."""
    end, half = draw.randrange(len(changes) + 1), draw.random()
    written = [
        Change(change.offset, (change.data or b"")[: int(64 * half)])
        for change in changes[end : end + 1]
    ]
    return [*changes[:end], *written, *_nothing(draw, changes[end + 1 :])]


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
