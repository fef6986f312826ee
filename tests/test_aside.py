"""Long work beside the service: in pieces, in order, with pauses for everybody else."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from laissez.check.simulated.loop import SimulatedLoop
from laissez.service.aside import PAUSE_S, WORK_US, a_little_at_a_time
from laissez.service.clock import Clock


def worked(costs_us: list[int]) -> list[tuple[int, int]]:
    """When each item was begun and ended, in microseconds, where it takes as long as it says."""
    loop = SimulatedLoop()
    clock = Clock(0, wall=lambda: 0, passed=lambda: round(loop.time() * 1e9))

    async def work() -> list[tuple[int, int]]:
        done = []
        async for cost in a_little_at_a_time(costs_us, clock):
            began = clock.now()
            loop.jump(cost / 1e6)
            done.append((began, clock.now()))
        return done

    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(work())
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def test_little_work_is_done_without_a_pause() -> None:
    done = worked([WORK_US // 4] * 4)
    assert all(end == begin for (_, end), (begin, _) in pairwise(done))
    assert [] == worked([])


def test_much_work_leaves_two_thirds_of_the_time_to_others() -> None:
    done = worked([WORK_US // 4] * 400)
    assert 400 == len(done)
    took = done[-1][1] - done[0][0]
    assert 100 * WORK_US == sum(end - begin for begin, end in done) <= took / 2.9
    pauses = [begin - end for (_, end), (begin, _) in pairwise(done) if begin > end]
    assert 99 == len(pauses) and all(abs(pause - PAUSE_S * 1e6) <= 1 for pause in pauses)


def test_an_item_that_takes_long_is_followed_by_a_pause() -> None:
    done = worked([5 * WORK_US] * 3)
    assert all(begin - end >= PAUSE_S * 1e6 - 1 for (_, end), (begin, _) in pairwise(done))
