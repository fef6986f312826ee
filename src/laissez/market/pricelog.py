"""What a node's price has been: the one thing bills, band anchors and invoices are computed from (M14, M15).

A node presses on every leaf below it with the higher of its floor and its best bid. Nobody is pressed by their own bid (M5), so
one number is not enough: the log keeps the price, who makes it, and what the price would be without them. Whoever is billed takes
the second number where they are the one who makes the first. A log grows by one record per change of price, whatever number of
leaves lies below: this is why a root order re-prices them all at once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from laissez.market.tenant import Tenant


class PriceLog:
    """The changes of one node's price in time order. Before the first record the price is 0."""

    __slots__ = ("by", "others", "prices", "revisions", "times")

    def __init__(self) -> None:
        self.times: list[int] = []
        self.revisions: list[int] = []
        self.prices: list[int] = []
        self.by: list[Tenant | None] = []
        self.others: list[int] = []

    def record(self, at: int, revision: int, price: int, by: Tenant | None, other: int) -> None:
        """Note a change. Only the last change of one revision counts: what happened and was undone within one command never was."""
        if self.revisions and self.revisions[-1] == revision:
            self._forget_last()
        if self._last_is(price, by, other):
            return
        self.times.append(at)
        self.revisions.append(revision)
        self.prices.append(price)
        self.by.append(by)
        self.others.append(other)

    def _forget_last(self) -> None:
        self.times.pop()
        self.revisions.pop()
        self.prices.pop()
        self.by.pop()
        self.others.pop()

    def _last_is(self, price: int, by: Tenant | None, other: int) -> bool:
        if not self.times:
            return price == 0
        return self.prices[-1] == price and self.by[-1] is by and self.others[-1] == other

    def pressing(self, index: int, owner: Tenant | None) -> int:
        """The price of record `index` (-1: before the first) as `owner` is pressed by it."""
        if index < 0:
            return 0
        if owner is not None and self.by[index] is owner:
            return self.others[index]
        return self.prices[index]

    def index_at(self, time: int) -> int:
        """The record in force from `time` on (-1: none yet)."""
        return bisect_right(self.times, time) - 1

    def price_before(self, time: int) -> int:
        """The price after everything that happened at times before `time`."""
        return self.pressing(bisect_left(self.times, time) - 1, None)

    def price_at_revision(self, revision: int) -> int:
        """The price right after the change numbered `revision`."""
        return self.pressing(bisect_right(self.revisions, revision) - 1, None)

    def forget_before(self, time: int) -> None:
        """Drop what no question about `time` or later needs: all but the last record before it."""
        keep = bisect_left(self.times, time) - 1
        if keep > 0:
            del self.times[:keep]
            del self.revisions[:keep]
            del self.prices[:keep]
            del self.by[:keep]
            del self.others[:keep]
