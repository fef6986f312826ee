"""The rules that hold in every state, checked from the market's public answers alone: no second
market is needed.

Each check yields sentences that begin with the rule's number in `docs/reference/market.md`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from laissez.market import Market
from laissez.market.answers import LeaseView, OrderView
from laissez.market.commands import ALTERNATIVES_MAX, PRICE_MAX, TIME_MAX_US, Alternative
from laissez_check.oracle import Oracle

# The oracle and broken oracles can stand in the market's place.
AnyMarket: TypeAlias = Market | Oracle


class View:
    """Everything asked of the market, once."""

    def __init__(self, market: AnyMarket) -> None:
        self.market = market
        self.leaves = tuple(market.topology.leaves)
        self.orders = market.orders()
        self.leases = market.leases()
        self.lease_at = {lease.leaf: lease for lease in self.leases}
        self.owner = {leaf: market.owner(leaf) for leaf in self.leaves}
        self.rate = {leaf: market.rate(leaf) for leaf in self.leaves}
        self.floor = {leaf: market.floor(leaf) for leaf in self.leaves}
        self.bids = {leaf: bids_on(leaf, self.orders) for leaf in self.leaves}

    def is_held(self, lease: LeaseView) -> bool:
        return lease.hold_until is not None and self.market.now < lease.hold_until


def violations(market: AnyMarket) -> list[str]:
    """Every rule the market breaks now; empty if it is sound."""
    view = View(market)
    checks = (owners, orders, fills, numbers, rates, limits, bills, charges)
    return [sentence for check in checks for sentence in check(view)]


def bids_on(leaf: str, orders: Sequence[OrderView]) -> list[tuple[OrderView, Alternative]]:
    return [
        (order, alternative)
        for order in orders
        for alternative in order.alternatives
        if covers(alternative.scope, leaf)
    ]


def covers(scope: str, leaf: str) -> bool:
    return leaf == scope or leaf.startswith(scope + "/")


def owners(view: View) -> Iterator[str]:
    """M1."""
    count = Counter(lease.leaf for lease in view.leases)
    for leaf in count.keys() - set(view.leaves):
        yield f"M1: a lease of {leaf}, which is no leaf"
    for leaf in view.leaves:
        lease = view.lease_at.get(leaf)
        if count[leaf] > 1:
            yield f"M1: leaf {leaf} has {count[leaf]} leases"
        if view.owner[leaf] != (None if lease is None else lease.tenant):
            yield f"M1: leaf {leaf} is owned by {view.owner[leaf]} but its lease is {lease}"
        if lease is not None and not view.market.is_online(leaf):
            yield f"M1: leaf {leaf} is offline but leased by {lease.tenant}"


def orders(view: View) -> Iterator[str]:
    """M2, and the range of prices."""
    for order in view.orders:
        scopes = [alternative.scope for alternative in order.alternatives]
        if not 1 <= len(scopes) <= ALTERNATIVES_MAX:
            yield f"M2: order {order.order} has {len(scopes)} alternatives"
        if len(set(scopes)) < len(scopes):
            yield f"M2: order {order.order} names a scope twice: {scopes}"
        for alternative in order.alternatives:
            if not 0 <= alternative.bid <= alternative.limit <= PRICE_MAX:
                yield f"M2: order {order.order} has {alternative}"
            if not any(covers(alternative.scope, leaf) for leaf in view.leaves):
                yield f"M2: order {order.order} rests at {alternative.scope}, which is no node"


def fills(view: View) -> Iterator[str]:
    """M2: an order rests or is filled, never both, and is filled once."""
    resting = {(order.tenant, order.order) for order in view.orders}
    filled = Counter((lease.tenant, lease.order) for lease in view.leases)
    for (tenant, order), count in filled.items():
        if (tenant, order) in resting:
            yield f"M2: order {order} of {tenant} rests and is filled"
        if count > 1:
            yield f"M2: order {order} of {tenant} is filled {count} times"


def numbers(view: View) -> Iterator[str]:
    """M10."""
    for kind, rising in (
        ("sequence numbers", [order.sequence for order in view.orders]),
        ("fences", [lease.fence for lease in view.leases]),
    ):
        if not are_rising(rising):
            yield f"M10: {kind} are not rising: {rising}"
    for order in view.orders:
        if not 1 <= order.order <= order.sequence:
            yield f"M10: order {order.order} has sequence number {order.sequence}"
    for tenant in view.market.tenants():
        counts = view.market.counts(tenant)
        orders = [order.order for order in view.market.orders(tenant)]
        leases = [lease.lease for lease in view.market.leases(tenant)]
        for kind, rising, last in (
            ("order", orders, counts.orders_placed),
            ("lease", leases, counts.leases_started),
        ):
            if not are_rising(rising) or (rising and rising[-1] > last):
                yield f"M10: {kind} ids of {tenant} are not rising to {last}: {rising}"
        if (counts.orders_open, counts.leases_live) != (len(orders), len(leases)):
            there = f"{len(orders)} open orders and {len(leases)} leases"
            yield f"M10: {tenant} has {there}, the counts are {counts}"


def are_rising(numbers: list[int]) -> bool:
    return numbers == sorted(set(numbers)) and (not numbers or numbers[0] >= 1)


def rates(view: View) -> Iterator[str]:
    """M5, and that no idle leaf could be taken (M7b)."""
    for leaf in view.leaves:
        owner, floor, rate = view.owner[leaf], view.floor[leaf], view.rate[leaf]
        foreign = [wanted.bid for order, wanted in view.bids[leaf] if order.tenant != owner]
        expected = max(floor, *foreign, 0)
        if rate != expected:
            yield (
                f"M5: leaf {leaf} has rate {rate}, its floor and the bids of others make {expected}"
            )
        if owner is None and view.market.is_online(leaf):
            for order, wanted in view.bids[leaf]:
                if wanted.limit >= floor:
                    yield f"M7b: leaf {leaf} is idle but order {order.order} could take it"


def limits(view: View) -> Iterator[str]:
    """M6, M7a."""
    for lease in view.leases:
        rate, limit = view.rate[lease.leaf], lease.limit
        if limit is None:
            continue
        if not 0 <= limit <= PRICE_MAX:
            yield f"M6: lease {lease.lease} has limit {limit}"
        if rate > limit and not view.is_held(lease):
            yield f"M7a: leaf {lease.leaf} has rate {rate} above its limit {limit}"


def bills(view: View) -> Iterator[str]:
    """M14."""
    market = view.market
    all_bills = [market.bill(tenant) for tenant in market.tenants()]
    total, revenue = sum(bill.total for bill in all_bills), market.revenue()
    if total != revenue:
        yield f"M14: bills sum to {total}, revenue is {revenue}"
    for bill in all_bills:
        charged = [line.charge for line in bill.leases] + [line.charge for line in bill.fees]
        lines = sum(charged) + bill.carried
        if bill.total != lines:
            yield f"M14: the bill of {bill.tenant} says {bill.total}, its lines sum to {lines}"
        for line in bill.leases:
            pieces = sum(one.charge for one in market.price_history(bill.tenant, line.lease))
            if line.charge != pieces:
                said = f"M14: lease {line.lease} is billed {line.charge}"
                yield f"{said}, the pieces of its price history sum to {pieces}"


def charges(view: View) -> Iterator[str]:
    """M17."""
    now, next_deadline = view.market.now, view.market.next_deadline()
    held = [lease.hold_until for lease in view.leases if view.is_held(lease)]
    deadlines = [end for end in held if end is not None and end <= TIME_MAX_US]
    if next_deadline != min(deadlines, default=None):
        yield f"M17: the next deadline is {next_deadline}, the holds end at {deadlines}"
    for lease in view.leases:
        id, rate, charged = lease.lease, lease.rate, lease.charged
        if rate != view.rate[lease.leaf]:
            yield f"M5: lease {id} shows rate {rate}, its leaf has {view.rate[lease.leaf]}"
        may_be_capped = view.is_held(lease) and lease.limit is not None
        if charged > rate or (charged < rate and not may_be_capped):
            yield f"M17: lease {id} is charged {charged} at rate {rate}"
        start, end = lease.start, lease.hold_until
        if start > now or (end is not None and end <= start):
            yield f"M17: lease {id} starts at {start} and is held until {end}, now is {now}"
