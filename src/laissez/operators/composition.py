"""The composition of all maps: what the floors should be (`pricing`), how they get there
(`course`), and what differs from the market as commands.

Only commands that change something are sent, in an order that is always the same. A node that the
topology does not have gets an alarm and no command.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from laissez.market.commands import (
    PRICE_MAX,
    BringOnline,
    OperatorCommand,
    SetControls,
    SetFloor,
    TakeOffline,
)
from laissez.operators.alarms import Alarm, AlarmKind
from laissez.operators.base import Base
from laissez.operators.controls import Controls
from laissez.operators.course import Floor, Pace, step
from laissez.operators.errors import MapError
from laissez.operators.inframap import InfraMap
from laissez.operators.maintenance import Maintenance, closed_leaves, left_offline
from laissez.operators.memory import Course, Memory
from laissez.operators.places import in_path_order, path_of
from laissez.operators.pricing import Priceable, Priced
from laissez.operators.telemetry import judge, standing
from laissez.operators.view import OperatorView


class Decision(msgspec.Struct, frozen=True):
    """What to send, in this order; what to tell; how each floor came about; what the next view has
    to carry; and how hard each map, by its name, presses on each of its nodes."""

    commands: tuple[OperatorCommand, ...]
    alarms: tuple[Alarm, ...]
    priced: tuple[Priced, ...]
    memory: Memory
    pressures: Mapping[str, Mapping[str, float]]


class Composition:
    """All maps of an operator. `decide` is a function of the view: what it has to remember is in
    the view too."""

    def __init__(
        self,
        *,
        bases: Sequence[Base],
        maps: Sequence[InfraMap] = (),
        maintenance: Sequence[Maintenance] = (),
        controls: Sequence[Controls] = (),
        pace: Pace = Pace(),  # noqa: B008 - frozen
    ) -> None:
        self.maps = (*maps, *maintenance)
        self.maintenance = tuple(maintenance)
        self.controls = tuple(sorted(controls, key=lambda each: in_path_order(each.node)))
        self.pace = pace
        _check_names([f"map {each.name!r}" for each in self.maps])
        _check_names([f"base price at {each.node!r}" for each in bases])
        _check_names([f"controls at {each.node!r}" for each in controls])
        _check_ranges(self.maps)
        by_node = {each.node: each for each in bases}
        nodes = {*by_node, *(node for each in self.maps for node in each.nodes)}
        self._priceables = [
            Priceable(node, by_node, self.maps) for node in sorted(nodes, key=in_path_order)
        ]

    def decide(self, view: OperatorView) -> Decision:
        """Controls first; then floors that fall, so that who is pressed out of one row finds the
        other as cheap as it is; then floors that rise; then leaves offline; then leaves online, at
        floors that are right."""
        judged = {each.name: judge(each, view) for each in self.maps}
        pressures = {name: judgement.pressures for name, judgement in judged.items()}
        courses = dict(self._courses(view, pressures))
        priced = tuple(each for each, _ in courses.values())
        gone, back, taken = self._maintained(view)
        alarms = (
            *(alarm for judgement in judged.values() for alarm in judgement.alarms),
            *self._of_places(view),
        )
        memory = Memory(
            courses={node: course for node, (_, course) in courses.items()},
            alarms={alarm.key: alarm.since for alarm in alarms},
            seen={
                key: reading
                for judgement in judged.values()
                for key, reading in judgement.seen.items()
            },
            taken=taken,
        )
        return Decision(
            (*self._controlled(view), *self._abandoned(view), *_floors(priced), *gone, *back),
            alarms,
            priced,
            memory,
            pressures,
        )

    def _courses(
        self, view: OperatorView, pressures: Mapping[str, Mapping[str, float]]
    ) -> Iterator[tuple[str, tuple[Priced, Course]]]:
        for each in self._priceables:
            if not view.places.below(each.node):
                continue
            base = max(base.price_at(view.now) for base in each.bases)
            terms = each.terms(pressures)
            floor = Floor(
                each.wanted(base, terms),
                view.floors.get(each.node, 0),
                each.highest,
                _fall_interval(each.node, view),
            )
            price, course = step(floor, view.memory.courses.get(each.node), view.now, self.pace)
            yield (
                each.node,
                (Priced(each.node, base, terms, floor.wanted, floor.in_force, price), course),
            )

    def _abandoned(self, view: OperatorView) -> list[SetFloor]:
        """Floors that were set here before and that no map names any more are removed."""
        named = {each.node for each in self._priceables}
        return [
            SetFloor(node, None)
            for node in view.memory.courses
            if node not in named and view.floors.get(node)
        ]

    def _controlled(self, view: OperatorView) -> list[SetControls]:
        changed = [
            each for each in self.controls if not each.are_in_force(view.controls.get(each.node))
        ]
        return [each.command() for each in changed if view.places.below(each.node)]

    def _maintained(
        self, view: OperatorView
    ) -> tuple[list[TakeOffline], list[BringOnline], frozenset[str]]:
        """Leaves to take offline, leaves to bring online, and the leaves that are offline because
        of a window."""
        closed = closed_leaves(self.maintenance, view)
        gone = [leaf for leaf in view.places.leaves if leaf in closed and leaf not in view.offline]
        back = [
            leaf
            for leaf in view.places.leaves
            if leaf in view.memory.taken and leaf in view.offline and leaf not in closed
        ]
        kept = (leaf for leaf in view.memory.taken if leaf in view.offline)
        return (
            [TakeOffline(leaf) for leaf in gone],
            [BringOnline(leaf) for leaf in back],
            frozenset((*kept, *gone)),
        )

    def _of_places(self, view: OperatorView) -> Iterator[Alarm]:
        for node in sorted(
            {*(each.node for each in self._priceables), *(each.node for each in self.controls)},
            key=in_path_order,
        ):
            if not view.places.below(node):
                reason = (
                    "expected a node of the topology, found none of this name; nothing is set there"
                )
                yield standing(Alarm(AlarmKind.UNKNOWN_NODE, node, "", view.now, reason), view)
        for window in self.maintenance:
            leaves = left_offline(window, view)
            if leaves:
                reason = (
                    f"expected to have taken {leaves[0]} offline, found it offline already"
                    f" ({len(leaves)} such); bring it online by hand"
                )
                yield standing(
                    Alarm(AlarmKind.LEFT_OFFLINE, window.name, "", view.now, reason), view
                )


def _floors(priced: Sequence[Priced]) -> list[SetFloor]:
    """Those that fall, then those that rise."""
    asked = [
        (each.asked > each.in_force, each.node, each.asked)
        for each in priced
        if each.asked is not None
    ]
    return [
        _set_floor(node, price)
        for rises in (False, True)
        for is_rise, node, price in asked
        if is_rise == rises
    ]


def _set_floor(node: str, price: int) -> SetFloor:
    """The only way out to the market for a price."""
    assert type(price) is int and 0 <= price <= PRICE_MAX, f"{node}: {price!r} is no price"
    return SetFloor(node, price)


def _fall_interval(node: str, view: OperatorView) -> int | None:
    """The interval of the fall band that governs a node (M16): the nearest on its path, from itself
    up."""
    for above in reversed(path_of(node)):
        controls = view.controls.get(above)
        if controls is not None and controls.fall is not None:
            return controls.fall.interval_us
    return None


def _check_names(names: Sequence[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise MapError(f"expected one {name}, found {count}")


def _check_ranges(maps: Sequence[InfraMap]) -> None:
    for each in maps:
        for signal, (lowest, highest) in each.signals().items():
            if not -math.inf < lowest < highest < math.inf:
                raise MapError(
                    f"{each.name}: expected a finite plausible range for {signal}, found {lowest}"
                    f" to {highest}"
                )
