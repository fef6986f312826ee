"""No telemetry makes an absurd price, and every bad reading has an alarm."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laissez.market.commands import PRICE_MAX, SetFloor
from laissez.operators import (
    AlarmKind,
    Base,
    Carbon,
    Composition,
    Cooling,
    DryRun,
    InfraMap,
    Missing,
    OperatorView,
    Power,
    Price,
    Reading,
    SlewLimits,
    Utilisation,
)

pytestmark = pytest.mark.once

SECOND = 1_000_000
NOW = 10_000 * SECOND
LEAVES = ("h100/row1/a", "h100/row2/a")
BASE = Base(
    node="h100", price=Price(1_000_000), floor_min=Price(500_000), floor_max=Price(30_000_000)
)
POWER = Power(
    name="power", nodes=("h100/row1",), signal="watts", safe_pressure=0.75, stale_after_s=60.0
)


def dry_run(*maps: InfraMap) -> DryRun:
    return DryRun(
        Composition(bases=[BASE], maps=maps or [POWER], limits=SlewLimits(fall_per_minute=1.0)),
        LEAVES,
    )


ABSURD: list[tuple[Any, AlarmKind]] = [
    (math.nan, AlarmKind.NOT_A_NUMBER),
    (math.inf, AlarmKind.OUT_OF_RANGE),
    (-math.inf, AlarmKind.OUT_OF_RANGE),
    (float("1e400"), AlarmKind.OUT_OF_RANGE),
    (10**400, AlarmKind.OUT_OF_RANGE),
    (10**10_000, AlarmKind.OUT_OF_RANGE),
    (-5, AlarmKind.OUT_OF_RANGE),
    (1.6, AlarmKind.OUT_OF_RANGE),
    ("abc", AlarmKind.NOT_A_NUMBER),
    ("0.5", AlarmKind.NOT_A_NUMBER),
    (True, AlarmKind.NOT_A_NUMBER),
    (None, AlarmKind.NOT_A_NUMBER),
    ([0.5], AlarmKind.NOT_A_NUMBER),
]


@pytest.mark.parametrize(
    ("value", "kind"), ABSURD, ids=[str(number) for number in range(len(ABSURD))]
)
def test_an_absurd_value_gives_the_safe_price_and_an_alarm_with_the_value(
    value: Any, kind: AlarmKind
) -> None:
    world = dry_run()
    decision = world.tick(NOW, {"watts": Reading(value, NOW)})
    assert {"h100": 1_000_000, "h100/row1": 1_750_000} == world.floors
    (alarm,) = decision.alarms
    assert (kind, "power", "watts", NOW) == (alarm.kind, alarm.where, alarm.signal, alarm.since)
    assert "found" in alarm.reason and "safe pressure, 0.75" in alarm.reason


@pytest.mark.parametrize("reading", [None, Missing("the pump is off")])
def test_a_missing_reading_gives_the_safe_price_and_an_alarm_with_the_reason(
    reading: Missing | None,
) -> None:
    world = dry_run()
    (alarm,) = world.tick(NOW, {"watts": reading}).alarms
    assert 1_750_000 == world.floors["h100/row1"]
    assert AlarmKind.MISSING == alarm.kind
    assert alarm.reason.startswith("nobody read it" if reading is None else "the pump is off")


def test_a_reading_grows_stale() -> None:
    world = dry_run()
    reading = {"watts": Reading(0.8, NOW)}
    assert () == world.tick(NOW + 60 * SECOND, reading).alarms
    assert 2_000_000 == world.floors["h100/row1"]
    (alarm,) = world.tick(NOW + 90 * SECOND, reading).alarms
    assert 1_750_000 == world.floors["h100/row1"]
    assert (AlarmKind.STALE, NOW + 60 * SECOND) == (alarm.kind, alarm.since)
    assert alarm.reason.startswith("expected a reading of the last 60 s, found one 90 s old")


def test_a_reading_from_the_future_is_not_used() -> None:
    (alarm,) = dry_run().tick(NOW, {"watts": Reading(0.8, NOW + 3600 * SECOND)}).alarms
    assert AlarmKind.FROM_THE_FUTURE == alarm.kind
    assert () == dry_run().tick(NOW, {"watts": Reading(0.8, NOW + SECOND)}).alarms


def test_one_lost_reading_moves_no_price() -> None:
    world = dry_run()
    world.tick(NOW, {"watts": Reading(0.5, NOW)})
    decision = world.tick(NOW + 10 * SECOND, {"watts": Missing("no answer")})
    assert () == decision.commands
    assert "no answer; its last reading still holds" == decision.alarms[0].reason
    for second in range(20, 61, 10):
        assert () == world.tick(NOW + second * SECOND, {"watts": Missing("no answer")}).commands
    assert (SetFloor("h100/row1", 1_750_000),) == world.tick(
        NOW + 61 * SECOND, {"watts": Missing("no answer")}
    ).commands


def test_an_alarm_keeps_its_start_and_clears_itself() -> None:
    world = dry_run()
    world.tick(NOW, {"watts": Missing("down")})
    (alarm,) = world.tick(NOW + SECOND, {"watts": Reading(math.nan, NOW)}).alarms
    assert (AlarmKind.NOT_A_NUMBER, NOW) == (alarm.kind, alarm.since)
    assert () == world.tick(NOW + 2 * SECOND, {"watts": Reading(0.5, NOW)}).alarms
    (again,) = world.tick(NOW + 100 * SECOND, {"watts": None}).alarms
    assert NOW + 100 * SECOND == again.since


@dataclass(frozen=True, kw_only=True)
class Broken(InfraMap):
    gives: Any

    def pressure(self, node: str, values: Mapping[str, float], view: OperatorView) -> float:
        return 1 / 0 if self.gives == "raises" else self.gives


@pytest.mark.parametrize("gives", ["raises", math.nan, math.inf, "abc", None, 10**400])
def test_a_map_that_fails_gives_the_safe_price_and_leaves_the_others_alone(gives: Any) -> None:
    world = dry_run(Broken(name="broken", nodes=("h100/row2",), gives=gives), POWER)
    (alarm,) = world.tick(NOW, {"watts": Reading(0.8, NOW)}).alarms
    assert {"h100": 1_000_000, "h100/row1": 2_000_000, "h100/row2": 2_000_000} == world.floors
    assert (AlarmKind.MAP_FAILED, "broken") == (alarm.kind, alarm.where)


VALUES = st.one_of(
    st.floats(), st.integers(), st.sampled_from(["", "abc", "0.5", True, None]), st.floats(0, 100)
)
READINGS = st.one_of(
    st.none(), st.just(Missing("down")), st.builds(Reading, VALUES, st.integers(0, 2**54))
)


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 2**40),
            st.dictionaries(st.sampled_from(["watts", "inlet", "grid"]), READINGS),
        ),
        max_size=8,
    ),
    st.data(),
)
def test_prices_are_whole_and_within_bounds_for_any_telemetry(
    history: list[tuple[int, dict[str, Any]]], data: st.DataObject
) -> None:
    weight = data.draw(st.floats(0, 1000))
    world = dry_run(
        POWER,
        Cooling(name="cooling", nodes=("h100", "h100/row2"), signal="inlet", weight=weight),
        Carbon(name="carbon", nodes=("h100",), signal="grid", reference=1.0, weight=weight),
        Utilisation(name="full", nodes=("h100/row1", "h100/row1/a"), weight=weight),
    )
    now = 0
    for passed, readings in history:
        now += passed
        world.leased = data.draw(st.frozensets(st.sampled_from(LEAVES)))
        for command in world.tick(now, readings).commands:
            assert isinstance(command, SetFloor)
            assert (
                type(command.price) is int and 500_000 <= command.price <= 30_000_000 <= PRICE_MAX
            )
