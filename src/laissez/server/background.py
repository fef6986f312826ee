"""Background work: at intervals, and in pieces of about a millisecond with the event loop free in
between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from laissez.server.clock import Clock

if TYPE_CHECKING:
    from laissez.server.gateway import Gateway

WORK_US = 1_000
# The pause after a piece, as a multiple of the time that the piece took:
NO_REST = 0  # a caller waits for the work, so only let others run in between
RESTS = 2  # uses a third of the loop
RESTS_MORE = 5  # a sixth: needed soon, but may be long
RESTS_LONG = 19  # a twentieth: no caller waits

T = TypeVar("T")


async def every(seconds: float, gateway: Gateway, work: Callable[[], Awaitable[None]]) -> None:
    """Do some work now and then at intervals, until the journal fails."""
    while True:
        if gateway.failure is None:
            await work()
        await asyncio.sleep(seconds)


class Background:
    def __init__(self, clock: Clock, rests: int = RESTS) -> None:
        self._clock = clock
        self._rests = rests
        self._began = clock.now()

    async def between(self) -> None:
        """Pause if enough work was done. Other tasks may change any state meanwhile."""
        worked = self._clock.now() - self._began
        if worked >= WORK_US:
            await asyncio.sleep(self._rests * worked / 1e6)
            self._began = self._clock.now()

    async def parts(self, items: Sequence[T], size: int) -> AsyncIterator[Sequence[T]]:
        """Yield `size` items at a time."""
        for first in range(0, len(items), size):
            await self.between()
            yield items[first : first + size]

    async def of(self, items: Iterable[T]) -> AsyncIterator[T]:
        """Yield the items one at a time. Items added meanwhile are left out."""
        for item in list(items):
            await self.between()
            yield item
