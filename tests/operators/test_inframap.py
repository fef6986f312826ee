"""The pressure of each map for its readings."""

from __future__ import annotations

import ast
from datetime import UTC, datetime, time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laissez.config import ConfigError
from laissez.market.answers import ControlsView
from laissez.market.commands import Band, SetControls
from laissez.operators import (
    Base,
    Carbon,
    Controls,
    Cooling,
    Hours,
    Instant,
    LeafIndex,
    MapError,
    Move,
    OperatorView,
    Power,
    Price,
    Utilisation,
)
from laissez.operators import maps as maps_module

pytestmark = pytest.mark.once

ROW = ("h100/row1",)
POWER = Power(name="power", nodes=ROW, signal="watts", cap=0.8, comfortable=0.1)


@pytest.mark.parametrize(
    ("used", "pressure"), [(0.0, -9.0), (0.72, 0.0), (0.76, 0.5), (0.8, 1.0), (0.88, 2.0)]
)
def test_power_pressure_is_proportional_to_missing_headroom(used: float, pressure: float) -> None:
    assert pressure == pytest.approx(POWER.pressure_at(used))


@settings(max_examples=50)
@given(st.floats(0, 1.5), st.floats(0, 1.5))
def test_power_pressure_never_falls_with_more_power(one: float, other: float) -> None:
    assert POWER.pressure_at(min(one, other)) <= POWER.pressure_at(max(one, other))


def code_lines(source: str) -> dict[str, int]:
    """Lines of each class without blank lines, comments, docstrings and imports."""
    tree = ast.parse(source)
    lines = source.splitlines()
    silent = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    return {
        node.name: sum(
            bool(lines[line - 1].strip())
            and not lines[line - 1].strip().startswith("#")
            and line not in silent
            for line in range(node.lineno - len(node.decorator_list), (node.end_lineno or 0) + 1)
        )
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }


def test_the_power_map_takes_no_more_lines_than_the_paper_says() -> None:
    lines = code_lines(Path(maps_module.__file__).read_text())
    assert lines["PowerTelemetry"] <= 5
    assert lines["Power"] <= 8


@pytest.mark.parametrize(
    ("degrees", "pressure"), [(22.0, -1.0), (27.0, 0.0), (29.5, 0.5), (32.0, 1.0), (37.0, 2.0)]
)
def test_cooling_pressure_rises_from_comfort_to_limit(degrees: float, pressure: float) -> None:
    assert pressure == Cooling(name="c", nodes=ROW, signal="inlet").pressure_at(degrees)


def test_a_temperature_limit_below_comfort_is_refused() -> None:
    with pytest.raises(
        MapError, match=r"limit_c: expected more than comfortable_c, which is 27.0, found 20.0"
    ):
        Cooling(name="c", nodes=ROW, signal="inlet", limit_c=20.0)


@pytest.mark.parametrize(("grams", "pressure"), [(150.0, -0.5), (300.0, 0.0), (600.0, 1.0)])
def test_carbon_pressure_is_the_share_above_the_reference(grams: float, pressure: float) -> None:
    assert pressure == Carbon(name="c", nodes=ROW, signal="grid", reference=300.0).pressure_at(
        grams
    )


@pytest.mark.parametrize(
    ("leased", "offline", "pressure"),
    [("ab", "", -1.5), ("abcd", "", 1.0), ("abc", "d", 1.0), ("", "abcd", -4.0)],
)
def test_utilisation_pressure_follows_the_leased_share_of_online_leaves(
    leased: str, offline: str, pressure: float
) -> None:
    places = LeafIndex(f"h100/row1/{leaf}" for leaf in "abcd")
    view = OperatorView(
        now=0,
        leaves=places,
        leased=frozenset(f"h100/row1/{leaf}" for leaf in leased),
        offline=frozenset(f"h100/row1/{leaf}" for leaf in offline),
    )
    found = Utilisation(name="u", nodes=ROW, target=0.8).pressure("h100/row1", {}, view)
    assert pressure == pytest.approx(found)


# -- base prices


def at(text: str) -> int:
    return Instant.of(datetime.fromisoformat(text).replace(tzinfo=UTC))


def test_a_time_that_the_market_cannot_hold_is_refused() -> None:
    for moment in ("1969-12-31T23:59:59", "2300-01-01T00:00:00"):
        with pytest.raises(ConfigError, match=r"expected .* after 1970 and before 2255"):
            at(moment)


WEEKEND = Hours(price=Price.of("1.50"), days=("sat", "sun"))
NIGHT = Hours(price=Price.of("1.60"), start=time(22), end=time(6))
EVENING = Hours(price=Price.of("2.50"), days=("fri",), start=time(18), end=time(0))
BASE = Base(
    node="h100", price=Price.of("2.00"), floor_max=Price.of("20"), times=(WEEKEND, NIGHT, EVENING)
)


@pytest.mark.parametrize(
    ("moment", "price"),
    [
        ("2026-03-04T12:00:00", "2.00"),  # a Wednesday
        ("2026-03-04T21:59:59.999999", "2.00"),
        ("2026-03-04T22:00:00", "1.60"),
        ("2026-03-05T05:59:59", "1.60"),
        ("2026-03-05T06:00:00", "2.00"),
        ("2026-03-06T18:00:00", "2.50"),
        ("2026-03-06T23:59:59", "1.60"),  # the first that fits
        ("2026-03-07T00:00:00", "1.50"),
        ("2026-03-08T23:59:59", "1.50"),
        ("2026-03-09T00:00:00", "1.60"),
    ],
)
def test_the_base_price_follows_the_week_in_utc(moment: str, price: str) -> None:
    assert Price.of(price) == BASE.price_at(at(moment))


def test_a_night_belongs_to_the_day_on_which_it_began() -> None:
    friday = Hours(price=Price.of("1"), days=("fri",), start=time(22), end=time(6))
    assert friday.covers(at("2026-03-06T23:00:00"))
    assert friday.covers(at("2026-03-07T05:00:00"))
    assert not friday.covers(at("2026-03-06T05:00:00"))


def test_the_same_time_twice_is_a_whole_day() -> None:
    noon = Hours(price=Price.of("1"), days=("fri",), start=time(12), end=time(12))
    assert noon.covers(at("2026-03-06T00:00:00"))


def test_a_base_price_outside_its_bounds_is_refused() -> None:
    with pytest.raises(
        MapError,
        match=(
            r'price: expected a base price within floor_min and floor_max, "3.00" to "5.00", found'
            r' "2.00"'
        ),
    ):
        Base(node="h100", price=Price.of("2"), floor_min=Price.of("3"), floor_max=Price.of("5"))
    with pytest.raises(
        MapError, match=r'floor_max: expected at least floor_min, which is "3.00", found "1.00"'
    ):
        Base(node="h100", price=Price.of("2"), floor_min=Price.of("3"), floor_max=Price.of("1"))


# -- controls


def test_controls_are_sent_in_the_units_of_the_market() -> None:
    controls = Controls(node="h100", fall=Move(fraction=0.2, every_s=300), hold_s=60.0)
    assert (
        SetControls("h100", None, Band(200_000, 300_000_000), 60_000_000, None)
        == controls.command()
    )


def test_controls_are_in_force_when_all_four_are() -> None:
    controls = Controls(node="h100", hold_s=60.0)
    assert controls.are_in_force(ControlsView("h100", None, None, 60_000_000, None))
    assert not controls.are_in_force(ControlsView("h100", None, None, 60_000_000, 1))
    assert not controls.are_in_force(None)
