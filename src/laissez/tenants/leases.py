"""The leases to keep, and the limit of each, within the budget.

Two spare nodes are each worth nothing while the other is held, and together they may be worth a
lot. So leases are given up one at a time, the least useful first, and the rest is valued again each
time.

A lease is never charged more than its limit (M7), so the limits of all leases and the prices of all
orders together bound what can be spent per hour. They are held to what is left of the budget over
`guard_s` seconds, less the tolerance by which prices in force may lag behind. As the budget runs
out that bound falls: first limits come down and all orders but one go, then limits come down to
what is charged, then leases are given up, those worth least beyond their cost first.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from laissez.tenants.orders import Alternatives, dearest_first
from laissez.tenants.paths import is_below
from laissez.tenants.pricing import Moment
from laissez.tenants.settings import PRICE_MIN, AdapterSettings
from laissez.tenants.view import Held, leaves
from laissez.units import HOUR_S


class Kept(msgspec.Struct, frozen=True, gc=False):
    """A lease to keep, and the limit that it is worth."""

    lease: Held
    limit: int

    @property
    def surplus(self) -> int:
        """The limit beyond the cost. A node that is worth nothing is not kept even for free:
        another tenant may have a use for it."""
        charged = self.lease.charged
        return self.limit - (charged if charged > PRICE_MIN else PRICE_MIN)


def keep(moment: Moment, leases: Sequence[Held], settings: AdapterSettings) -> list[Kept]:
    """The leases that are worth their cost, the most worthwhile first."""
    kept = _valued(moment, leases, settings)
    while kept and kept[-1].surplus < 0:
        kept = _valued(moment, [one.lease for one in kept[:-1]], settings)
    return kept


def _valued(moment: Moment, leases: Sequence[Held], settings: AdapterSettings) -> list[Kept]:
    here = moment.holding(leaves(leases))
    kept = [Kept(lease, settings.price(here.keep(lease.leaf))) for lease in leases]
    return sorted(kept, key=lambda one: (-one.surplus, one.lease.leaf))


def raised_to_offers(kept: Sequence[Kept], orders: Sequence[Alternatives]) -> list[Kept]:
    """Limits no lower than what an order offers for another node in the same place: the order would
    only win the node back.

    The hooks of an application may contradict each other so, where nodes are worth more together
    than one by one.
    """
    offered: dict[str, int] = {}
    for alternatives in orders:
        for offer in alternatives:
            offered[offer.scope] = max(offer.limit, offered.get(offer.scope, 0))
    raised = []
    for one in kept:
        offers = [limit for scope, limit in offered.items() if is_below(one.lease.leaf, scope)]
        raised.append(Kept(one.lease, max([one.limit, *offers])))
    return raised


def rate_max(settings: AdapterSettings, spent: int) -> int | None:
    """The most that may be spent per hour now, in micro-dollars; `None` without a budget."""
    if settings.budget is None:
        return None
    left = max(0, settings.budget - spent) * (1 - settings.tolerance)
    return int(left * HOUR_S / settings.guard_s)


def affordable(kept: Sequence[Kept], rate: int | None) -> list[Kept]:
    """The most worthwhile leases whose present cost is within `rate`."""
    paid = list(kept)
    while paid and rate is not None and sum(one.lease.charged for one in paid) > rate:
        paid.pop()
    return paid


def worst_rate(kept: Sequence[Kept], orders: Sequence[Alternatives]) -> int:
    """The most that these leases and orders could cost per hour."""
    return sum(one.limit for one in kept) + sum(order[0].limit for order in orders)


def within_rate(
    kept: Sequence[Kept], orders: Sequence[Alternatives], rate: int | None
) -> tuple[list[Kept], list[Alternatives]]:
    """Lower limits and orders until they cannot cost more than `rate` together.

    If they could, every lease and one order share the rest of the rate equally. So what is missing
    is still asked for, and no node is let go for less than is offered for another.
    """
    if rate is None or worst_rate(kept, orders) <= rate:
        return list(kept), list(orders)
    spare = rate - sum(one.lease.charged for one in kept)
    share = spare // (len(kept) + bool(orders))
    lowered = [Kept(one.lease, min(one.limit, one.lease.charged + share)) for one in kept]
    one_order = [
        alternatives
        for order in orders[:1]
        if (alternatives := dearest_first({one.scope: min(one.limit, share) for one in order}))
    ]
    return lowered, one_order
