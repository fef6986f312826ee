"""Spot: so many nodes, but only while they are cheap.

With a `margin` it leaves in good order before it is outbid: a node that is charged more than the
limit less the margin is given up while the market would still let it stay, so there is time to save
what is on it. For that it must be told what its nodes cost (`charged`). It asks at the lower price
too; else it would come back at once to what it has just left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from laissez.tenants.hooks import Leaves, Wish
from laissez.tenants.templates.errors import TemplateError
from laissez.tenants.templates.footprint import FixedFootprint
from laissez.tenants.templates.template import State, checked
from laissez.tenants.view import TenantView
from laissez.units import MICRO_PER_DOLLAR


class SpotState(State, frozen=True, tag="spot"):
    """Nothing is learned that would not be told again."""


class Spot(FixedFootprint):
    """`nodes` nodes for up to `limit` dollars per hour each; `margin` is a share of the limit."""

    form = SpotState

    def __init__(
        self, scopes: Wish, nodes: int, limit: float, margin: float = 0.0, start: int = 0
    ) -> None:
        super().__init__(scopes, nodes, limit, start)
        if not 0 <= margin < 1:
            raise TemplateError(f"expected a margin from 0 to below 1 of the limit, found {margin}")
        self.margin = margin
        self._charged: dict[str, float] = {}

    @classmethod
    def below_on_demand(
        cls,
        scopes: Wish,
        nodes: int,
        on_demand: float,
        share: float,
        margin: float = 0.0,
        start: int = 0,
    ) -> Spot:
        """With a limit of `share` of the on-demand price."""
        limit = checked("the on-demand price", on_demand) * checked(
            "the share of the on-demand price", share, most=1.0
        )
        return cls(scopes, nodes, limit, margin, start)

    def see(self, view: TenantView) -> None:
        super().see(view)
        self.charged({lease.leaf: lease.charged / MICRO_PER_DOLLAR for lease in view.leases})

    def charged(self, prices: Mapping[str, float]) -> None:
        """What every node held costs now, in dollars per hour."""
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
