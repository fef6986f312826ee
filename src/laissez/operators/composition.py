"""The composition of all maps: from a view to the commands that make the market follow the maps.

How it works. Each map is judged on its own (`telemetry`), which gives finite, non-negative
pressures. Each priced node turns the pressures on its path into a wanted floor (`pricing`). A
slew-rate limiter moves the floor in force towards it (`slew`). Commands are sent for the
differences between the market and the result, and only for those.

Why it is correct. `decide` is a function of the view: no I/O, no clock, no state but the memory in
the view. A lost or clipped command leaves a difference, so the next decision sends it again. The
order of the commands is fixed: controls; floors that fall, so that a tenant pressed out of one row
finds the other at its low price; floors that rise; leaves offline; and leaves online, at floors
that are right by then.

What must never happen: a price outside the bounds of its base, whatever telemetry and maps say; a
map that fails and keeps the others from deciding; a leaf brought online that maintenance did not
take. The first is asserted where commands are made. A node that the topology does not have gets an
alarm and no command.
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
from laissez.operators.controls import Controls
from laissez.operators.fields import MapError
from laissez.operators.inframap import InfraMap
from laissez.operators.maintenance import Maintenance, closed_leaves
from laissez.operators.pricing import Base, Priced, PricedNode
from laissez.operators.slew import Floor, SlewLimits, step
from laissez.operators.telemetry import judge
from laissez.operators.view import (
    Alarm,
    AlarmKind,
    FloorState,
    Memory,
    OperatorView,
    in_path_order,
    path_of,
)


class Decision(msgspec.Struct, frozen=True):
    """The commands, in this order; the alarms; how each floor came about; the memory for the next
    view; and the pressure of each map, by name, on each of its nodes."""

    commands: tuple[OperatorCommand, ...]
    alarms: tuple[Alarm, ...]
    priced: tuple[Priced, ...]
    memory: Memory
    pressures: Mapping[str, Mapping[str, float]]


class Composition:
    """All maps of an operator."""

    def __init__(
        self,
        *,
        bases: Sequence[Base],
        maps: Sequence[InfraMap] = (),
        maintenance: Sequence[Maintenance] = (),
        controls: Sequence[Controls] = (),
        limits: SlewLimits = SlewLimits(),  # noqa: B008 - frozen
    ) -> None:
        self.maps = (*maps, *maintenance)
        self.maintenance = tuple(maintenance)
        self.controls = tuple(sorted(controls, key=lambda each: in_path_order(each.node)))
        self.limits = limits
        _check_distinct([f"map {each.name!r}" for each in self.maps])
        _check_distinct([f"base price at {each.node!r}" for each in bases])
        _check_distinct([f"controls at {each.node!r}" for each in controls])
        _check_ranges(self.maps)
        by_node = {each.node: each for each in bases}
        nodes = {*by_node, *(node for each in self.maps for node in each.nodes)}
        self._priced = [
            PricedNode(node, by_node, self.maps) for node in sorted(nodes, key=in_path_order)
        ]

    def decide(self, view: OperatorView) -> Decision:
        judged = {each.name: judge(each, view) for each in self.maps}
        pressures = {name: judgement.pressures for name, judgement in judged.items()}
        alarms = [alarm for judgement in judged.values() for alarm in judgement.alarms]
        alarms += self._node_alarms(view)
        floors = dict(self._floors(view, pressures))
        offline, online, taken = self._maintain(view)
        priced = tuple(each for each, _ in floors.values())
        memory = Memory(
            floors={node: state for node, (_, state) in floors.items()},
            alarms={alarm.key: alarm.since for alarm in alarms},
            seen={key: one for judgement in judged.values() for key, one in judgement.seen.items()},
            taken=taken,
        )
        commands: tuple[OperatorCommand, ...] = (
            *self._changed_controls(view),
            *self._removed_floors(view),
            *_set_floors(priced),
            *offline,
            *online,
        )
        return Decision(commands, tuple(alarms), priced, memory, pressures)

    def _floors(
        self, view: OperatorView, pressures: Mapping[str, Mapping[str, float]]
    ) -> Iterator[tuple[str, tuple[Priced, FloorState]]]:
        for each in self._priced:
            if not view.leaves.below(each.node):
                continue
            base = each.base_at(view.now)
            terms = each.terms(pressures)
            wanted, in_force = each.wanted(base, terms), view.floors.get(each.node, 0)
            floor = Floor(wanted, in_force, each.highest, _fall_interval(each.node, view))
            before = view.memory.floors.get(each.node)
            price, state = step(floor, before, view.now, self.limits)
            assert price is None or each.lowest <= price <= each.highest, f"{each.node}: {price}"
            yield each.node, (Priced(each.node, base, terms, wanted, in_force, price), state)

    def _removed_floors(self, view: OperatorView) -> list[SetFloor]:
        """Remove floors that earlier maps set and no map names any more."""
        named = {each.node for each in self._priced}
        return [
            SetFloor(node, None)
            for node in view.memory.floors
            if node not in named and view.floors.get(node)
        ]

    def _changed_controls(self, view: OperatorView) -> list[SetControls]:
        return [
            each.command()
            for each in self.controls
            if view.leaves.below(each.node) and not each.are_in_force(view.controls.get(each.node))
        ]

    def _maintain(
        self, view: OperatorView
    ) -> tuple[list[TakeOffline], list[BringOnline], frozenset[str]]:
        """The leaves to take offline, to bring online, and those taken by a window."""
        closed, taken = closed_leaves(self.maintenance, view), view.memory.taken
        still_taken = taken & view.offline
        leaving = [one for one in view.leaves.paths if one in closed and one not in view.offline]
        returning = [one for one in view.leaves.paths if one in still_taken and one not in closed]
        return (
            [TakeOffline(leaf) for leaf in leaving],
            [BringOnline(leaf) for leaf in returning],
            still_taken | frozenset(leaving),
        )

    def _node_alarms(self, view: OperatorView) -> Iterator[Alarm]:
        nodes = {*(each.node for each in self._priced), *(each.node for each in self.controls)}
        for node in sorted(nodes, key=in_path_order):
            if not view.leaves.below(node):
                reason = (
                    "expected a node of the topology, found none of this name; nothing is set there"
                )
                yield view.continued(Alarm(AlarmKind.UNKNOWN_NODE, node, "", view.now, reason))
        for window in self.maintenance:
            leaves = window.left_offline(view)
            if leaves:
                reason = (
                    f"expected to have taken {leaves[0]} offline, found it offline already"
                    f" ({len(leaves)} such); bring it online by hand"
                )
                alarm = Alarm(AlarmKind.LEFT_OFFLINE, window.name, "", view.now, reason)
                yield view.continued(alarm)


def _set_floors(priced: Sequence[Priced]) -> list[SetFloor]:
    """Floors that fall, then floors that rise. No other price reaches the market."""
    asked = [(each.asked > each.in_force, each) for each in priced if each.asked is not None]
    commands = []
    for _, each in sorted(asked, key=lambda pair: pair[0]):
        price = each.asked
        assert type(price) is int and 0 <= price <= PRICE_MAX, f"{each.node}: {price!r} is no price"
        commands.append(SetFloor(each.node, price))
    return commands


def _fall_interval(node: str, view: OperatorView) -> int | None:
    """The interval of the fall band that governs a node (M16): the nearest on its path."""
    for above in reversed(path_of(node)):
        controls = view.controls.get(above)
        if controls is not None and controls.fall is not None:
            return controls.fall.interval_us
    return None


def _check_distinct(names: Sequence[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise MapError(f"expected one {name}, found {count}")


def _check_ranges(maps: Sequence[InfraMap]) -> None:
    for each in maps:
        for signal, (low, high) in each.signals().items():
            if not -math.inf < low < high < math.inf:
                raise MapError(
                    f"{each.name}: expected a finite plausible range for {signal}, found {low}"
                    f" to {high}"
                )
