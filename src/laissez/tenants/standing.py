"""Keeping the orders in the market in step with those that are wanted, with as few commands as that
takes.

Orders are alike but for their alternatives, so it does not matter which one stands for which wish:
one that is near enough to a wanted one is left alone and keeps its place in the queue (M10); of the
rest, as many as possible are amended, and only the difference is placed or cancelled.
"""

from __future__ import annotations

from collections.abc import Sequence

from laissez.market.commands import AmendOrder, CancelOrder, PlaceOrder
from laissez.tenants.growing import Asked
from laissez.tenants.terms import Terms
from laissez.tenants.view import Resting
from laissez.units import SECOND_US


def in_step(
    tenant: str, resting: Sequence[Resting], wanted: Sequence[Asked], now: int, terms: Terms
) -> list[CancelOrder | AmendOrder | PlaceOrder]:
    """Cancel first, so that what is no longer wanted is not won meanwhile; then amend; then
    place."""
    astray, missing = list(resting), []
    for asked in wanted:
        standing = next((order for order in astray if _stands_for(order, asked, now, terms)), None)
        if standing is None:
            missing.append(asked)
        else:
            astray.remove(standing)
    both = min(len(astray), len(missing))
    return [
        *(CancelOrder(tenant, order.order) for order in astray[both:]),
        *(
            AmendOrder(tenant, order.order, asked)
            for order, asked in zip(astray, missing, strict=False)
        ),
        *(PlaceOrder(tenant, asked) for asked in missing[both:]),
    ]


def _stands_for(order: Resting, asked: Asked, now: int, terms: Terms) -> bool:
    """Whether the order will do: the same places, prices that hardly differ, and no bid that a band
    cut down and that could be tried again."""
    limits = {alternative.scope: alternative.limit for alternative in order.alternatives}
    if limits.keys() != {alternative.scope for alternative in asked}:
        return False
    if any(
        not terms.is_near(alternative.limit, limits[alternative.scope]) for alternative in asked
    ):
        return False
    clipped = any(alternative.bid < alternative.limit for alternative in order.alternatives)
    return not clipped or now - order.since < terms.retry_s * SECOND_US
