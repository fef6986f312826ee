"""A fixed number of nodes at a fixed price. Utility counts nodes, so a missing node is worth the
price and one too many is worth nothing.

Such a tenant says nothing about restarts or checkpoints, so no node is worth more for being there
already.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from laissez.tenants.hooks import Leaves, Wish
from laissez.tenants.templates.template import State, Template, checked, read_state


class FixedFootprint(Template):
    """`nodes` nodes, each for up to `price` dollars per hour."""

    form: type[State]

    def __init__(self, scopes: Wish, nodes: int, price: float, start: int = 0) -> None:
        super().__init__(scopes, nodes, start)
        self.price = checked("the price in dollars per hour", price)

    def wishes(self, held: Leaves, now: int) -> list[Wish]:
        return [self.scopes] * (self.nodes_max - self.usable(held))

    def utility_gap(self, held: Leaves, now: int) -> float:
        return float(self.nodes_max - self.usable(held))

    def marginal_utility(self, node: str, held: Leaves, now: int) -> float:
        return float(self.is_usable(node))

    def value_per_utility(self, now: int) -> float:
        return self.price

    def is_redundant(self, node: str, held: Leaves, now: int) -> bool:
        return True

    def state(self) -> dict[str, object]:
        written: dict[str, object] = msgspec.to_builtins(self.form(start=self.start))
        return written

    def restore(self, state: Mapping[str, object]) -> None:
        self.start = read_state(state, self.form).start
