"""Long work that nobody must wait behind: about a millisecond of it at a time, and between two pieces the loop is everybody else's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

from laissez.service.clock import Clock

WORK_US = 1_000
RESTS = 2  # times as long as it has worked

T = TypeVar("T")


class Pieces:
    """Work that nobody waits for `rests` between two pieces, and so takes a third of the loop. Other work only lets others have their turn."""

    def __init__(self, clock: Clock, rests: bool = True) -> None:
        self._clock = clock
        self._rests = rests
        self._began = clock.now()

    async def between(self) -> None:
        """To be awaited between two steps of the work, which must bear that others do something meanwhile."""
        worked = self._clock.now() - self._began
        if worked >= WORK_US:
            await asyncio.sleep(RESTS * worked / 1e6 if self._rests else 0)
            self._began = self._clock.now()

    async def of(self, items: Iterable[T]) -> AsyncIterator[T]:
        """One after the other, as many as there are at the beginning."""
        for item in list(items):
            await self.between()
            yield item
