"""The cost of open consoles that follow every leaf while every price moves, and of previews of a
change."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from statistics import median

import msgspec

from laissez.client import AsyncClient
from laissez.wire.requests import SetFloor
from laissez_bench.generator import POLL_S, Watcher, connect
from laissez_bench.processes import Server, cpu_time, serving
from laissez_bench.world import LEAVES, TENANTS, make_world

FOLLOWERS = (0, 1, 8)
MOVES_PER_SECOND = 5  # as often as levels are sent
FLOORS = ("2.00", "2.50")  # of the root, so that the rate of nearly every leaf moves with it
PREVIEWED = "6.00"  # above most limits
PREVIEWS = 5
TOLD_WITHIN_S = 60


class Row(msgspec.Struct):
    """`cpu_share` is of one core; `longest_ms` the longest time until a change of the floor was
    answered."""

    followers: int
    cpu_share: float
    messages_per_second: float  # to each follower
    megabytes_per_second: float  # the same
    longest_ms: float
    leaves: int


class Looked(msgspec.Struct):
    rows: list[Row]
    preview_ms: float  # the median
    preview_ends: int  # leases that would end


def measure(
    seconds: float, step: Callable[[str], None], leaves: int = LEAVES, tenants: int = TENANTS
) -> Looked:
    with make_world(step, leaves, tenants) as world, serving(world.folder) as server:
        return asyncio.run(_measure(server, seconds, step, leaves))


async def _measure(
    server: Server, seconds: float, step: Callable[[str], None], leaves: int
) -> Looked:
    async with AsyncClient(server.url, server.operator_key) as operator:
        rows = []
        for followers in FOLLOWERS:
            step(f"{followers} followers")
            rows.append(await _row(operator, server, followers, seconds, leaves))
        step("previews")
        took = []
        for _ in range(PREVIEWS):
            asked = time.monotonic()
            done = await operator.preview([SetFloor(node="h100", price=PREVIEWED)])
            took.append(time.monotonic() - asked)
        return Looked(rows, round(median(took) * 1000, 1), done.leases_ended)


async def _row(
    operator: AsyncClient, server: Server, count: int, seconds: float, leaves: int
) -> Row:
    make = partial(Watcher, "/v1/levels", server.operator_key, lambda: None)
    followers = [await connect(server.host, server.port, make) for _ in range(count)]

    def heard() -> tuple[int, int]:
        return sum(one.messages for one in followers), sum(one.bytes for one in followers)

    async def heard_more_than(messages: int) -> None:
        async with asyncio.timeout(TOLD_WITHIN_S):
            while followers and heard()[0] <= messages:
                await asyncio.sleep(POLL_S)

    def figures() -> tuple[float, ...]:
        return sum(cpu_time(server.pid)), time.monotonic(), *heard()

    # every follower gets all levels before anything is counted
    await heard_more_than(count - 1)
    await _move(operator, 1.0 / MOVES_PER_SECOND)
    before, messages_before = figures(), heard()[0]
    longest_s = await _move(operator, seconds)
    await heard_more_than(messages_before)  # a slow machine may send the last change late
    cpu_s, passed_s, messages, size = (a - b for a, b in zip(figures(), before, strict=True))
    for follower in followers:
        follower.transport.close()
    each = max(1, count) * passed_s
    return Row(
        followers=count,
        cpu_share=round(cpu_s / passed_s, 3),
        messages_per_second=round(messages / each, 2),
        megabytes_per_second=round(size / each / 1e6, 6),
        longest_ms=round(longest_s * 1000, 1),
        leaves=leaves,
    )


async def _move(operator: AsyncClient, seconds: float) -> float:
    """Move every price at an even pace for this time, and return the time of the slowest change."""
    longest_s = 0.0
    began = time.monotonic()
    for turn in range(max(1, round(seconds * MOVES_PER_SECOND))):
        await asyncio.sleep(began + turn / MOVES_PER_SECOND - time.monotonic())
        asked = time.monotonic()
        await operator.set_floor("h100", FLOORS[turn % 2])
        longest_s = max(longest_s, time.monotonic() - asked)
    return longest_s
