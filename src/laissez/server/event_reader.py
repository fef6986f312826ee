"""Read past events from the journal for streams that resume.

Each event of a holder may lie in a different group among other holders' entries, so reading a few
can take long. Reading therefore happens in small pieces that leave most of the loop to other work,
one page at a time per holder. Recently read groups are cached, because clients that lost their
connections together have missed the same events.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Callable, Iterable
from weakref import WeakValueDictionary

from msgspec.structs import replace

from laissez.journal import Entry, Group, Reader
from laissez.server.background import RESTS_MORE, WORK_US
from laissez.server.clock import Clock

KEPT_BYTES_MAX = 8 << 20  # of groups, as they are stored


class EventReader:
    """Belongs to one event loop."""

    def __init__(self, reader: Reader, clock: Clock) -> None:
        self._reader = reader
        self._clock = clock
        # one reader per holder at a time
        self._pages: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._piece = asyncio.Lock()  # held while reading a piece and resting after it
        self._worked = 0  # microseconds since the last rest
        self._kept: dict[int, Group] = {}  # by their first entry
        self._firsts: list[int] = []  # of the groups kept, in order
        self._read_last: deque[int] = deque()  # the same, least recently read first
        self._bytes = 0

    async def read(
        self, holder: str, entries: Iterable[int], take: Callable[[Entry], None]
    ) -> None:
        """Pass these entries to `take`, in order."""
        page = self._pages.get(holder)
        if page is None:
            page = self._pages[holder] = asyncio.Lock()
        async with page:
            for seq in entries:
                async with self._piece:
                    began = self._clock.now()
                    take(self._entry(seq))
                    await self._rest_after(self._clock.now() - began)

    async def _rest_after(self, worked: int) -> None:
        self._worked += worked
        if self._worked >= WORK_US:
            rest_us, self._worked = RESTS_MORE * self._worked, 0
            await asyncio.sleep(rest_us / 1e6)

    def _entry(self, seq: int) -> Entry:
        group = self._find(seq) or self._fetch(seq)
        return group.entries[seq - group.first]

    def _find(self, seq: int) -> Group | None:
        index = bisect_right(self._firsts, seq) - 1
        group = self._kept[self._firsts[index]] if index >= 0 else None
        return group if group is not None and seq <= group.last else None

    def _fetch(self, seq: int) -> Group:
        # Drop the documents: statements may be far longer than entries, and are not read here.
        group = replace(next(self._reader.groups(seq, seq)), documents=())
        self._kept[group.first] = group
        insort(self._firsts, group.first)
        self._read_last.append(group.first)
        self._bytes += len(group.packed)
        while self._bytes > KEPT_BYTES_MAX:
            first = self._read_last.popleft()
            self._firsts.remove(first)
            self._bytes -= len(self._kept.pop(first).packed)
        return group
