"""A maintenance window: pressure first, then offline, then online again, and only what it took
itself."""

from __future__ import annotations

import pytest

from laissez.market.commands import BringOnline, SetFloor, TakeOffline
from laissez.operators import (
    AlarmKind,
    Base,
    Composition,
    DryRun,
    Instant,
    Maintenance,
    MapError,
    Memory,
    Price,
    SlewLimits,
)

pytestmark = pytest.mark.once

HOUR = 3_600_000_000
WINDOW = Maintenance(
    name="cabling",
    nodes=("h100/row2",),
    start=Instant(10 * HOUR),
    end=Instant(12 * HOUR),
    lead_s=4 * 3600.0,
    peak=3.0,
)
BASE = Base(node="h100", price=Price.of("2"), floor_max=Price.of("20"))
LEAVES = ("h100/row1/a", "h100/row2/a", "h100/row2/b")


def dry_run(*windows: Maintenance) -> DryRun:
    composition = Composition(
        bases=[BASE], maintenance=windows or [WINDOW], limits=SlewLimits(fall_per_minute=1.0)
    )
    return DryRun(composition, LEAVES)


def test_pressure_rises_over_the_lead_time_then_the_leaves_go_then_they_come_back() -> None:
    world = dry_run()
    story = []
    for hour in (0, 6, 8, 9, 10, 11, 12, 13):
        decision = world.tick(hour * HOUR, {})
        story.append((hour, world.floors["h100/row2"] / 1e6, sorted(world.offline)))
        assert () == decision.alarms
    rows = ["h100/row2/a", "h100/row2/b"]
    assert story == [
        (0, 2.0, []),
        (6, 2.0, []),
        (8, 5.0, []),
        (9, 6.5, []),
        (10, 8.0, rows),
        (11, 2.0, rows),  # nobody can rent them: the floor has fallen when they come back
        (12, 2.0, []),
        (13, 2.0, []),
    ]
    assert 2_000_000 == world.floors["h100"]


def test_leaves_are_taken_once_and_brought_back_once() -> None:
    world = dry_run()
    world.tick(9 * HOUR, {})
    taken = world.tick(10 * HOUR, {}).commands
    assert [TakeOffline("h100/row2/a"), TakeOffline("h100/row2/b")] == [
        command for command in taken if not isinstance(command, SetFloor)
    ]
    world.tick(10 * HOUR + 1, {})
    assert () == world.tick(11 * HOUR, {}).commands
    assert (BringOnline("h100/row2/a"), BringOnline("h100/row2/b")) == world.tick(
        12 * HOUR, {}
    ).commands
    assert () == world.tick(13 * HOUR, {}).commands
    assert frozenset() == world.memory.taken


def test_a_leaf_that_was_offline_before_stays_offline_and_is_reported() -> None:
    world = dry_run()
    world.offline = frozenset({"h100/row2/b"})
    world.tick(9 * HOUR, {})
    world.tick(10 * HOUR, {})
    (alarm,) = world.tick(11 * HOUR, {}).alarms
    assert (AlarmKind.LEFT_OFFLINE, "cabling", 10 * HOUR) == (alarm.kind, alarm.where, alarm.since)
    assert "h100/row2/b" in alarm.reason
    world.tick(12 * HOUR, {})
    assert {"h100/row2/b"} == world.offline
    assert () == world.tick(14 * HOUR, {}).alarms


def test_after_a_lost_memory_an_alarm_names_the_leaves_to_bring_back() -> None:
    world = dry_run()
    world.tick(10 * HOUR, {})
    world.memory = Memory()
    (alarm,) = world.tick(12 * HOUR, {}).alarms
    assert AlarmKind.LEFT_OFFLINE == alarm.kind
    assert {"h100/row2/a", "h100/row2/b"} == world.offline


def test_lost_commands_are_sent_again() -> None:
    world = dry_run()
    world.tick(10 * HOUR, {})
    world.offline = frozenset()
    assert TakeOffline("h100/row2/a") in world.tick(10 * HOUR + 1, {}).commands
    world.tick(12 * HOUR, {})
    world.offline = frozenset({"h100/row2/a"})
    assert (BringOnline("h100/row2/a"),) == world.tick(12 * HOUR + 1, {}).commands


def test_a_leaf_comes_back_when_the_last_window_over_it_ends() -> None:
    longer = Maintenance(
        name="longer", nodes=("h100/row2/a",), start=Instant(11 * HOUR), end=Instant(13 * HOUR)
    )
    world = dry_run(WINDOW, longer)
    for hour in (10, 11, 12):
        world.tick(hour * HOUR, {})
    assert {"h100/row2/a"} == world.offline
    world.tick(13 * HOUR, {})
    assert frozenset() == world.offline


def test_a_window_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(MapError, match="end: expected a time after start"):
        Maintenance(name="x", nodes=("h100",), start=Instant(2), end=Instant(2))
