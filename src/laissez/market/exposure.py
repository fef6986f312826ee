"""What a tenant has let itself in for: what it is charged now, the most that can become of it, and
what has yet to be paid for bids.

Numbers alone, without a line for each lease: they are asked for again and again while a budget or a
cap is watched.
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
    """What all leases are charged per hour now, and the most that they can be."""
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
    """The most that a live lease of a tenant's can be charged per hour, as its limit is now."""
    live = _live_lease(market, name, lease)
    return _most(live, live.limit)


def most_at(market: Market, name: str, lease: int, limit: int) -> int:
    """The same if its limit were this one."""
    return _most(_live_lease(market, name, lease), limit)


def _most(lease: Lease, limit: int) -> int:
    """While it is held, a limit that was lowered does not make it cheaper (M17). No limit is the
    highest price there is."""
    return min(max(limit, lease.start_limit) if lease.held else limit, PRICE_MAX)


def _live_lease(market: Market, name: str, id: int) -> Lease:
    lease = market._state.tenants[name].live_lease(id)
    assert lease is not None, f"{name} has no live lease {id}"
    return lease


def committed(market: Market, name: str) -> int:
    """What a tenant owes until now, as its bill adds it up, with its fees whole: also what of them
    is yet to come."""
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
    """The fees that cancelling every open order then would bring (M18): the rate of each, and until
    when."""
    tenant = _tenant(market, name)
    if tenant is None:
        return []
    resting = [one for order in tenant.orders.values() for one in order.alternatives]
    return [
        (one.liable, one.liable_until) for one in resting if one.liable and at < one.liable_until
    ]


def at_stake(market: Market, name: str, at: int) -> int:
    """What they come to. There may be thousands of them, and this is asked for with every order
    under a budget."""
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
    """The most that an order with these alternatives may newly bring in fees if it is withdrawn too
    soon: a bid that is placed or raised, whole.

    It will be less where others bid or a floor stands. That is not subtracted: whoever is refused
    an order would learn a price that it may not see (M12), and need not even bid for it.
    """
    if not market._state.with_controls:
        return 0
    nodes, before = market._state.forest.by_path, _bids(market, name, amended)
    raised = [
        one for one in alternatives if one.scope in nodes and one.bid > before.get(one.scope, 0)
    ]
    return sum([one.bid * flash_of(nodes[one.scope]) for one in raised])


def _bids(market: Market, name: str, order: int | None) -> dict[str, int]:
    """By scope, as they are in force."""
    tenant = _tenant(market, name)
    if tenant is None or order is None or order not in tenant.orders:
        return {}
    return {resting.scope.path: resting.bid for resting in tenant.orders[order].alternatives}


def _tenant(market: Market, name: str) -> Tenant | None:
    return market._state.tenants.get(name)
