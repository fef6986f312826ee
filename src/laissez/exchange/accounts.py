"""Accounts of tenants, with caches for checking their caps and budgets quickly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Final

from laissez.exchange.budgets import BudgetRecord
from laissez.exchange.commands import Caps, OwnCaps
from laissez.market.commands import Alternative

NO_CAPS: Final = OwnCaps()


class OpenLimits:
    """The highest limit of each open order of a tenant, and their sum: a cache of the market's
    state that makes checking caps quick."""

    __slots__ = ("orders", "total")

    def __init__(self) -> None:
        self.orders: dict[int, int] = {}
        self.total = 0

    def put(self, order: int, alternatives: Sequence[Alternative]) -> None:
        self.remove(order)
        limit = self.orders[order] = highest_limit(alternatives)
        self.total += limit

    def remove(self, order: int) -> None:
        self.total -= self.orders.pop(order, 0)


def highest_limit(alternatives: Sequence[Alternative]) -> int:
    """An order wins one leaf, and pays at most this."""
    return max([one.limit for one in alternatives], default=0)


class RunningFees:
    """The running flash fees (M18) of one tenant, and their sum: a cache of the market's state,
    because there may be tens of thousands.

    Callers ask about ever later times, so each call drops the fees that have ended.
    """

    __slots__ = ("_by_end", "_per_hour", "_until_end")

    def __init__(self, fees: Iterable[tuple[int, int]] = ()) -> None:
        self._by_end = list(fees)  # a heap of (end, rate)
        heapify(self._by_end)
        self._per_hour = sum([rate for _, rate in self._by_end])
        # as if all fees had run since time 0
        self._until_end = sum([rate * until for until, rate in self._by_end])

    def add(self, until: int, rate: int, at: int) -> None:
        self._forget(at)  # otherwise ended fees would pile up until the next question
        heappush(self._by_end, (until, rate))
        self._per_hour += rate
        self._until_end += rate * until

    def per_hour(self, at: int) -> int:
        self._forget(at)
        return self._per_hour

    def to_come(self, at: int) -> int:
        """The exact charge from `at` until all fees have ended."""
        self._forget(at)
        return self._until_end - self._per_hour * at

    def _forget(self, at: int) -> None:
        while self._by_end and self._by_end[0][0] <= at:
            until, rate = heappop(self._by_end)
            self._per_hour -= rate
            self._until_end -= rate * until

    def __len__(self) -> int:
        return len(self._by_end)


class Account:
    """A tenant's account. It is made from a `snapshot.SavedAccount`; everything else is derived
    from that and the market."""

    def __init__(
        self,
        name: str,
        created_at: int,
        caps: Caps,
        events: int = 0,
        session_orders: Iterable[int] = (),
        budget: BudgetRecord | None = None,
        own_caps: OwnCaps = NO_CAPS,
    ) -> None:
        self.name = name
        self.created_at = created_at
        self.caps = caps
        self.events = events  # the number of the latest event
        self.session_orders: set[int] = set(session_orders)  # cancelled when their session ends
        self.budget = budget
        self.own_caps = own_caps
        self.running_fees = RunningFees()
        self.open_limits: OpenLimits | None = None  # made when a cap is first checked
        # The lower of the operator's caps and the tenant's own; set by `caps.put_in_force`.
        self.rate_max: int | None = None
        self.worst_rate_max: int | None = None
        self.is_capped = False
