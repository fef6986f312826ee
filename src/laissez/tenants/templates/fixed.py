"""A fixed number of nodes: on demand, up to a high price, or on the spot market, only while they
are cheap.

Utility counts nodes, so a missing node is worth the price and one too many is worth nothing. Such a
tenant says nothing about restarts or checkpoints, so no node is worth more for being held already.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from laissez.tenants.hooks import Leaves, Wish
from laissez.tenants.inputs import Positive, checked
from laissez.tenants.templates.template import State, Template, TemplateError
from laissez.tenants.view import TenantView
from laissez.units import MICRO_PER_DOLLAR


class OnDemandState(State, tag="on_demand"):
    """Nothing is learned."""


class SpotState(State, tag="spot"):
    """Nothing is learned that the next view would not tell again."""


class FixedNodes(Template):
    """`nodes` nodes, each for up to `price` dollars per hour."""

    def __init__(self, scopes: Wish, nodes: int, price: float, learned: State) -> None:
        super().__init__(scopes, nodes)
        self.adopt(learned)
        self.price = checked("price in dollars per hour", price, Positive, TemplateError)

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


class OnDemand(FixedNodes):
    """`nodes` nodes, asked for and kept at `max_price` dollars per hour each."""

    def __init__(self, scopes: Wish, nodes: int, max_price: float, start: int = 0) -> None:
        super().__init__(scopes, nodes, max_price, OnDemandState(start=start))


class Spot(FixedNodes):
    """`nodes` nodes for up to `limit` dollars per hour each.

    `margin` is a share of the limit. A node that is charged more than the limit less the margin is
    given up before it is outbid, so that there is time to save its work. Orders ask at that lower
    price too; otherwise the tenant would come back at once to the node that it has just left.
    """

    def __init__(
        self, scopes: Wish, nodes: int, limit: float, margin: float = 0.0, start: int = 0
    ) -> None:
        super().__init__(scopes, nodes, limit, SpotState(start=start))
        if not 0 <= margin < 1:
            raise TemplateError(f"expected a margin from 0 to below 1 of the limit, found {margin}")
        self.margin = margin
        self._charged: dict[str, float] = {}

    def see(self, view: TenantView) -> None:
        super().see(view)
        self.charged({lease.leaf: lease.charged / MICRO_PER_DOLLAR for lease in view.leases})

    def charged(self, prices: Mapping[str, float]) -> None:
        """Told what each node held costs now, in dollars per hour."""
        bad = {leaf: price for leaf, price in prices.items() if not 0 <= price < math.inf}
        if bad:
            raise TemplateError(f"expected prices from 0 dollars per hour on, found {bad}")
        self._charged = dict(prices)

    def marginal_utility(self, node: str, held: Leaves, now: int) -> float:
        if not self.is_usable(node):
            return 0.0
        if node not in held or node in self.scopes:
            return 1.0 - self.margin
        return float(self._charged.get(node, 0.0) <= self.price * (1.0 - self.margin))
