"""On demand: so many nodes, whatever they cost up to a price set high. It asks at that price and
keeps at that price."""

from __future__ import annotations

from laissez.tenants.hooks import Wish
from laissez.tenants.templates.footprint import FixedFootprint
from laissez.tenants.templates.template import State


class OnDemandState(State, frozen=True, tag="on_demand"):
    """Nothing is learned."""


class OnDemand(FixedFootprint):
    """`nodes` nodes for up to `max_price` dollars per hour each."""

    form = OnDemandState

    def __init__(self, scopes: Wish, nodes: int, max_price: float, start: int = 0) -> None:
        super().__init__(scopes, nodes, max_price, start)
