"""A tenant's exposure: its charge per hour now, the highest that it can become, and the fees that
its bids may still cost.

Totals only, without a line per lease: budgets and caps need them very often.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from laissez.market.charges import charge_of_ended, charge_until
from laissez.market.commands import PRICE_MAX, Alternative
from laissez.market.controls import flash_of

if TYPE_CHECKING:
    from laissez.market.lease import Lease
    from laissez.market.market import Market
    from laissez.market.tenant import Tenant


def leased(market: Market, name: str) -> tuple[int, int]:
    """The charge per hour of all leases now, and the highest possible one."""
    tenant = _tenant(market, name)
    if tenant is None:
        return 0, 0
    leaves = market._state.forest.leaves
    charged = worst = 0
    for position in tenant.holding:
        lease = leaves[position].lease
        assert lease is not None
        charged += min(leaves[position].rate(tenant), lease.cap())
        worst += _most(lease, lease.limit)
    return charged, worst


def most_of(market: Market, name: str, lease: int) -> int:
    """The most that a live lease can be charged per hour with its present limit."""
    live = _live_lease(market, name, lease)
    return _most(live, live.limit)


def most_at(market: Market, name: str, lease: int, limit: int) -> int:
    """The same with another limit."""
    return _most(_live_lease(market, name, lease), limit)


def _most(lease: Lease, limit: int) -> int:
    """A lower limit does not make a held lease cheaper (M17). Without a limit, the highest price
    counts."""
    return min(max(limit, lease.start_limit) if lease.held else limit, PRICE_MAX)


def _live_lease(market: Market, name: str, id: int) -> Lease:
    lease = market._state.tenants[name].live_lease(id)
    assert lease is not None, f"{name} has no live lease {id}"
    return lease


def committed(market: Market, name: str) -> int:
    """A tenant's charges until now, as its bill adds them up, with each fee in full, also the part
    that is yet to accrue."""
    tenant = _tenant(market, name)
    if tenant is None:
        return 0
    leaves = market._state.forest.leaves
    total = tenant.carried + charge_of_ended(tenant) + tenant.fees_whole
    for position in tenant.holding:
        lease = leaves[position].lease
        assert lease is not None
        total += charge_until(lease, market._state.now)
    return total


def liabilities(market: Market, name: str, at: int) -> list[tuple[int, int]]:
    """The fees for cancelling all open orders at that time (M18), as pairs of rate and end."""
    tenant = _tenant(market, name)
    if tenant is None:
        return []
    resting = [one for order in tenant.orders.values() for one in order.alternatives]
    return [
        (one.liable, one.liable_until) for one in resting if one.liable and at < one.liable_until
    ]


def at_stake(market: Market, name: str, at: int) -> int:
    """The sum of those fees. It is computed by itself because there may be thousands of them, and
    every order under a budget needs it."""
    tenant = _tenant(market, name)
    total = 0
    if tenant is not None:
        for order in tenant.orders.values():
            for resting in order.alternatives:
                if resting.liable and at < resting.liable_until:
                    total += resting.liable * (resting.liable_until - at)
    return total


def at_risk(
    market: Market, name: str, alternatives: tuple[Alternative, ...], amended: int | None = None
) -> int:
    """The most new fees that an order with these alternatives may cost if it is withdrawn too soon:
    bids that are placed or raised count in full.

    They will cost less where others bid or a floor stands. That is not subtracted, because a
    refusal would then reveal a price that the tenant may not see (M12).
    """
    if not market._state.with_controls:
        return 0
    nodes, before = market._state.forest.by_path, _bids(market, name, amended)
    raised = [
        one for one in alternatives if one.scope in nodes and one.bid > before.get(one.scope, 0)
    ]
    return sum([one.bid * flash_of(nodes[one.scope]) for one in raised])


def _bids(market: Market, name: str, order: int | None) -> dict[str, int]:
    """The bids in force, by scope."""
    tenant = _tenant(market, name)
    if tenant is None or order is None or order not in tenant.orders:
        return {}
    return {resting.scope.path: resting.bid for resting in tenant.orders[order].alternatives}


def _tenant(market: Market, name: str) -> Tenant | None:
    return market._state.tenants.get(name)
