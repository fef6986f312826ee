"""Owners and bills worked out a second time, from nothing but the operator's events: what anyone with that stream could do at home.

It knows the rules M5 (what a leaf's owner is charged), M7 (when the market is at rest), M8 (who wins a leaf), M11 (quotes), M14 (a charge is an
integral), M17 (a held lease is charged at most its cap) and M18 (fees) from `docs/market.md`, in the most literal way, and shares no code with the
market, its bills or the service. Events are plain data, as JSON or MessagePack give them; prices become whole millionths of a dollar per hour, times
whole microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

MICRO = 1_000_000
HOUR_US = 3_600 * MICRO
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micro(text: str) -> int:
    """Millionths from decimal text."""
    exact = Fraction(text) * MICRO
    assert exact.denominator == 1, text
    return exact.numerator


def instant(text: str) -> int:
    """Microseconds since 1970 from RFC 3339 text."""
    return (datetime.fromisoformat(text.replace("Z", "+00:00")) - EPOCH) // timedelta(microseconds=1)


def path(leaf: str) -> Iterator[str]:
    """The nodes from the root to the leaf."""
    parts = leaf.split("/")
    return ("/".join(parts[: depth + 1]) for depth in range(len(parts)))


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
class Budget:
    """What a tenant means to spend, beyond what was owed when it said so, or said so first."""

    charge: int
    owed_before: int
    action: str
    set_at: int
    spent_at: int | None = None
    rates: list[tuple[int, int]] = field(default_factory=list)  # what its tenant was charged lately, each until when
    floors: dict[str, int] = field(default_factory=dict)  # of its tenant's leaves when it was spent


@dataclass
class Books:
    """What one tenant owes."""

    ended: dict[str, int] = field(default_factory=dict)  # the charges of leases that are over
    fees: list[Fee] = field(default_factory=list)


class Auditor:
    """Give it every event in order; then ask about the time of the last one, or a later one before the next."""

    def __init__(self, leaves: Iterable[str]) -> None:
        self.now = 0
        self.n = 0  # the number of the last event taken
        self.online = set(leaves)
        self.leaves = tuple(sorted(self.online))
        self.floors: dict[str, int] = {}
        self.orders: dict[str, tuple[str, dict[str, tuple[int, int]]]] = {}  # id: tenant, and bid and limit by scope
        self.leases: dict[str, Lease] = {}  # by leaf
        self.books: dict[str, Books] = {}
        self.budgets: dict[str, Budget] = {}
        self.doubts: list[str] = []  # where an event contradicts those before it

    # -- the rules

    def floor(self, leaf: str) -> int:
        return max(self.floors.get(node, 0) for node in path(leaf))

    def rate(self, leaf: str) -> int:
        """M5."""
        lease = self.leases.get(leaf)
        owner = None if lease is None else lease.tenant
        above = set(path(leaf))
        bids = [bid for tenant, wanted in self.orders.values() if tenant != owner for scope, (bid, _) in wanted.items() if scope in above]
        return max(self.floor(leaf), *bids, 0)

    def winner(self, leaf: str) -> str | None:
        """M8: the order that wins the leaf if it opens now. Of equals the first: they stand in the order of their numbers."""
        depth = {node: number for number, node in enumerate(path(leaf))}
        offers = [(order, scope, limit) for order, (_, wanted) in self.orders.items() for scope, (_, limit) in wanted.items()]
        claims = [(limit, depth[scope], order) for order, scope, limit in offers if scope in depth]
        limit, _, order = max(claims, key=lambda claim: claim[:2], default=(-1, 0, ""))
        return order if limit >= self.floor(leaf) else None

    def unstable(self, until: int) -> str | None:
        """M7: what should not have lasted from now until a later time."""
        for leaf in self.leaves:
            lease = self.leases.get(leaf)
            if lease is None and leaf in self.online and self.winner(leaf) is not None:
                return f"{leaf} is idle and {self.winner(leaf)} could take it"
            if lease is not None and lease.limit is not None and max(self.now, lease.held_until) < until and self.rate(leaf) > lease.limit:
                return f"{leaf} costs {printed(self.rate(leaf))}, and its limit is {printed(lease.limit)}"
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
        return lease.charge + (rate if cap is None else min(rate, cap)) * (capped_until - self.now) + rate * (at - capped_until)

    def owed(self, tenant: str, at: int) -> int:
        books = self.books.get(tenant, Books())
        lasting = sum(self._charge(leaf, lease, at) for leaf, lease in self.leases.items() if lease.tenant == tenant)
        return sum(books.ended.values()) + lasting + sum(fee.rate * (min(fee.until, at) - fee.start) for fee in books.fees)

    def committed(self, tenant: str) -> int:
        """Owed now, with fees until their end."""
        return self.owed(tenant, self.now) + sum(fee.rate * max(0, fee.until - self.now) for fee in self.books.get(tenant, Books()).fees)

    def owed_by_all(self, at: int) -> int:
        return sum(self.owed(tenant, at) for tenant in self.books)

    def owed_for(self, tenant: str, id: str, at: int) -> int | None:
        """For one lease."""
        lasting = [self._charge(leaf, lease, at) for leaf, lease in self.leases.items() if (lease.tenant, lease.id) == (tenant, id)]
        return lasting[0] if lasting else self.books.get(tenant, Books()).ended.get(id)

    # -- events

    def take(self, numbered: dict[str, Any]) -> None:
        event, tenant = numbered["event"], numbered.get("tenant")
        if numbered["n"] != self.n + 1:
            self.doubts.append(f"event {self.n + 1} of the operator was expected next, {numbered['n']} came")
        self.n = numbered["n"]
        at = instant(event["at"])
        if at < self.now:
            self.doubts.append(f"event {self.n}: time runs backwards, {at} after {self.now}")
        self._pass_time(at)
        self._watch_budgets()
        note = getattr(self, "_" + event["type"].replace(".", "_"), None)
        if note is not None:
            note(tenant, event)

    def _pass_time(self, to: int) -> None:
        unstable = self.unstable(to) if to > self.now else None
        if unstable is not None:
            self.doubts.append(f"event {self.n}: before it, since {self.now}, {unstable}")
        charges = {leaf: self._charge(leaf, lease, to) for leaf, lease in self.leases.items()}
        for leaf, lease in self.leases.items():
            lease.charge = charges[leaf]
        self.now = max(self.now, to)

    def _watch_budgets(self) -> None:
        """None with an action is overspent by more than a second: then it is told, and acted on."""
        for tenant, budget in [(tenant, budget) for tenant, budget in self.budgets.items() if budget.action]:
            rates = sum(self.rate(leaf) for leaf, lease in self.leases.items() if lease.tenant == tenant)
            budget.rates = [(until, rate) for until, rate in budget.rates if until >= self.now - MICRO] + [(self.now, rates)]
            second = max(rate for _, rate in budget.rates) * MICRO
            if budget.spent_at is None and budget.set_at < self.now and self.committed(tenant) - budget.owed_before > budget.charge + second:
                self.doubts.append(f"event {self.n}: {tenant} has spent more than its budget and a second, and nothing was told")
            if budget.spent_at is not None and budget.spent_at < self.now and budget.action == "relinquish" and rates:
                self.doubts.append(f"event {self.n}: {tenant} has leases after its budget was spent, and it was to give them up")
            if budget.spent_at is not None and budget.spent_at < self.now and budget.action == "limits_to_floor" and self._is_dear(tenant, budget):
                self.doubts.append(f"event {self.n}: {tenant} can be charged more than the floor after its budget was spent")

    def _is_dear(self, tenant: str, budget: Budget) -> bool:
        """A lease that is held is charged up to its cap, whatever its limit (M17); one that is not is lost."""
        caps = [(lease.cap, budget.floors[leaf]) for leaf, lease in self.leases.items() if lease.tenant == tenant and lease.held_until > self.now]
        return any(cap is None or cap > floor for cap, floor in caps)

    def _budget_set(self, tenant: str, event: dict[str, Any]) -> None:
        before = self.budgets.pop(tenant, None)
        if event["amount"] is None:
            return
        action = event.get("action", "")
        owed = self.committed(tenant) if action else self.owed(tenant, self.now)
        budget = Budget(micro(event["amount"]) * HOUR_US, owed, action, self.now)
        if event.get("kept") and before is not None:
            budget.owed_before = before.owed_before
            if (before.charge, before.action) == (budget.charge, budget.action):
                budget = before
        self.budgets[tenant] = budget

    def _budget_spent(self, tenant: str, event: dict[str, Any]) -> None:
        budget = self.budgets[tenant]
        budget.spent_at = self.now
        budget.floors = {leaf: self.floor(leaf) for leaf, lease in self.leases.items() if lease.tenant == tenant}

    def _order_placed(self, tenant: str, event: dict[str, Any]) -> None:
        budget = self.budgets.get(tenant)
        if budget is not None and budget.spent_at is not None and budget.action != "warn":
            self.doubts.append(f"event {self.n}: {tenant} has a new order, and its budget is spent")
        self.orders[event["order"]] = tenant, {one["scope"]: (micro(one["bid"]), micro(one["limit"])) for one in event["alternatives"]}
        self.books.setdefault(tenant, Books())

    def _order_amended(self, tenant: str, event: dict[str, Any]) -> None:
        """Which gives it a new number (M10), the last one."""
        self.orders.pop(event["order"], None)
        self._order_placed(tenant, event)

    def _order_cancelled(self, tenant: str, event: dict[str, Any]) -> None:
        del self.orders[event["order"]]

    def _lease_started(self, tenant: str, event: dict[str, Any]) -> None:
        leaf, limit = event["leaf"], micro(event["limit"])
        if leaf in self.leases or leaf not in self.online:
            self.doubts.append(f"event {self.n}: a lease of {leaf} starts while it is leased or offline")
        if self.winner(leaf) != event["order"]:
            self.doubts.append(f"event {self.n}: {event['order']} wins {leaf}, and it should have been {self.winner(leaf)}")
        if self.orders.pop(event["order"], (None,))[0] != tenant:
            self.doubts.append(f"event {self.n}: {event['order']} is no open order of {tenant}")
        held_until = 0 if event["hold_until"] is None else instant(event["hold_until"])
        self.leases[leaf] = Lease(event["lease"], tenant, limit, limit, held_until)
        self._compare_rate(event)

    def _lease_ended(self, tenant: str, event: dict[str, Any]) -> None:
        self._compare_rate(event)
        lease = self.leases.pop(event["leaf"])
        if (lease.tenant, lease.id) != (tenant, event["lease"]):
            self.doubts.append(f"event {self.n}: {event['lease']} of {tenant} ends, and {lease.id} of {lease.tenant} was there")
        self.books[tenant].ended[lease.id] = lease.charge

    def _lease_limit_set(self, tenant: str, event: dict[str, Any]) -> None:
        self.leases[event["leaf"]].limit = None if event["limit"] is None else micro(event["limit"])

    def _fee_charged(self, tenant: str, event: dict[str, Any]) -> None:
        self.books[tenant].fees.append(Fee(micro(event["rate"]), self.now, instant(event["until"])))

    def _floor_set(self, tenant: None, event: dict[str, Any]) -> None:
        self.floors[event["node"]] = micro(event["price"])

    def _resource_offline(self, tenant: None, event: dict[str, Any]) -> None:
        self.online.discard(event["leaf"])

    def _resource_online(self, tenant: None, event: dict[str, Any]) -> None:
        self.online.add(event["leaf"])

    def _compare_rate(self, event: dict[str, Any]) -> None:
        rate = self.rate(event["leaf"])
        if rate != micro(event["rate"]):
            self.doubts.append(f"event {self.n}: {event['type']} tells the rate {event['rate']}, the events before it make it {printed(rate)}")


def printed(millionths: int) -> str:
    return f"{millionths // MICRO}.{millionths % MICRO:06d}"


def dollars(charge: int) -> str:
    """An exact charge in dollars, rounded down to a millionth."""
    return printed(charge // HOUR_US)
