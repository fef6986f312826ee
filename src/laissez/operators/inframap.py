"""An InfraMap translates what an operator knows about its machines into pressure on prices. This is
all that an operator has to write.

A *pressure* is 0 for none and 1 for one more base price; the floor of a node is
`base x (1 + sum of weight x pressure)` over the maps that name it or a node above it
(`composition`). A hook may give less than 0, which counts as 0, so that a plain proportion will do.
What a hook reads has been checked: it is fresh, a number, and in the range that the map states. If
it is not, the hook is not asked and the map's `safe_pressure` holds, with an alarm.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from laissez.operators.fields import Nodes, Pressure, Range, Seconds, Text, Weight
from laissez.operators.view import OperatorView


@dataclass(frozen=True, kw_only=True)
class InfraMap(ABC):
    """The general form: reads any number of signals, and may press differently on each of its
    nodes."""

    name: str
    nodes: Nodes
    weight: Weight = 1.0
    safe_pressure: Pressure = 1.0
    stale_after_s: Seconds = 300.0

    def signals(self) -> Mapping[str, Range]:
        """The signals it reads, each with the least and the greatest value that can be true."""
        return {}

    @abstractmethod
    def pressure(self, node: str, values: Mapping[str, float], view: OperatorView) -> float:
        """How much the map presses on `node`, one of its nodes, given the value of each of its
        signals."""


@dataclass(frozen=True, kw_only=True)
class SignalMap(InfraMap):
    """The usual form: one signal, the same pressure on all nodes. A subclass states `plausible` and
    writes `pressure_at`."""

    signal: Text
    plausible: ClassVar[Range]

    def signals(self) -> Mapping[str, Range]:
        return {self.signal: self.plausible}

    def pressure(self, node: str, values: Mapping[str, float], view: OperatorView) -> float:
        return self.pressure_at(values[self.signal])

    @abstractmethod
    def pressure_at(self, value: float) -> float:
        """How much this value of the signal presses."""
