"""An operator that is ready to run: its maps, and the sources of its signals. `read` does all the
I/O; `decide` is pure.

    view = OperatorView(now=now, readings=operator.read(now), leaves=..., memory=memory, ...)
    decision = operator.decide(view)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from laissez.market.answers import ControlsView
from laissez.market.commands import BringOnline, OperatorCommand, SetControls, SetFloor, TakeOffline
from laissez.operators.composition import Composition, Decision
from laissez.operators.sources.source import Source
from laissez.operators.view import LeafIndex, Memory, Missing, OperatorView, Reading

CONCURRENT_READS_MAX: Final = 16


class Operator:
    """`sources` are by the name of their signal."""

    def __init__(self, composition: Composition, sources: Mapping[str, Source]) -> None:
        self.composition = composition
        self.sources = dict(sources)

    def read(self, now: int) -> dict[str, Reading | Missing]:
        """Read every source. Remote ones are read concurrently: a monitoring system that hangs
        costs one timeout instead of one for each signal."""
        remote = {name: source for name, source in self.sources.items() if source.is_remote}
        readings = {
            name: source.read(now) for name, source in self.sources.items() if name not in remote
        }
        if remote:
            with ThreadPoolExecutor(min(CONCURRENT_READS_MAX, len(remote))) as pool:
                found = pool.map(lambda source: source.read(now), remote.values())
                readings |= zip(remote, found, strict=True)
        return readings

    def decide(self, view: OperatorView) -> Decision:
        return self.composition.decide(view)

    def close(self) -> None:
        for source in self.sources.values():
            source.close()


class DryRun:
    """Maps without a market: their decisions over a day of telemetry, carried out as they are.
    There are no bids and no bands; set `leased` by hand for maps that need it."""

    def __init__(self, operator: Operator | Composition, leaves: Iterable[str]) -> None:
        self.operator = operator
        self.leaves = LeafIndex(leaves)
        self.floors: dict[str, int] = {}
        self.controls: dict[str, ControlsView] = {}
        self.leased: frozenset[str] = frozenset()
        self.offline: frozenset[str] = frozenset()
        self.memory = Memory()

    def view(self, now: int, readings: Mapping[str, Reading | Missing | None]) -> OperatorView:
        return OperatorView(
            now,
            self.leaves,
            self.floors,
            self.controls,
            self.leased,
            self.offline,
            readings,
            self.memory,
        )

    def tick(self, now: int, readings: Mapping[str, Reading | Missing | None]) -> Decision:
        """Make one decision and carry it out."""
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
