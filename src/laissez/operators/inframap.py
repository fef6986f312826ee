"""An InfraMap translates an operator's knowledge about its machines into pressure on prices. A
subclass is all that an operator has to write.

A *pressure* is 0 for none and 1 for one more base price; the floor of a node is
`base x (1 + sum of weight x pressure)` over the maps that name it or a node above it (`pricing`). A
negative pressure counts as 0, so a hook may be a plain proportion. A hook gets checked readings:
fresh numbers in the plausible range. Otherwise it is not called, and the map's `safe_pressure`
holds, with an alarm.
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
    """The general form: any number of signals, and a pressure for each node."""

    name: str
    nodes: Nodes
    weight: Weight = 1.0
    safe_pressure: Pressure = 1.0
    stale_after_s: Seconds = 300.0

    def signals(self) -> Mapping[str, Range]:
        """The signals it reads, each with its plausible range."""
        return {}

    @abstractmethod
    def pressure(self, node: str, values: Mapping[str, float], view: OperatorView) -> float:
        """The pressure on one of its nodes, given the values of its signals."""


@dataclass(frozen=True, kw_only=True)
class SignalMap(InfraMap):
    """The usual form: one signal, and the same pressure on all nodes."""

    signal: Text
    plausible: ClassVar[Range]

    def signals(self) -> Mapping[str, Range]:
        return {self.signal: self.plausible}

    def pressure(self, node: str, values: Mapping[str, float], view: OperatorView) -> float:
        return self.pressure_at(values[self.signal])

    @abstractmethod
    def pressure_at(self, value: float) -> float:
        """The pressure at this value of the signal."""
