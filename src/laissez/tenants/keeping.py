"""Which leases to keep, and for how much: what is worth less than it costs is given up, the least
useful first.

Two spare nodes are each worth nothing while the other is there, and together they may be worth a
lot. So leases are given up one at a time, and what is left is valued again each time.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from laissez.tenants.growing import Asked
from laissez.tenants.paths import is_below
from laissez.tenants.pricing import Moment
from laissez.tenants.terms import PRICE_MIN, Terms
from laissez.tenants.view import Held, leaves


class Kept(msgspec.Struct, frozen=True, gc=False):
    """A lease that stays, and the limit it is worth."""

    lease: Held
    limit: int

    @property
    def surplus(self) -> int:
        """What it is worth beyond its cost. What is worth nothing is not kept even for nothing:
        somebody else may have a use for it."""
        charged = self.lease.charged
        return self.limit - (charged if charged > PRICE_MIN else PRICE_MIN)


def keep(moment: Moment, leases: Sequence[Held], terms: Terms) -> list[Kept]:
    """The leases to keep, the most worthwhile first."""
    kept = _valued(moment, leases, terms)
    while kept and kept[-1].surplus < 0:
        kept = _valued(moment, [one.lease for one in kept[:-1]], terms)
    return kept


def consistent(kept: Sequence[Kept], orders: Sequence[Asked]) -> list[Kept]:
    """Nothing is let go for less than is offered for another one in the same place: the order would
    only win it back.

    The hooks of an application may contradict each other so, where nodes are worth more together
    than one by one.
    """
    offered: dict[str, int] = {}
    for asked in orders:
        for one in asked:
            offered[one.scope] = max(one.limit, offered.get(one.scope, 0))
    return [
        Kept(
            one.lease,
            max(
                [
                    one.limit,
                    *[limit for scope, limit in offered.items() if is_below(one.lease.leaf, scope)],
                ]
            ),
        )
        for one in kept
    ]


def _valued(moment: Moment, leases: Sequence[Held], terms: Terms) -> list[Kept]:
    here = moment.holding(leaves(leases))
    kept = [Kept(lease, terms.price(here.keep(lease.leaf))) for lease in leases]
    return sorted(kept, key=lambda one: (-one.surplus, one.lease.leaf))
