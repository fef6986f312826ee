"""Which leases to keep, and for how much: what is worth less than it costs is given up, the least useful first.

Two spare nodes are each worth nothing while the other is there, and together they may be worth a lot. So leases are given up one at a time, and
what is left is valued again each time.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from laissez.tenants.growing import Asked
from laissez.tenants.hooks import Application
from laissez.tenants.paths import is_below
from laissez.tenants.pricing import Situation
from laissez.tenants.terms import PRICE_MIN, Terms
from laissez.tenants.view import Held


class Kept(msgspec.Struct, frozen=True, gc=False):
    """A lease that stays, and the limit it is worth."""

    lease: Held
    limit: int

    @property
    def surplus(self) -> int:
        """What it is worth beyond its cost. What is worth nothing is not kept even for nothing: somebody else may have a use for it."""
        return self.limit - max(PRICE_MIN, self.lease.charged)


def keep(app: Application, leases: Sequence[Held], now: int, terms: Terms) -> list[Kept]:
    """The leases to keep, the most worthwhile first."""
    kept = _valued(app, leases, now, terms)
    while kept and kept[-1].surplus < 0:
        kept = _valued(app, [one.lease for one in kept[:-1]], now, terms)
    return kept


def consistent(kept: Sequence[Kept], orders: Sequence[Asked]) -> list[Kept]:
    """Nothing is let go for less than is offered for another one in the same place: the order would only win it back.

    The hooks of an application may contradict each other so, where nodes are worth more together than one by one.
    """
    return [Kept(one.lease, max(one.limit, _offered(one.lease.leaf, orders))) for one in kept]


def _offered(leaf: str, orders: Sequence[Asked]) -> int:
    return max((one.limit for asked in orders for one in asked if is_below(leaf, one.scope)), default=0)


def _valued(app: Application, leases: Sequence[Held], now: int, terms: Terms) -> list[Kept]:
    here = Situation(app, tuple(sorted(lease.leaf for lease in leases)), now)
    kept = [Kept(lease, terms.price(here.keep(lease.leaf))) for lease in leases]
    return sorted(kept, key=lambda one: (-one.surplus, one.lease.leaf))
