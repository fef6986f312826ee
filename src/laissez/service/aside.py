"""Long work that nobody must wait behind: about a millisecond of it at a time, then a pause twice as long, in which the loop is everybody else's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

from laissez.service.clock import Clock

WORK_US = 1_000
PAUSE_S = 0.002

T = TypeVar("T")


async def a_little_at_a_time(items: Iterable[T], clock: Clock) -> AsyncIterator[T]:
    """One after the other. They are as many as there were at the beginning; whoever works on one must bear that others did something meanwhile."""
    until = clock.now() + WORK_US
    for item in list(items):
        if clock.now() >= until:
            await asyncio.sleep(PAUSE_S)
            until = clock.now() + WORK_US
        yield item
