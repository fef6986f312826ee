"""The market's rules once more, over what the operator's events have told so far: who owns what,
what it costs, who should win it, what is owed.

M5 (what a leaf's owner is charged), M7 (when the market is at rest), M8 (who wins a leaf), M11
(quotes), M13 (why a lease ends), M14 (a charge is an integral), M17 (a held lease is not lost for
price, and charged at most its cap) and M18 (fees) from `docs/market.md`, in the most literal way,
without any code of the market, its bills or the service. Prices are whole millionths of a dollar
per hour, times whole microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction

MICRO = 1_000_000
HOUR_US = 3_600 * MICRO
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
OFFLINE, FLOOR_RAISED = "taken_offline", "floor_raised"
OF_ITS_OWN = ("relinquished", "budget_spent")
FOR_PRICE = ("outbid", FLOOR_RAISED)


def micro(text: str) -> int:
    """Millionths from decimal text."""
    exact = Fraction(text) * MICRO
    assert exact.denominator == 1, text
    return exact.numerator


def instant(text: str) -> int:
    """Microseconds since 1970 from RFC 3339 text."""
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1)


def path(leaf: str) -> Iterator[str]:
    """The nodes from the root to the leaf."""
    parts = leaf.split("/")
    return ("/".join(parts[: depth + 1]) for depth in range(len(parts)))


def printed(millionths: int) -> str:
    return f"{millionths // MICRO}.{millionths % MICRO:06d}"


def dollars(charge: int) -> str:
    """An exact charge in dollars, rounded down to a millionth."""
    return printed(charge // HOUR_US)


@dataclass
class Lease:
    id: str
    tenant: str
    limit_first: int
    limit: int | None
    held_until: int
    charge: int = 0

    @property
    def cap(self) -> int | None:
        """The most that it is charged while held; None for no bound."""
        return None if self.limit is None else max(self.limit, self.limit_first)


@dataclass
class Fee:
    rate: int
    start: int
    until: int


@dataclass
class Books:
    """What one tenant owes."""

    ended: dict[str, int] = field(default_factory=dict)  # the charges of leases that are over
    fees: list[Fee] = field(default_factory=list)


class State:
    """What the events so far make of the market; asked about the time of the last of them, or a
    later one before the next."""

    def __init__(self, leaves: Iterable[str]) -> None:
        self.now = 0
        self.online = set(leaves)
        self.leaves = tuple(sorted(self.online))
        self.floors: dict[str, int] = {}
        self.holds: dict[str, int] = {}  # by node: how long a lease that starts below is held
        # id: tenant, and bid and limit by scope
        self.orders: dict[str, tuple[str, dict[str, tuple[int, int]]]] = {}
        self.leases: dict[str, Lease] = {}  # by leaf
        self.books: dict[str, Books] = {}

    # -- the rules

    def floor(self, leaf: str) -> int:
        return max(self.floors.get(node, 0) for node in path(leaf))

    def rate(self, leaf: str) -> int:
        """M5."""
        lease = self.leases.get(leaf)
        owner = None if lease is None else lease.tenant
        above = set(path(leaf))
        bids = [
            bid
            for tenant, wanted in self.orders.values()
            if tenant != owner
            for scope, (bid, _) in wanted.items()
            if scope in above
        ]
        return max(self.floor(leaf), *bids, 0)

    def winner(self, leaf: str) -> str | None:
        """M8: the order that wins the leaf if it opens now. Of equals the first: they stand in the
        order of their numbers."""
        depth = {node: number for number, node in enumerate(path(leaf))}
        offers = [
            (order, scope, limit)
            for order, (_, wanted) in self.orders.items()
            for scope, (_, limit) in wanted.items()
        ]
        claims = [(limit, depth[scope], order) for order, scope, limit in offers if scope in depth]
        limit, _, order = max(claims, key=lambda claim: claim[:2], default=(-1, 0, ""))
        return order if limit >= self.floor(leaf) else None

    def hold(self, leaf: str) -> int:
        """M17: of a lease that starts now. The setting of the nearest node counts."""
        return next(
            (self.holds[node] for node in reversed(list(path(leaf))) if node in self.holds), 0
        )

    def why_not_ended(self, leaf: str, reason: str) -> str | None:
        """M13: what stands against that reason for the end of a lease. Its owner may give it up at
        any time, for its budget or for nothing."""
        lease, rate = self.leases[leaf], self.rate(leaf)
        if (reason == OFFLINE) == (leaf in self.online):
            return f"the leaf is {'online' if leaf in self.online else 'offline'}"
        if reason in (OFFLINE, *OF_ITS_OWN):
            return None
        if reason not in FOR_PRICE:
            return "there is no such reason"
        if lease.held_until > self.now:
            return f"it is held until {lease.held_until}, and now it is {self.now}"
        if lease.limit is None or rate <= lease.limit:
            return f"its rate is {printed(rate)}, which is not above its limit"
        if (reason == FLOOR_RAISED) != (self.floor(leaf) == rate):
            return f"its floor is {printed(self.floor(leaf))}, its rate {printed(rate)}"
        return None

    def unstable(self, until: int) -> str | None:
        """M7: what should not have lasted from now until a later time."""
        for leaf in self.leaves:
            lease = self.leases.get(leaf)
            if lease is None and leaf in self.online and self.winner(leaf) is not None:
                return f"{leaf} is idle and {self.winner(leaf)} could take it"
            if lease is not None and leaf not in self.online:
                return f"{leaf} is offline and leased"
            if (
                lease is not None
                and lease.limit is not None
                and max(self.now, lease.held_until) < until
                and self.rate(leaf) > lease.limit
            ):
                return (
                    f"{leaf} costs {printed(self.rate(leaf))}, and its limit is"
                    f" {printed(lease.limit)}"
                )
        return None

    def quote(self, tenant: str | None, scope: str, now: int) -> int | None:
        """M11, at a time when holds that end at or before `now` have ended."""
        asks = []
        for leaf in self.online:
            lease = self.leases.get(leaf)
            if scope not in path(leaf) or (lease is not None and lease.tenant == tenant):
                continue
            if lease is None:
                asks.append(self.floor(leaf))
            elif lease.limit is not None and lease.held_until <= now:
                asks.append(lease.limit + 1)
        return min(asks, default=None)

    # -- what is owed at a time, as exact sums of rate times microseconds

    def _charge(self, leaf: str, lease: Lease, at: int) -> int:
        """Up to `at` (M14), while held at most the cap (M17)."""
        if at <= self.now:
            return lease.charge
        rate, cap = self.rate(leaf), lease.cap
        capped_until = min(at, max(self.now, lease.held_until))
        return (
            lease.charge
            + (rate if cap is None else min(rate, cap)) * (capped_until - self.now)
            + rate * (at - capped_until)
        )

    def owed(self, tenant: str, at: int) -> int:
        books = self.books.get(tenant, Books())
        lasting = sum(
            self._charge(leaf, lease, at)
            for leaf, lease in self.leases.items()
            if lease.tenant == tenant
        )
        return (
            sum(books.ended.values())
            + lasting
            + sum(fee.rate * (min(fee.until, at) - fee.start) for fee in books.fees)
        )

    def committed(self, tenant: str) -> int:
        """Owed now, with fees until their end."""
        return self.owed(tenant, self.now) + sum(
            fee.rate * max(0, fee.until - self.now) for fee in self.books.get(tenant, Books()).fees
        )

    def owed_by_all(self, at: int) -> int:
        return sum(self.owed(tenant, at) for tenant in self.books)

    def owed_for(self, tenant: str, id: str, at: int) -> int | None:
        """For one lease."""
        lasting = [
            self._charge(leaf, lease, at)
            for leaf, lease in self.leases.items()
            if (lease.tenant, lease.id) == (tenant, id)
        ]
        return lasting[0] if lasting else self.books.get(tenant, Books()).ended.get(id)
