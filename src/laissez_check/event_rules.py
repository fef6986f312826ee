"""The market's rules once more, over the operator's events so far: owners, winners, prices and
debts.

M7 (when the market is at rest), M8 (who wins a leaf), M11 (quotes), M13 (why a lease ends), M17 (a
held lease is not lost for price) and M18 (fees) from `docs/reference/market.md`, in the most
literal way. Rates and charges (M4, M5, M14, M17) are those of the audit of bills. Prices are whole
millionths of a dollar per hour, times whole microseconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from laissez_check.bills.amounts import decimal
from laissez_check.bills.prices import Fee, Lease, Prices, path_of

OFFLINE, FLOOR_RAISED = "taken_offline", "floor_raised"
OF_ITS_OWN = ("relinquished", "budget_spent")
FOR_PRICE = ("outbid", FLOOR_RAISED)


class Order(NamedTuple):
    tenant: str
    wanted: dict[str, tuple[int, int]]  # bid and limit by scope


class State:
    """The market as the events so far make it, at the time of the last of them."""

    def __init__(self, leaves: Iterable[str]) -> None:
        self.leaves = dict.fromkeys(sorted(leaves)).keys()
        self.online = set(self.leaves)
        self.prices = Prices()
        self.holds: dict[str, int] = {}  # by node: how long a lease that starts below is held
        self.orders: dict[str, Order] = {}  # by id, in the order of their sequence numbers
        self.leases: dict[str, Lease] = {}  # by leaf
        # All leases so far, by tenant.
        self.leased: defaultdict[str, dict[str, Lease]] = defaultdict(dict)
        self.fees: defaultdict[str, list[Fee]] = defaultdict(list)

    @property
    def now(self) -> int:
        return self.prices.now

    # -- changes

    def add_order(self, id: str, order: Order) -> None:
        self.orders[id] = order
        for scope, (bid, _) in order.wanted.items():
            self.prices.add(scope, order.tenant, bid)

    def remove_order(self, id: str) -> Order:
        order = self.orders.pop(id)
        for scope, (bid, _) in order.wanted.items():
            self.prices.remove(scope, order.tenant, bid)
        return order

    def start_lease(self, id: str, tenant: str, leaf: str, limit: int, held_until: int) -> None:
        lease = Lease(id, tenant, leaf, self.now, limit, held_until)
        self.leases[leaf] = self.leased[tenant][id] = lease
        self.prices.start(lease)

    # -- the rules

    def floor(self, leaf: str) -> int:
        return self.prices.floor(leaf)

    def rate(self, leaf: str) -> int:
        lease = self.leases.get(leaf)
        return self.prices.rate(leaf, None if lease is None else lease.tenant)

    def winner(self, leaf: str) -> str | None:
        """M8: the order that wins the leaf if it opens now. Of equals the first: they stand in the
        order of their numbers."""
        claims = [
            (limit, scope.count("/"), id)
            for id, order in self.orders.items()
            for scope, (_, limit) in order.wanted.items()
            if leaf == scope or leaf.startswith(scope + "/")
        ]
        limit, _, id = max(claims, key=lambda claim: claim[:2], default=(-1, 0, ""))
        return id if limit >= self.floor(leaf) else None

    def hold(self, leaf: str) -> int:
        """M17: of a lease that starts now. The setting of the nearest node counts."""
        return next((self.holds[node] for node in path_of(leaf) if node in self.holds), 0)

    def why_not_ended(self, leaf: str, reason: str) -> str | None:
        """M13: the objection to that reason for the end of a lease. Its owner may give it up at any
        time, for its budget or for nothing."""
        lease, rate, floor = self.leases[leaf], self.rate(leaf), self.floor(leaf)
        if (reason == OFFLINE) == (leaf in self.online):
            return f"the leaf is {'online' if leaf in self.online else 'offline'}"
        if reason in (OFFLINE, *OF_ITS_OWN):
            return None
        if reason not in FOR_PRICE:
            return "there is no such reason"
        if lease.held_until > self.now:
            return f"it is held until {lease.held_until}, and now it is {self.now}"
        if lease.limit is None or rate <= lease.limit:
            return f"its rate is {decimal(rate)}, which is not above its limit"
        if (reason == FLOOR_RAISED) != (floor == rate):
            return f"its floor is {decimal(floor)}, its rate {decimal(rate)}"
        return None

    def unstable(self, until: int) -> str | None:
        """M7: a state that should not have lasted from now until a later time."""
        for leaf in self.leaves:
            lease, is_online = self.leases.get(leaf), leaf in self.online
            if lease is None:
                if is_online and (winner := self.winner(leaf)) is not None:
                    return f"{leaf} is idle and {winner} could take it"
            elif not is_online:
                return f"{leaf} is offline and leased"
            elif lease.limit is not None and max(self.now, lease.held_until) < until:
                rate = self.rate(leaf)
                if rate > lease.limit:
                    return f"{leaf} costs {decimal(rate)}, and its limit is {decimal(lease.limit)}"
        return None

    def quote(self, tenant: str | None, scope: str, now: int) -> int | None:
        """M11, at a time when holds that end at or before `now` have ended."""
        asks = []
        for leaf in self.online:
            lease = self.leases.get(leaf)
            if scope not in path_of(leaf) or (lease is not None and lease.tenant == tenant):
                continue
            if lease is None:
                asks.append(self.floor(leaf))
            elif lease.limit is not None and lease.held_until <= now:
                asks.append(lease.limit + 1)
        return min(asks, default=None)

    # -- debts at a time before the next event, as exact sums of rate times microseconds

    def owed(self, tenant: str, at: int) -> int:
        leases = (self.prices.charge_at(lease, at) for lease in self.leased[tenant].values())
        return sum(leases) + sum(fee.charge(at) for fee in self.fees[tenant])

    def committed(self, tenant: str) -> int:
        """Owed now, with fees until their end."""
        fees = self.fees[tenant]
        return self.owed(tenant, self.now) + sum(
            fee.charge(fee.until) - fee.charge(self.now) for fee in fees
        )

    def owed_by_all(self, at: int) -> int:
        return sum(self.owed(tenant, at) for tenant in {**self.leased, **self.fees})

    def owed_for(self, tenant: str, id: str, at: int) -> int | None:
        """For one lease."""
        lease = self.leased[tenant].get(id)
        return None if lease is None else self.prices.charge_at(lease, at)
