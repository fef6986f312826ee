"""What a decision is made from: the time, what is in force in the market, and what the sources
read. Nothing here looks anything up.

The same view gives the same decision, live, simulated or in a test. Whoever makes the view takes
the readings (`Operator.read`) and asks the market.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from laissez.market.answers import ControlsView
from laissez.operators.memory import Memory
from laissez.operators.places import Places
from laissez.operators.reading import Missing, Reading


class OperatorView(msgspec.Struct, frozen=True):
    """One instant of the operator's side. Prices are micro-dollars per hour, times microseconds.

    `floors` are the nodes' own floors in force and `controls` the nodes' own controls, as the
    market tells them, whoever set them. `leased` and `offline` are leaves. `memory` is that of the
    decision before.
    """

    now: int
    places: Places
    floors: Mapping[str, int] = {}
    controls: Mapping[str, ControlsView] = {}
    leased: frozenset[str] = frozenset()
    offline: frozenset[str] = frozenset()
    readings: Mapping[str, Reading | Missing | None] = {}
    memory: Memory = Memory()

    def online(self, node: str) -> tuple[str, ...]:
        """The leaves below a node that can be rented."""
        return tuple(leaf for leaf in self.places.below(node) if leaf not in self.offline)

    def share_leased(self, node: str) -> float:
        """How much of what can be rented below a node is rented: 0 to 1; 0 where nothing can be."""
        online = self.online(node)
        return sum(leaf in self.leased for leaf in online) / len(online) if online else 0.0
