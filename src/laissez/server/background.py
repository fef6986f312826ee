"""Long work in pieces of about a millisecond, between which the event loop is everybody else's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TypeVar

from laissez.server.clock import Clock

WORK_US = 1_000
# The rest after a piece, as a multiple of the time that the piece took:
NO_REST = 0  # somebody waits for the work; others only have their turn
RESTS = 2  # it takes a third of the loop
RESTS_MORE = 5  # a sixth: it is wanted soon, and may go on for long
RESTS_LONG = 19  # a twentieth: nobody waits for it

T = TypeVar("T")


class Background:
    def __init__(self, clock: Clock, rests: int = RESTS) -> None:
        self._clock = clock
        self._rests = rests
        self._began = clock.now()

    async def between(self) -> None:
        """Await it between two steps; others may change anything meanwhile."""
        worked = self._clock.now() - self._began
        if worked >= WORK_US:
            await asyncio.sleep(self._rests * worked / 1e6)
            self._began = self._clock.now()

    async def parts(self, items: Sequence[T], size: int) -> AsyncIterator[Sequence[T]]:
        """`size` items at a time."""
        for first in range(0, len(items), size):
            await self.between()
            yield items[first : first + size]

    async def of(self, items: Iterable[T]) -> AsyncIterator[T]:
        """One item at a time, of those that there are at the beginning."""
        for item in list(items):
            await self.between()
            yield item
