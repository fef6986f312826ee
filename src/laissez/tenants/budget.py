"""Spending within a budget: what could be charged before the next decision must never exceed what is left.

A lease is never charged more than its limit (M7), so the limits of all leases and the prices of all orders, together, bound what can be spent per
hour. They are held to what is left of the budget over `guard_s` seconds, less the tolerance by which prices in the market may lag behind. As the
budget runs out, that bound falls: first orders go, then limits come down to what is charged, then leases are given up, those worth least beyond
their cost first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from laissez.tenants.growing import Asked
from laissez.tenants.keeping import Kept
from laissez.tenants.terms import Terms

HOUR_S: Final = 3600


def rate_max(terms: Terms, spent: int) -> int | None:
    """The most that may be spent per hour now, in micro-dollars; `None` without a budget."""
    if terms.budget is None:
        return None
    return int(max(0, terms.budget - spent) * (1 - terms.tolerance) * HOUR_S / terms.guard_s)


def affordable(kept: Sequence[Kept], bound: int | None) -> list[Kept]:
    """The leases that can be paid for, the most worthwhile first, with limits that the budget can bear."""
    if bound is None:
        return list(kept)
    paid = list(kept)
    while paid and sum(one.lease.charged for one in paid) > bound:
        paid.pop()
    spare = bound - sum(one.lease.charged for one in paid)
    share = spare // len(paid) if paid else 0
    return [Kept(one.lease, min(one.limit, one.lease.charged + share)) for one in paid]


def orders_affordable(orders: Sequence[Asked], kept: Sequence[Kept], bound: int | None) -> list[Asked]:
    """As many of the orders, from the first, as could be filled at their full price."""
    if bound is None:
        return list(orders)
    left = bound - sum(one.limit for one in kept)
    afforded = []
    for asked in orders:
        left -= max(one.limit for one in asked)
        if left < 0:
            break
        afforded.append(asked)
    return afforded
