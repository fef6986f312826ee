"""Spending within a budget: what could be charged before the next decision must never exceed what
is left.

A lease is never charged more than its limit (M7), so the limits of all leases and the prices of all
orders, together, bound what can be spent per hour. They are held to what is left of the budget over
`guard_s` seconds, less the tolerance by which prices in the market may lag behind. As the budget
runs out, that bound falls: first limits come down and all orders but one go, then limits come down
to what is charged, then leases are given up, those worth least beyond their cost first.
"""

from __future__ import annotations

from collections.abc import Sequence

from laissez.tenants.growing import Asked, best_first
from laissez.tenants.keeping import Kept
from laissez.tenants.terms import Terms
from laissez.units import HOUR_S


def rate_max(terms: Terms, spent: int) -> int | None:
    """The most that may be spent per hour now, in micro-dollars; `None` without a budget."""
    if terms.budget is None:
        return None
    return int(max(0, terms.budget - spent) * (1 - terms.tolerance) * HOUR_S / terms.guard_s)


def affordable(kept: Sequence[Kept], bound: int | None) -> list[Kept]:
    """The leases that can be paid for at what they are charged now, the most worthwhile first."""
    paid = list(kept)
    while paid and bound is not None and sum(one.lease.charged for one in paid) > bound:
        paid.pop()
    return paid


def within(
    kept: Sequence[Kept], orders: Sequence[Asked], bound: int | None
) -> tuple[list[Kept], list[Asked]]:
    """Limits and orders that the budget can bear together.

    Where it cannot bear all of them, every lease and one order more get the same part of what is to
    spare. So what is missing is still asked for, and nothing is let go for less than is offered for
    another.
    """
    if (
        bound is None
        or sum(one.limit for one in kept) + sum(asked[0].limit for asked in orders) <= bound
    ):
        return list(kept), list(orders)
    spare = bound - sum(one.lease.charged for one in kept)
    share = spare // (len(kept) + bool(orders))
    one_order = [
        capped
        for asked in orders[:1]
        if (capped := best_first((one.scope, min(one.limit, share)) for one in asked))
    ]
    return [Kept(one.lease, min(one.limit, one.lease.charged + share)) for one in kept], one_order
