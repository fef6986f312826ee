"""The event reader: in pieces, one page per holder at a time, with a cache."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator

import pytest

from laissez.journal import Entry, Group
from laissez.journal.format import Filed, pack
from laissez.server import event_reader
from laissez.server.background import RESTS_MORE, WORK_US
from laissez.server.clock import Clock
from laissez.server.event_reader import EventReader
from laissez_check.simulated.loop import SimulatedLoop

pytestmark = pytest.mark.once

GROUP = 10  # entries


class SlowJournal:
    """A journal whose groups each take a while to read."""

    def __init__(self, loop: SimulatedLoop, us: int) -> None:
        self._loop, self._us = loop, us
        self.fetched: list[int] = []
        self.documents: tuple[Filed, ...] = ()

    def groups(self, first: int, last: int) -> Iterator[Group]:
        begin = (first - 1) // GROUP * GROUP + 1
        self.fetched.append(begin)
        self._loop.jump(self._us / 1e6)
        yield Group(
            begin,
            GROUP,
            pack([Entry(seq, b"", b"%d" % seq) for seq in range(begin, begin + GROUP)]),
            b"",
            self.documents,
        )


class World:
    def __init__(self, loop: SimulatedLoop, us: int) -> None:
        self.journal = SlowJournal(loop, us)
        self.now: Callable[[], int] = lambda: round(loop.time() * 1e6)
        self.past = EventReader(
            self.journal,  # type: ignore[arg-type]
            Clock(0, wall=lambda: 0, passed=lambda: round(loop.time() * 1e9)),
        )
        self.log: list[tuple[str, int]] = []

    async def read(self, holder: str, *entries: int) -> None:
        await self.past.read(holder, entries, lambda entry: self.log.append((holder, entry.at)))


def run(us: int, story: Callable[[World], Coroutine[None, None, None]]) -> None:
    loop = SimulatedLoop()
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(story(World(loop, us)))
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def test_entries_come_in_order_and_each_group_is_read_once() -> None:
    async def story(world: World) -> None:
        await world.read("ann", 3, 4, 10, 11, 35)
        assert [("ann", seq) for seq in (3, 4, 10, 11, 35)] == world.log
        assert [1, 11, 31] == world.journal.fetched

    run(0, story)


def test_readers_of_the_same_events_share_the_cache() -> None:
    async def story(world: World) -> None:
        await asyncio.gather(
            *(world.read(f"t{number}", 1 + number % GROUP, 11, 21) for number in range(50))
        )
        assert [1, 11, 21] == sorted(world.journal.fetched)

    run(100, story)


def test_the_cache_is_bounded_and_drops_the_least_recently_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(world: World) -> None:
        size = len(next(world.journal.groups(301, 301)).packed)
        monkeypatch.setattr(event_reader, "KEPT_BYTES_MAX", 2 * size)
        world.journal.fetched.clear()
        await world.read("ann", 301, 311, 321, 311, 321, 301)
        assert [301, 311, 321, 301] == world.journal.fetched

    run(0, story)


def test_statements_beside_entries_are_not_cached() -> None:
    async def story(world: World) -> None:
        world.journal.documents = (Filed(3, "statement", b"long" * 1000),)
        await world.read("ann", 3)
        assert [()] == [group.documents for group in world.past._kept.values()]

    run(0, story)


def test_reading_leaves_five_sixths_of_the_time_to_others() -> None:
    async def story(world: World) -> None:
        began = world.now()
        await world.read("ann", *range(1, 100 * GROUP, GROUP))
        assert (1 + RESTS_MORE) * 100 * WORK_US // 2 == world.now() - began

    run(WORK_US // 2, story)


def test_a_reader_of_many_pages_delays_only_itself() -> None:
    async def story(world: World) -> None:
        pages = [
            world.read("noisy", *range(1000 * page + 1, 1000 * page + 5 * GROUP, GROUP))
            for page in range(20)
        ]
        await asyncio.gather(*pages, world.read("ann", 50_001, 50_011, 50_021))
        assert 6 >= world.log.index(("ann", 50_021))
        assert [seq for holder, seq in world.log if holder == "noisy"] == [
            1000 * page + GROUP * n + 1 for page in range(20) for n in range(5)
        ]

    run(WORK_US, story)
