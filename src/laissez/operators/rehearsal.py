"""A rehearsal: maps without a market, so that an operator can see what its maps would do with a
day's telemetry.

What they decide is carried out as written. Nobody bids here and no band clips anything; `leased`
can be set by hand for maps that look at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from laissez.market.answers import ControlsView
from laissez.market.commands import BringOnline, OperatorCommand, SetControls, SetFloor, TakeOffline
from laissez.operators.composition import Composition, Decision
from laissez.operators.memory import Memory
from laissez.operators.operator import Operator
from laissez.operators.places import Places
from laissez.operators.reading import Missing, Reading
from laissez.operators.view import OperatorView


class Rehearsal:
    def __init__(self, operator: Operator | Composition, leaves: Iterable[str]) -> None:
        self.operator = operator
        self.places = Places(leaves)
        self.floors: dict[str, int] = {}
        self.controls: dict[str, ControlsView] = {}
        self.leased: frozenset[str] = frozenset()
        self.offline: frozenset[str] = frozenset()
        self.memory = Memory()

    def view(self, now: int, readings: Mapping[str, Reading | Missing | None]) -> OperatorView:
        return OperatorView(
            now,
            self.places,
            self.floors,
            self.controls,
            self.leased,
            self.offline,
            readings,
            self.memory,
        )

    def tick(self, now: int, readings: Mapping[str, Reading | Missing | None]) -> Decision:
        """One decision, carried out."""
        decision = self.operator.decide(self.view(now, readings))
        self.memory = decision.memory
        for command in decision.commands:
            self._apply(command)
        return decision

    def _apply(self, command: OperatorCommand) -> None:
        match command:
            case SetFloor(node, price):
                self.floors = self.floors | {node: price or 0}
            case SetControls(node, rise, fall, hold, flash):
                self.controls = self.controls | {node: ControlsView(node, rise, fall, hold, flash)}
            case TakeOffline(leaf):
                self.offline |= {leaf}
                self.leased -= {leaf}
            case BringOnline(leaf):
                self.offline -= {leaf}
            case _:
                raise AssertionError(f"maps do not give {command}")
