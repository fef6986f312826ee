"""A budget that is used up, in the oracle's market: when, and what the service then does for the
tenant by the rules of `docs/api.md`.

Only where that can be said beforehand: the tenant is charged something, nothing that it would owe
for withdrawing its bids counts as well (M18), and no hold ends before. Then a budget of a millionth
of a dollar lasts for as long as that takes.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from laissez.market.commands import AdvanceTime, CancelOrder, Command, Relinquish, SetLimit
from laissez_check.oracle import Oracle

NO_NEW_ORDERS, LIMITS_TO_FLOOR, RELINQUISH = "no_new_orders", "limits_to_floor", "relinquish"
ACTIONS = (NO_NEW_ORDERS, LIMITS_TO_FLOOR, RELINQUISH)
AMOUNT = "0.000001"
CHARGE = 3_600_000_000  # the same in millionths of a dollar per hour, times microseconds


class Spending(msgspec.Struct, frozen=True):
    """A budget with this action is set, and used up at this time."""

    action: str
    until: int


def spending(oracle: Oracle, tenant: str, action: str, at: int) -> Spending | None:
    """From the market's time on; None if nobody can say."""
    rate = sum(lease.charged for lease in oracle.leases(tenant))
    owing = any(
        one.end > at
        for order in oracle.open_orders.values()
        if order.tenant == tenant
        for one in order.liabilities.values()
    )
    if not rate or owing:
        return None
    until = at + -(-CHARGE // rate)
    deadline = oracle.next_deadline()
    return Spending(action, until) if deadline is None or deadline > until else None


def act(
    oracle: Oracle, apply: Callable[[Command, int], None], tenant: str, spent: Spending
) -> None:
    """Orders first: a leaf that is given up is not to be won again by one of them."""
    apply(AdvanceTime(), spent.until)
    for order in oracle.orders(tenant):
        apply(CancelOrder(tenant, order.order), spent.until)
    for view in oracle.leases(tenant) if spent.action != NO_NEW_ORDERS else ():
        lease, floor = oracle.lease_at[view.leaf], oracle.floor(view.leaf)
        assert lease is not None
        # held, it is charged up to that whatever its limit (M17)
        is_dear = oracle.is_held(lease) and lease.limit_first > floor
        if spent.action == RELINQUISH or is_dear:
            apply(Relinquish(tenant, view.lease, True), spent.until)
        else:
            apply(
                SetLimit(
                    tenant, view.lease, floor if lease.limit is None else min(lease.limit, floor)
                ),
                spent.until,
            )
