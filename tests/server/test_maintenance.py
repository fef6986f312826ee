"""Maintenance: ends of holds, closing of books at whole hours and under load, snapshots."""

from __future__ import annotations

import asyncio
import logging
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from laissez.exchange.commands import SERVICE
from laissez.journal import snapshots
from laissez.journal.verify import verify
from laissez.market.commands import CancelOrder
from laissez.server import background, maintenance, retention
from laissez.server.background import every
from laissez.server.data_folder import Replaying, open_folder
from laissez.server.maintenance import Bookkeeper, end_holds
from laissez.server.retention import Snapshotter
from laissez.server.settings import Books, Limits
from laissez.server.settings import Journal as JournalSettings
from laissez.units import format_time
from support.live_world import SOON_S, Live, eventually, place, with_live
from support.service_world import HOUR_US, World, with_service

pytestmark = [
    pytest.mark.once,
    # The fork only computes and writes a file, without the other threads.
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

MINUTE_US = HOUR_US // 60
GENEROUS = Limits(commands_burst=100_000, commands_per_second=100_000)


# -- holds


def test_a_hold_ends_by_itself_and_its_tenants_are_notified(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        world = live.world
        await world.ask("operator", "PUT", "/v1/controls/a100", {"hold_s": 60})
        async with live.peer("ann") as ann, live.peer("bob") as bob:
            held = (await ann.ask(**place("1", "a100", "1")))["events"][1]["event"]["hold_until"]
            await bob.ask(**place("1", "a100", "2"))
            end = partial(end_holds, world.gateway)
            ending = asyncio.create_task(every(0.001, world.gateway, end))
            position = world.gateway.position
            world.passing.pass_us(59_000_000)
            await asyncio.sleep(0.01)
            assert position == world.gateway.position  # an idle service journals nothing
            world.passing.pass_us(1_000_000)
            ended, started = (
                (await ann.hear())["told"]["event"],
                (await bob.hear())["told"]["event"],
            )
            assert ("lease.ended", "lease.started") == (ended["type"], started["type"])
            # exact to the microsecond, however late the check
            assert held == ended["at"] == started["at"]
            assert position + 1 == world.gateway.position
            ending.cancel()

    with_live(tmp_path / "data", tale)


def test_the_end_of_a_hold_is_reported_before_a_later_tenant(tmp_path: Path) -> None:
    """New tenants do not reach the market, but events are sent in the order of time."""

    async def story(world: World) -> None:
        await world.ask("operator", "PUT", "/v1/controls/a100", {"hold_s": 60})
        await world.place("ann", "a100", "1")
        await world.place("bob", "a100", "2")
        world.passing.pass_us(MINUTE_US + 1)
        await world.ask("operator", "POST", "/v1/tenants", {"name": "eve"})
        events = [
            one["event"]
            for one in (await world.ask("operator", "GET", "/v1/events")).json()["data"]
        ]
        assert ["lease.ended", "lease.started", "tenant.created"] == [
            event["type"] for event in events[-3:]
        ]
        assert sorted(event["at"] for event in events) == [event["at"] for event in events]

    with_service(tmp_path, story)


# -- books


def closed_until(world: World) -> int:
    return world.gateway.exchange.closed_before


def test_books_are_closed_hour_by_hour_and_the_last_day_is_kept_open(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        keeper = Bookkeeper(world.gateway, Books(keep_hours=24))
        created = world.gateway.exchange.accounts["ann"].created_at
        assert keeper.due(world.gateway.clock.now()) is None
        hour = (created // HOUR_US + 1) * HOUR_US
        assert keeper.due(hour + 24 * HOUR_US - 1) is None
        assert hour == keeper.due(hour + 24 * HOUR_US)
        assert hour == keeper.due(hour + 100 * HOUR_US)  # one by one
        world.passing.pass_us(30 * HOUR_US)
        for expected in range(hour, created + 6 * HOUR_US, HOUR_US):
            await keeper.close()
            assert expected == closed_until(world)
        assert keeper.due(world.gateway.clock.now()) is None
        position = world.gateway.position
        await keeper.close()
        assert position == world.gateway.position

    with_service(tmp_path / "data", story)


def test_busy_books_are_closed_until_now_with_every_hour_on_the_way(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        keeper = Bookkeeper(world.gateway, Books(keep_hours=24, close_after_commands=20))
        await world.place("ann", "a100", "9")
        await world.place("bob", "a100", "3.6")
        world.passing.pass_us(3 * HOUR_US)
        while world.gateway.commands < 20:
            assert keeper.due(world.gateway.clock.now()) is None
            world.gateway.enter("ann", SERVICE, "", CancelOrder("ann", 9))
        closings = []
        while keeper.due(world.gateway.clock.now()) is not None:
            await keeper.close()
            closings.append(closed_until(world))
        assert 0 != closings[-1] % HOUR_US and [0] * (len(closings) - 1) == [
            until % HOUR_US for until in closings[:-1]
        ]
        assert 3 <= len(closings) - 1 <= 4
        first, second = closings[0], closings[1]
        period = {"since": format_time(first), "until": format_time(second)}
        assert (
            "3.600000"
            == (await world.ask("ann", "GET", "/v1/bills", params=period)).json()["total"]
        )
        assert (
            keeper.due(world.gateway.clock.now()) is None
        )  # until the same number of commands have come

    with_service(tmp_path / "data", story, GENEROUS)


def test_charges_of_busy_books_are_computed_in_pieces_before_closing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "WORK_US", 0)

    async def story(world: World) -> None:
        keeper = Bookkeeper(world.gateway, Books(keep_hours=24, close_after_commands=1))
        await world.place("ann", "a100", "9")
        others = 0

        async def have_turns() -> None:
            nonlocal others
            while True:
                await asyncio.sleep(0)
                others += 1

        beside = asyncio.create_task(have_turns())
        await keeper.close()
        # it paused in each round
        assert others >= maintenance.CLOSING_ROUNDS and closed_until(world)
        await world.place("ann", "h100", "9")
        assert keeper.due(world.gateway.clock.now()) is not None
        position = world.gateway.position
        closing = asyncio.create_task(keeper.close())
        await asyncio.sleep(0)
        world.gateway.fail("the disk is gone")
        await closing
        assert position == world.gateway.position
        beside.cancel()

    with_service(tmp_path / "data", story, GENEROUS)


def test_books_of_a_market_without_tenants_stay_open(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        world.gateway.exchange.accounts.clear()
        assert (
            Bookkeeper(world.gateway, Books(close_after_commands=1)).due(
                world.gateway.clock.now() + 1_000 * HOUR_US
            )
            is None
        )

    with_service(tmp_path / "data", story)


def test_the_bookkeeper_closes_by_itself(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        keeper = Bookkeeper(world.gateway, Books(keep_hours=1))
        keeping = asyncio.create_task(every(0.001, world.gateway, keeper.close))
        world.passing.pass_us(4 * HOUR_US)
        await eventually(lambda: closed_until(world) > world.gateway.clock.now() - 2 * HOUR_US)
        keeping.cancel()

    with_service(tmp_path / "data", story)


def test_memory_of_leases_is_bounded_by_closing(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        keeper = Bookkeeper(world.gateway, Books(close_after_commands=50))
        market = world.gateway.exchange.market
        sizes = []
        for turn in range(200):
            won = await world.place("ann", "a100", "5")
            await world.ask("ann", "DELETE", f"/v1/leases/{won['lease']}")
            if turn % 10 == 0:
                await keeper.close()
                sizes.append(
                    market.bill_lines("ann")
                    + sum(market.lease_won("ann", order) is not None for order in range(1, 201))
                )
        assert max(sizes) <= 2 * 40 and 0 in sizes[10:]

    with_service(tmp_path / "data", story, GENEROUS)


# -- snapshots


def snapshotter_of(world: World, kept: int = 2) -> Snapshotter:
    return Snapshotter(world.gateway, world.gateway._journal, JournalSettings(snapshots_kept=kept))


def kept_in(folder: Path) -> list[int]:
    return [file.seq for file in snapshots.newest_first(folder)]


def test_snapshots_are_taken_in_a_fork_verified_and_pruned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "SNAPSHOT_LOOK_S", 0.005)
    data = tmp_path / "data"
    taken: list[int] = []

    async def story(world: World) -> None:
        taker = snapshotter_of(world)
        running = asyncio.create_task(taker.run())
        for _ in range(3):
            await world.place("ann", "h100", "1")
            world.passing.pass_us(MINUTE_US)
            await eventually(lambda: taker.taken > len(taken))
            taken.append(kept_in(data)[0])
        running.cancel()
        await world.place("ann", "h100", "1")

    with_service(data, story)
    assert taken[:0:-1] == kept_in(data) and 3 == len(set(taken))
    report = verify(data, begin=Replaying.begin)
    assert report.ok and sorted(taken[1:]) == report.snapshots
    opened = open_folder(data, Limits())
    opened.journal.close()
    assert taken[-1] == opened.snapshot_seq and 0 < opened.replayed


def test_snapshots_are_a_minute_apart_and_need_a_command(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        taker = snapshotter_of(world)
        await world.place("ann", "h100", "1")
        assert not taker._is_due()
        world.passing.pass_us(MINUTE_US)
        assert taker._is_due()
        await taker.take()
        world.passing.pass_us(MINUTE_US)
        assert not taker._is_due()
        await world.place("ann", "h100", "1")
        assert taker._is_due()

    with_service(tmp_path / "data", story)


def test_a_snapshot_blocks_nothing_and_holds_the_state_at_its_start(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.place("ann", "h100", "1")
        body, seq = world.gateway.exchange.snapshot(), world.gateway.position
        taking = asyncio.create_task(snapshotter_of(world).take())
        await asyncio.sleep(0)
        await world.place("ann", "h100", "1")
        await taking
        (file,) = snapshots.newest_first(tmp_path / "data")
        assert (seq, body) == (file.seq, file.read().body)

    with_service(tmp_path / "data", story)


def test_a_fork_that_cannot_write_is_only_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: Any) -> Path:
        raise OSError(28, "No space left on device")

    async def story(world: World) -> None:
        taker = snapshotter_of(world)
        with monkeypatch.context() as patched:
            patched.setattr(snapshots, "write", full)
            await taker.take()
            taker.take_last()
        with monkeypatch.context() as patched:
            patched.setattr(os, "fork", full)
            await taker.take()
        assert 0 == taker.taken and 3 == [record.levelno for record in caplog.records].count(
            logging.ERROR
        )
        await world.place("ann", "h100", "1")
        await taker.take()
        assert 1 == taker.taken

    with_service(tmp_path / "data", story)
    assert verify(tmp_path / "data", begin=Replaying.begin).ok


def test_a_fork_does_not_outlive_a_stopped_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies: list[int] = []
    fork = os.fork

    def noted() -> int:
        child = fork()
        copies.append(child)
        return child

    def slow(self: object) -> bytes:
        while True:
            os.read(0, 0)  # for ever

    async def story(world: World) -> None:
        monkeypatch.setattr(os, "fork", noted)
        monkeypatch.setattr(type(world.gateway.exchange), "snapshot", slow)
        taking = asyncio.create_task(snapshotter_of(world).take())
        async with asyncio.timeout(SOON_S):
            while not copies:
                await asyncio.sleep(0)
        taking.cancel()
        await asyncio.gather(taking, return_exceptions=True)
        with pytest.raises(ChildProcessError):
            os.waitpid(copies[0], os.WNOHANG)  # it has been waited for
        monkeypatch.undo()

    with_service(tmp_path / "data", story)


def test_the_last_snapshot_leaves_the_next_start_nothing_to_replay(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.place("ann", "h100", "1")
        taker = snapshotter_of(world, kept=1)
        await taker.take()
        await world.place("ann", "h100", "1")
        taker.take_last()
        taker.take_last()  # no command since

    with_service(tmp_path / "data", story)
    opened = open_folder(tmp_path / "data", Limits())
    opened.journal.close()
    assert (0, opened.journal.last) == (opened.replayed, opened.snapshot_seq)
    assert [opened.journal.last] == kept_in(tmp_path / "data")


def test_no_last_snapshot_is_taken_of_a_state_ahead_of_the_disk(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        world.gateway.failure = "the disk is full"
        snapshotter_of(world).take_last()

    with_service(tmp_path / "data", story)
    assert [] == kept_in(tmp_path / "data")
