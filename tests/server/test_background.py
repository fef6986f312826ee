"""Long work beside the service: in pieces, in order, with pauses for other work."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from laissez.server.background import NO_REST, RESTS, RESTS_LONG, WORK_US, Background
from laissez.server.clock import Clock
from laissez_check.simulated.loop import SimulatedLoop

pytestmark = pytest.mark.once


def worked(costs_us: list[int], rests: int = RESTS) -> tuple[list[tuple[int, int]], int]:
    """The start and end of each item in microseconds, given how long each takes, and the number of
    turns of other work."""
    loop = SimulatedLoop()
    clock = Clock(0, wall=lambda: 0, passed=lambda: round(loop.time() * 1e9))
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async def work() -> list[tuple[int, int]]:
        beside = None if rests else asyncio.create_task(others())
        done = []
        async for cost in Background(clock, rests).of(costs_us):
            began = clock.now()
            loop.jump(cost / 1e6)
            done.append((began, clock.now()))
        if beside is not None:
            beside.cancel()
        return done

    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(work()), turns
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def test_little_work_is_done_without_a_pause() -> None:
    done, _ = worked([WORK_US // 4] * 4)
    assert 4 == len(done) and all(end == begin for (_, end), (begin, _) in pairwise(done))
    assert ([], 0) == worked([])


def test_long_work_leaves_two_thirds_of_the_time_to_others() -> None:
    done, _ = worked([WORK_US // 4] * 400)
    assert 400 == len(done)
    assert (
        100 * WORK_US == sum(end - begin for begin, end in done) <= (done[-1][1] - done[0][0]) / 2.9
    )
    assert 99 == sum(begin > end for (_, end), (begin, _) in pairwise(done))


def test_low_priority_work_leaves_nineteen_twentieths_of_the_time() -> None:
    done, _ = worked([WORK_US] * 100, RESTS_LONG)
    assert (
        100 * WORK_US
        == sum(end - begin for begin, end in done)
        <= (done[-1][1] - done[0][0]) / 19.5
    )


def test_a_longer_item_is_followed_by_a_longer_pause() -> None:
    done, _ = worked([5 * WORK_US] * 3)
    assert all(
        abs(begin - end - RESTS * 5 * WORK_US) <= 1 for (_, end), (begin, _) in pairwise(done)
    )


def test_awaited_work_continues_after_one_turn_of_others() -> None:
    done, turns = worked([WORK_US] * 50, NO_REST)
    assert all(end == begin for (_, end), (begin, _) in pairwise(done))
    assert turns >= 48
