"""Retention in a running service: old entries move into archives under load, without effects."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from laissez.journal import Position, Reader, archive, snapshots
from laissez.journal.format import archives
from laissez.journal.verify import verify
from laissez.server.data_folder import Replaying, exchange_after, open_folder
from laissez.server.retention import NOT_ARCHIVED, Archiver, in_child
from laissez.server.settings import Limits
from laissez.units import format_time
from laissez_check.bills.compare import audit_bills
from support.live_world import eventually
from support.service_world import GENEROUS, HOUR_US, World, with_service

DAY_US = 24 * HOUR_US
RETAIN_US = 2 * DAY_US

pytestmark = pytest.mark.once


async def in_loop(folder: Path, before_us: int) -> Position | None:
    return archive.make(folder, before_us)


async def trade(world: World, orders: int = 30) -> None:
    for _ in range(orders):
        await world.place("ann", "h100", "1")


def take_snapshot(world: World) -> None:
    journal = world.gateway._journal
    snapshots.write(journal.folder, journal.last, journal.head, world.gateway.exchange.snapshot())
    snapshots.prune(journal.folder, 1)


def test_old_entries_move_under_load_and_replay_to_the_same_state(tmp_path: Path) -> None:
    data = tmp_path / "data"
    state: list[bytes] = []
    bills: list[object] = []

    async def story(world: World) -> None:
        await world.place("ann", "a100", "5")
        await world.place("bob", "a100", "3")  # the price that ann pays
        await trade(world)
        world.passing.pass_us(HOUR_US)
        world.close_books()
        await world.gateway.all_durable()
        until = {"until": format_time(world.gateway.exchange.closed_before)}
        bills.append((await world.ask("ann", "GET", "/v1/bills", params=until)).json()["lines"])
        world.passing.pass_us(4 * DAY_US)
        await trade(world)
        await world.gateway.all_durable()
        take_snapshot(world)
        archiver = Archiver(world.gateway, world.gateway._journal, RETAIN_US, in_child)
        trading = asyncio.create_task(trade(world, 200))
        await archiver.look()
        await eventually(lambda: not world.gateway.cutting)
        await trading
        await world.gateway.all_durable()
        assert 1 == len(archives(data)) and world.gateway._journal.base.seq > 30
        bills.append((await world.ask("ann", "GET", "/v1/bills", params=until)).json()["lines"])
        state.append(world.gateway.exchange.snapshot())

    with_service(data, story, GENEROUS)
    assert bills[0] and bills[0] == bills[1]  # its statement is in the archive
    report = verify(data, begin=Replaying.begin)
    assert report.ok
    with Reader.of(data) as reader:
        replayed = Replaying.begin(reader.genesis)
        for group in reader.groups():
            for entry in group.entries:
                replayed.apply(entry.at, entry.request)
        assert state == [replayed.snapshot()]
        assert state == [exchange_after(reader, report.entries).snapshot()]
    assert audit_bills(data).ok
    opened = open_folder(data, Limits())
    opened.journal.close()
    assert opened.snapshot_seq > 0 and state == [opened.exchange.snapshot()]


def test_nothing_moves_before_a_whole_day_is_old_enough(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        archiver = Archiver(world.gateway, world.gateway._journal, RETAIN_US, in_loop)
        off = Archiver(world.gateway, world.gateway._journal, None, in_loop)
        await trade(world)
        await world.gateway.all_durable()
        world.passing.pass_us(RETAIN_US + DAY_US - HOUR_US)
        await trade(world, 1)
        await world.gateway.all_durable()
        take_snapshot(world)
        await archiver.look()
        assert [] == archives(tmp_path / "data")
        world.passing.pass_us(2 * HOUR_US)
        await off.look()
        assert [] == archives(tmp_path / "data")
        await archiver.look()
        assert 1 == len(archives(tmp_path / "data"))

    with_service(tmp_path / "data", story, GENEROUS)


def test_a_cut_interrupted_by_a_crash_is_resumed(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        journal = world.gateway._journal
        await trade(world)
        await world.gateway.all_durable()
        take_snapshot(world)
        await trade(world, 1)
        await world.gateway.all_durable()
        until = archive.make(journal.folder, world.gateway.clock.now())
        assert until and journal.base != until
        await Archiver(world.gateway, journal, RETAIN_US, in_child).look()
        await eventually(lambda: not world.gateway.cutting)
        assert until == journal.base and 1 == len(archives(journal.folder))

    with_service(tmp_path / "data", story, GENEROUS)


def test_a_failure_is_logged_and_the_service_continues(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(world: World) -> None:
        journal = world.gateway._journal
        await trade(world)
        await world.gateway.all_durable()
        world.passing.pass_us(2 * RETAIN_US)
        (journal.folder / "archive").write_text("in the way")
        await Archiver(world.gateway, journal, RETAIN_US, in_child).look()
        await trade(world, 1)
        assert world.gateway.failure is None and 0 == journal.base.seq

    with caplog.at_level(logging.ERROR):
        with_service(tmp_path / "data", story, GENEROUS)
    assert NOT_ARCHIVED in caplog.text
