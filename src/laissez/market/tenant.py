"""A tenant in the market: its open orders, its leases, and its charges."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from laissez.market.lease import Lease
    from laissez.market.order import Order


class Fee:
    """A flash fee (M18): `rate` from `start` until `end`, for a bid withdrawn from `scope` too
    soon."""

    __slots__ = ("end", "order", "rate", "scope", "start")

    def __init__(self, order: int, scope: str, rate: int, start: int, end: int) -> None:
        self.order = order
        self.scope = scope
        self.rate = rate
        self.start = start
        self.end = end

    def charge(self, since: int, until: int) -> int:
        """The part of the fee within `[since, until)`."""
        return self.rate * max(0, min(self.end, until) - max(self.start, since))


class Tenant:
    __slots__ = (
        "carried",
        "fees",
        "fees_whole",
        "filled",
        "holding",
        "leases",
        "leases_started",
        "name",
        "number",
        "orders",
        "orders_placed",
        "settled",
        "unsettled",
    )

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        # In order of first appearance. Breaks ties between equal bids inside a book, never between
        # orders.
        self.number = number
        self.orders_placed = 0
        self.leases_started = 0
        self.orders: dict[int, Order] = {}  # open ones, by id
        # The sorted positions of the leaves it owns: "does it own one below here?" is a bisection.
        # An array, so that they lie together in memory.
        self.holding: array[int] = array("i")
        # by id: live ones, and ended ones until the books are closed over them
        self.leases: dict[int, Lease] = {}
        self.filled: dict[int, Lease] = {}  # the same, by the order that won it
        self.fees: list[Fee] = []
        self.fees_whole = 0  # their sum, each in full
        self.carried = 0
        # The charges of ended leases on the books, without those in `unsettled`. A cache, so that a
        # tenant's charges need not be added up over all its leases of a day.
        self.settled = 0
        self.unsettled: list[Lease] = []

    def owes(self, fee: Fee) -> None:
        self.fees.append(fee)
        self.fees_whole += fee.charge(fee.start, fee.end)

    def gains(self, position: int) -> None:
        self.holding.insert(bisect_left(self.holding, position), position)

    def loses(self, position: int) -> None:
        del self.holding[bisect_left(self.holding, position)]

    def live_lease(self, id: int) -> Lease | None:
        lease = self.leases.get(id)
        return lease if lease is not None and lease.end < 0 else None

    def owns_between(self, first: int, last: int) -> bool:
        """Whether it owns a leaf at a position in `[first, last)`."""
        index = bisect_left(self.holding, first)
        return index < len(self.holding) and self.holding[index] < last
