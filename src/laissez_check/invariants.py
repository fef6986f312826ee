"""The rules that hold in every state, checked from the market's public answers alone: no second
market is needed.

Each check yields sentences that begin with the rule's number in `docs/market.md`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from laissez.market.answers import LeaseView, OrderView
from laissez.market.commands import ALTERNATIVES_MAX, PRICE_MAX, TIME_MAX_US, Alternative
from laissez_check.protocol import MarketUnderTest


class View:
    """Everything asked of the market, once."""

    def __init__(self, market: MarketUnderTest) -> None:
        self.market = market
        self.leaves = tuple(market.topology.leaves)
        self.orders = market.orders()
        self.leases = market.leases()
        self.lease_at = {lease.leaf: lease for lease in self.leases}
        self.owner = {leaf: market.owner(leaf) for leaf in self.leaves}
        self.rate = {leaf: market.rate(leaf) for leaf in self.leaves}
        self.floor = {leaf: market.floor(leaf) for leaf in self.leaves}
        self.claims = {leaf: claims_on(leaf, self.orders) for leaf in self.leaves}

    def is_held(self, lease: LeaseView) -> bool:
        return lease.hold_until is not None and self.market.now < lease.hold_until


def violations(market: MarketUnderTest) -> list[str]:
    """Every rule the market breaks now; empty if it is sound."""
    view = View(market)
    checks = (owners, orders, fills, numbers, rates, leased_leaves, idle_leaves, bills, charges)
    return [sentence for check in checks for sentence in check(view)]


def claims_on(leaf: str, open_orders: tuple[OrderView, ...]) -> list[tuple[OrderView, Alternative]]:
    return [
        (order, alternative)
        for order in open_orders
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
    for lease in view.leases:
        if lease.limit is not None and not 0 <= lease.limit <= PRICE_MAX:
            yield f"M6: lease {lease.lease} has limit {lease.limit}"


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
    for kind, numbers in (
        ("sequence numbers", [order.sequence for order in view.orders]),
        ("fences", [lease.fence for lease in view.leases]),
    ):
        if not are_rising(numbers):
            yield f"M10: {kind} are not rising: {numbers}"
    for order in view.orders:
        if not 1 <= order.order <= order.sequence:
            yield f"M10: order {order.order} has sequence number {order.sequence}"
    for tenant in view.market.tenants():
        yield from numbers_of(view, tenant)


def numbers_of(view: View, tenant: str) -> Iterator[str]:
    counts = view.market.counts(tenant)
    orders = [order.order for order in view.market.orders(tenant)]
    leases = [lease.lease for lease in view.market.leases(tenant)]
    for kind, numbers, last in (
        ("order", orders, counts.orders_placed),
        ("lease", leases, counts.leases_started),
    ):
        if not are_rising(numbers) or (numbers and numbers[-1] > last):
            yield f"M10: {kind} ids of {tenant} are not rising to {last}: {numbers}"
    if (counts.orders_open, counts.leases_live) != (len(orders), len(leases)):
        yield (
            f"M10: {tenant} has {len(orders)} open orders and {len(leases)} leases, the counts are"
            f" {counts}"
        )


def are_rising(numbers: list[int]) -> bool:
    return numbers == sorted(set(numbers)) and (not numbers or numbers[0] >= 1)


def rates(view: View) -> Iterator[str]:
    """M5."""
    for leaf in view.leaves:
        foreign = [
            alternative.bid
            for order, alternative in view.claims[leaf]
            if order.tenant != view.owner[leaf]
        ]
        expected = max([view.floor[leaf], *foreign])
        if view.rate[leaf] != expected:
            yield (
                f"M5: leaf {leaf} has rate {view.rate[leaf]}, its floor and the bids of others make"
                f" {expected}"
            )


def leased_leaves(view: View) -> Iterator[str]:
    """M7a."""
    for lease in view.leases:
        if (
            not view.is_held(lease)
            and lease.limit is not None
            and view.rate[lease.leaf] > lease.limit
        ):
            yield (
                f"M7a: leaf {lease.leaf} has rate {view.rate[lease.leaf]} above its limit"
                f" {lease.limit}"
            )


def idle_leaves(view: View) -> Iterator[str]:
    """M7b."""
    for leaf in view.leaves:
        if view.owner[leaf] is None and view.market.is_online(leaf):
            for order, alternative in view.claims[leaf]:
                if alternative.limit >= view.floor[leaf]:
                    yield f"M7b: leaf {leaf} is idle but order {order.order} could take it"


def bills(view: View) -> Iterator[str]:
    """M14."""
    all_bills = [view.market.bill(tenant) for tenant in view.market.tenants()]
    total, revenue = sum(bill.total for bill in all_bills), view.market.revenue()
    if total != revenue:
        yield f"M14: bills sum to {total}, revenue is {revenue}"
    for bill in all_bills:
        lines = (
            sum(line.charge for line in bill.leases)
            + sum(line.charge for line in bill.fees)
            + bill.carried
        )
        if bill.total != lines:
            yield f"M14: the bill of {bill.tenant} says {bill.total}, its lines sum to {lines}"
        for line in bill.leases:
            pieces = sum(
                piece.charge for piece in view.market.price_history(bill.tenant, line.lease)
            )
            if line.charge != pieces:
                yield (
                    f"M14: lease {line.lease} is billed {line.charge}, the pieces of its price"
                    f" history sum to {pieces}"
                )


def charges(view: View) -> Iterator[str]:
    """M17."""
    held = [
        lease.hold_until
        for lease in view.leases
        if lease.hold_until is not None and view.is_held(lease)
    ]
    deadlines = [end for end in held if end <= TIME_MAX_US]
    if view.market.next_deadline() != min(deadlines, default=None):
        yield (
            f"M17: the next deadline is {view.market.next_deadline()}, the holds end at {deadlines}"
        )
    for lease in view.leases:
        if lease.rate != view.rate[lease.leaf]:
            yield (
                f"M5: lease {lease.lease} shows rate {lease.rate}, its leaf has"
                f" {view.rate[lease.leaf]}"
            )
        capped = view.is_held(lease) and lease.limit is not None
        if lease.charged != lease.rate and not (capped and lease.charged < lease.rate):
            yield f"M17: lease {lease.lease} is charged {lease.charged} at rate {lease.rate}"
        if lease.start > view.market.now or (
            lease.hold_until is not None and lease.hold_until <= lease.start
        ):
            yield (
                f"M17: lease {lease.lease} starts at {lease.start} and is held until"
                f" {lease.hold_until}, now is {view.market.now}"
            )
