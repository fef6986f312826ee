"""How pressures become floors, and floors become commands: weights add up, floors rise at once,
fall slowly, and do not tremble."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import msgspec
import pytest

from laissez.market.answers import ControlsView
from laissez.market.commands import Band, SetControls, SetFloor
from laissez.operators import (
    AlarmKind,
    Base,
    Composition,
    Controls,
    Decision,
    DryRun,
    InfraMap,
    LeafIndex,
    MapError,
    Memory,
    Move,
    OperatorView,
    Price,
    Reading,
    SignalMap,
    SlewLimits,
    Term,
)
from laissez.operators.fields import Range

pytestmark = pytest.mark.once

SECOND = 1_000_000
MINUTE = 60 * SECOND
LEAVES = ("h100/row1/a", "h100/row1/b", "h100/row2/a")
BASE = Base(node="h100", price=Price(1_000_000), floor_max=Price(50_000_000))


@dataclass(frozen=True, kw_only=True)
class Plain(SignalMap):
    """Presses with the signal itself."""

    plausible: ClassVar[Range] = (-1e6, 1e6)

    def pressure_at(self, value: float) -> float:
        return value


def plain(signal: str, *nodes: str, weight: float = 1.0) -> Plain:
    return Plain(name=signal, signal=signal, nodes=nodes, weight=weight)


def dry_run(
    *maps: InfraMap,
    limits: SlewLimits | None = None,
    bases: tuple[Base, ...] = (BASE,),
    controls: tuple[Controls, ...] = (),
) -> DryRun:
    return DryRun(
        Composition(bases=bases, maps=maps, limits=limits or SlewLimits(), controls=controls),
        LEAVES,
    )


def tick(world: DryRun, now: int, **values: float) -> Decision:
    return world.tick(now, {name: Reading(value, now) for name, value in values.items()})


# -- pricing


def test_weighted_pressures_add_up() -> None:
    world = dry_run(plain("power", "h100/row1", weight=2.0), plain("heat", "h100/row1", weight=0.5))
    tick(world, 0, power=0.5, heat=1.0)
    assert {"h100": 1_000_000, "h100/row1": 2_500_000} == world.floors


def test_a_floor_includes_all_pressures_above_it() -> None:
    world = dry_run(plain("carbon", "h100"), plain("power", "h100/row1"))
    decision = tick(world, 0, power=0.5, carbon=1.0)
    assert {"h100": 2_000_000, "h100/row1": 2_500_000} == world.floors
    assert (Term("carbon", 1.0, 1.0), Term("power", 1.0, 0.5)) == decision.priced[1].terms


def test_the_terms_of_a_floor_can_be_shown() -> None:
    world = dry_run(plain("power", "h100/row1", weight=2.0), plain("heat", "h100/row1"))
    told = [str(each) for each in tick(world, 0, power=1 / 3, heat=0.0).priced]
    assert (
        "h100/row1: 1.00 x (1 + 2 x 0.333 power) = 1.666667, in force 0.00: ask for 1.666667"
        == told[1]
    )
    assert "h100: 1.00 x (1) = 1.00, in force 1.00: nothing to do" == str(
        tick(world, 1, power=1 / 3, heat=0.0).priced[0]
    )


def test_the_higher_pressure_counts_if_a_map_names_a_node_and_an_ancestor() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Deep(InfraMap):
        def pressure(self, node: str, values: Mapping[str, float], view: OperatorView) -> float:
            return 1.0 if node == "h100" else 0.25

    world = dry_run(Deep(name="deep", nodes=("h100", "h100/row1")))
    tick(world, 0)
    assert {"h100": 2_000_000, "h100/row1": 2_000_000} == world.floors


def test_the_base_of_a_subtree_is_never_below_that_of_its_tree() -> None:
    cheap = Base(node="h100/row1", price=Price(500_000), floor_max=Price(9_000_000))
    dear = Base(node="h100/row2", price=Price(3_000_000), floor_max=Price(9_000_000))
    world = dry_run(bases=(BASE, cheap, dear))
    tick(world, 0)
    assert {"h100": 1_000_000, "h100/row1": 1_000_000, "h100/row2": 3_000_000} == world.floors


def test_negative_pressure_counts_as_zero() -> None:
    world = dry_run(plain("power", "h100/row1"))
    tick(world, 0, power=-3.0)
    assert 1_000_000 == world.floors["h100/row1"]


def test_floors_stay_within_their_bounds() -> None:
    world = dry_run(plain("power", "h100/row1", weight=1000.0))
    tick(world, 0, power=1e6)
    assert 50_000_000 == world.floors["h100/row1"]


def test_a_subtree_with_a_base_of_its_own_has_bounds_of_its_own() -> None:
    narrow = Base(
        node="h100/row1",
        price=Price(1_000_000),
        floor_min=Price(1_000_000),
        floor_max=Price(3_000_000),
    )
    world = dry_run(plain("power", "h100/row1", "h100/row2"), bases=(BASE, narrow))
    tick(world, 0, power=5.0)
    assert {"h100": 1_000_000, "h100/row1": 3_000_000, "h100/row2": 6_000_000} == world.floors


def test_a_single_leaf_can_be_reclaimed() -> None:
    world = dry_run(plain("reclaim", "h100/row1/b"))
    tick(world, 0, reclaim=4.0)
    assert {"h100": 1_000_000, "h100/row1/b": 5_000_000} == world.floors


def test_a_map_without_a_base_price_is_refused() -> None:
    with pytest.raises(
        MapError,
        match=(
            r"a100/row9: expected a base price at it or above it, such as one for a100, found none"
        ),
    ):
        Composition(bases=[BASE], maps=[plain("x", "a100/row9")])


def test_two_maps_of_one_name_are_refused() -> None:
    with pytest.raises(MapError, match="expected one map 'x', found 2"):
        Composition(bases=[BASE], maps=[plain("x", "h100"), plain("x", "h100")])


def test_a_map_without_a_finite_range_is_refused() -> None:
    class Anything(Plain):
        plausible: ClassVar[Range] = (0.0, float("inf"))

    with pytest.raises(
        MapError, match=r"x: expected a finite plausible range for x, found 0\.0 to inf"
    ):
        Composition(bases=[BASE], maps=[Anything(name="x", signal="x", nodes=("h100",))])


def test_a_map_without_its_hook_cannot_be_instantiated() -> None:
    with pytest.raises(TypeError, match="pressure_at"):
        SignalMap(name="x", signal="x", nodes=("h100",))  # type: ignore[abstract]


# -- commands


def test_nothing_is_sent_while_nothing_changes() -> None:
    world = dry_run(plain("power", "h100/row1"), controls=(Controls(node="h100", hold_s=1.0),))
    assert 3 == len(tick(world, 0, power=1.0).commands)
    for second in range(1, 600):
        assert () == tick(world, second * SECOND, power=1.0).commands


def test_the_same_view_gives_the_same_decision() -> None:
    world = dry_run(plain("power", "h100/row1"))
    tick(world, 0, power=1.0)
    view = world.view(MINUTE, {"power": Reading(0.5, MINUTE)})
    assert world.operator.decide(view) == world.operator.decide(view)


def test_floors_that_fall_are_sent_before_floors_that_rise_and_controls_before_both() -> None:
    maps = plain("one", "h100/row1"), plain("two", "h100/row2")
    world = dry_run(
        *maps, limits=SlewLimits(fall_per_minute=1.0), controls=(Controls(node="h100", hold_s=1.0),)
    )
    tick(world, 0, one=0.0, two=1.0)
    world.controls = {}
    commands = tick(world, SECOND, one=1.0, two=0.0).commands
    assert (
        SetControls("h100", hold_us=SECOND),
        SetFloor("h100/row2", 1_000_000),
        SetFloor("h100/row1", 2_000_000),
    ) == commands


def test_an_unknown_node_gets_an_alarm_and_no_command() -> None:
    world = dry_run(plain("power", "h100/row9"), controls=(Controls(node="h100/row8", hold_s=1.0),))
    decision = tick(world, 0, power=1.0)
    assert (SetFloor("h100", 1_000_000),) == decision.commands
    assert [(AlarmKind.UNKNOWN_NODE, "h100/row8"), (AlarmKind.UNKNOWN_NODE, "h100/row9")] == [
        (alarm.kind, alarm.where) for alarm in decision.alarms
    ]


def test_floors_and_controls_outside_the_maps_are_left_alone() -> None:
    world = dry_run()
    world.floors = {"h100": 1_000_000, "h100/row2": 7}
    world.controls = {"h100/row2": ControlsView("h100/row2", None, None, 5, None)}
    assert () == tick(world, 0).commands


# -- pace


def test_a_floor_rises_at_once_and_falls_slowly() -> None:
    world = dry_run(plain("power", "h100/row1"), limits=SlewLimits(fall_per_minute=0.1))
    tick(world, 0, power=0.0)
    tick(world, 10 * MINUTE, power=3.0)
    assert 4_000_000 == world.floors["h100/row1"]
    tick(world, 20 * MINUTE, power=0.0)
    assert 4_000_000 == world.floors["h100/row1"]  # the clock of the fall starts here
    tick(world, 21 * MINUTE, power=0.0)
    assert 3_600_000 == world.floors["h100/row1"]
    tick(world, 23 * MINUTE, power=0.0)
    assert 2_916_000 == world.floors["h100/row1"]
    tick(world, 60 * MINUTE, power=0.0)
    assert 1_000_000 == world.floors["h100/row1"]


@pytest.mark.parametrize("every_s", [1, 7, 60])
def test_the_interval_of_decisions_does_not_change_the_fall_of_a_floor(every_s: int) -> None:
    world = dry_run(plain("power", "h100/row1"), limits=SlewLimits(fall_per_minute=0.1))
    tick(world, 0, power=9.0)
    for second in range(every_s, 420 + every_s, every_s):
        tick(world, second * SECOND, power=0.0)
    assert world.floors["h100/row1"] == pytest.approx(10_000_000 * 0.9**7, rel=0.13)


def test_a_floor_can_fall_to_zero() -> None:
    free = Base(node="h100", price=Price(0), floor_max=Price(50_000_000))
    world = dry_run(bases=(free,), limits=SlewLimits(fall_per_minute=0.5))
    world.floors = {"h100": 100}
    for minute in range(20):
        tick(world, minute * MINUTE)
    assert {"h100": 0} == world.floors


def test_a_floor_above_its_bounds_comes_down_to_them_at_once() -> None:
    world = dry_run()
    world.floors = {"h100": 9_000_000_000}
    assert (SetFloor("h100", 50_000_000),) == tick(world, 0).commands


def test_jitter_within_the_tolerance_causes_no_commands() -> None:
    world = dry_run(plain("power", "h100/row1"), limits=SlewLimits(tolerance=0.01, settle_s=60.0))
    tick(world, 0, power=1.0)
    for second in range(1, 900):
        assert (
            ()
            == tick(world, second * SECOND, power=1.0 + (0.019, -0.019, 0.004)[second % 3]).commands
        )


def test_a_small_difference_that_lasts_is_corrected() -> None:
    world = dry_run(plain("power", "h100/row1"), limits=SlewLimits(tolerance=0.01, settle_s=60.0))
    tick(world, 0, power=1.0)
    assert () == tick(world, 100 * SECOND, power=1.01).commands
    assert () == tick(world, 159 * SECOND, power=1.01).commands
    assert (SetFloor("h100/row1", 2_010_000),) == tick(world, 160 * SECOND, power=1.01).commands


def test_lost_commands_are_sent_again() -> None:
    world = dry_run()
    tick(world, 0)
    world.floors = {}
    assert (SetFloor("h100", 1_000_000),) == tick(world, SECOND).commands


def test_a_clipped_fall_is_requested_once_per_interval() -> None:
    world = dry_run(
        limits=SlewLimits(fall_per_minute=1.0),
        controls=(Controls(node="h100", fall=Move(fraction=0.1, every_s=300)),),
    )
    world.floors = {"h100": 2_000_000}
    world.controls = {"h100": ControlsView("h100", None, Band(100_000, 300 * SECOND), None, None)}
    asked = []
    for second in range(0, 601, 10):
        decision = tick(world, second * SECOND)
        asked += [second for _ in decision.commands]
        if decision.commands:
            world.floors = {"h100": 1_800_000}  # whatever is asked
    assert [0, 300, 600] == asked


def test_a_rise_does_not_wait_for_a_fall_band() -> None:
    world = dry_run(
        plain("power", "h100"),
        controls=(Controls(node="h100", fall=Move(fraction=0.1, every_s=300)),),
        limits=SlewLimits(fall_per_minute=1.0),
    )
    tick(world, 0, power=1.0)
    tick(world, SECOND, power=0.0)
    world.floors = {"h100": 1_900_000}
    assert () == tick(world, 2 * SECOND, power=0.0).commands
    assert (SetFloor("h100", 3_000_000),) == tick(world, 3 * SECOND, power=2.0).commands


def test_memory_survives_being_stored() -> None:
    world = dry_run(plain("power", "h100/row1"))
    world.tick(0, {})
    tick(world, 5, power=1.0)
    stored = msgspec.json.encode(world.memory)
    assert world.memory == msgspec.json.decode(stored, type=Memory)


def test_leaves_are_in_path_order() -> None:
    leaves = LeafIndex(["b/x", "a-b/x", "a/y", "a/x"])
    assert ("a/x", "a/y", "a-b/x", "b/x") == leaves.paths
    assert ("a/x", "a/y") == leaves.below("a")
    assert () == leaves.below("a/")
