"""The price history of a node: bills, band anchors and invoices are computed from it (M14, M15).

A node presses on every leaf below it with the higher of its floor and its best bid. A tenant's own
bid does not press on it (M5), so one number is not enough: a record keeps the price, the tenant
that makes it alone, and the price without that tenant. The bill of that tenant uses the second
price, every other bill the first. A log grows by one record per change of price, however many
leaves lie below, so an order at a root re-prices them all at once.

A root's price may change a hundred times a second, and a lease may last for weeks. So that a bill
need not read every change, eight records are summed up in a span, eight spans in a larger one, and
so on. A span answers for its whole period unless the price of the rest of the path is between the
span's lowest and highest price.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from laissez.market.tenant import Tenant

SPAN: Final = 8  # records in a span, and spans in the next larger one


class Span:
    """A run of records: its duration, lowest and highest price, the integral of the price, and the
    part of it that each tenant made alone."""

    __slots__ = ("area", "duration", "high", "low", "made_alone")

    def __init__(self) -> None:
        self.duration = 0
        # the lowest price that any tenant was pressed with; -1 before the first record
        self.low = -1
        self.high = 0
        self.area = 0
        # by tenant number: the integral of price less what it would be without them
        self.made_alone: dict[int, int] = {}

    def count_in(self, duration: int, low: int, high: int, area: int) -> None:
        self.duration += duration
        self.low = low if self.low < 0 else min(self.low, low)
        self.high = max(self.high, high)
        self.area += area

    def credit(self, tenant: int, area: int) -> None:
        self.made_alone[tenant] = self.made_alone.get(tenant, 0) + area


class PriceLog:
    """The changes of one node's price in time order. Before the first record the price is 0."""

    __slots__ = ("by", "others", "prices", "revisions", "spans", "times")

    def __init__(self) -> None:
        self.times: list[int] = []
        self.revisions: list[int] = []
        self.prices: list[int] = []
        self.by: list[Tenant | None] = []
        self.others: list[int] = []
        # spans[k][i] sums up the SPAN**(k+1) records from i * SPAN**(k+1) on
        self.spans: list[list[Span]] = []

    def record(self, at: int, revision: int, price: int, by: Tenant | None, other: int) -> None:
        """Record a change. Only the last change of one revision counts: a change that is undone
        within one command never happened."""
        if self.revisions and self.revisions[-1] == revision:
            self._forget_last()
        if self._last_is(price, by, other):
            return
        self.times.append(at)
        self.revisions.append(revision)
        self.prices.append(price)
        self.by.append(by)
        self.others.append(other)
        self._sum_up(len(self.times) - 2)

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

    # -- prices

    def pressing(self, index: int, owner: Tenant | None) -> int:
        """The price of record `index` (-1: before the first) for `owner`."""
        if index < 0:
            return 0
        if owner is not None and self.by[index] is owner:
            return self.others[index]
        return self.prices[index]

    def index_at(self, time: int) -> int:
        """The record in force from `time` on (-1: none yet)."""
        return bisect_right(self.times, time) - 1

    def index_before(self, time: int) -> int:
        """The record in force just before `time` (-1: none yet)."""
        return bisect_left(self.times, time) - 1

    def price_before(self, time: int) -> int:
        """The price after everything that happened at times before `time`."""
        return self.pressing(self.index_before(time), None)

    def price_at_revision(self, revision: int) -> int:
        """The price right after the change numbered `revision`."""
        return self.pressing(bisect_right(self.revisions, revision) - 1, None)

    # -- integrals

    def area(self, since: int, until: int, owner: Tenant, least: int, most: int) -> int:
        """The integral of the price for `owner` over `[since, until)`: at least `least` (the rest
        of the path), at most `most` (a cap)."""
        if least >= most:
            return (until - since) * most
        first = self.index_at(since)
        last = self.index_before(until)
        if first >= last:
            return (until - since) * min(most, max(least, self.pressing(first, owner)))
        head = (self.times[first + 1] - since) * min(most, max(least, self.pressing(first, owner)))
        tail = (until - self.times[last]) * min(most, max(least, self.pressing(last, owner)))
        return head + self._area_of_records(first + 1, last, owner, least, most) + tail

    def _area_of_records(self, start: int, end: int, owner: Tenant, least: int, most: int) -> int:
        """The same for all of records `start <= i < end`, by the largest spans that fit."""
        total = 0
        while start < end:
            level = 0
            size = 1
            while (
                start % (size * SPAN) == 0
                and start + size * SPAN <= end
                and self._has_span(level, start // (size * SPAN))
            ):
                size *= SPAN
                level += 1
            total += self._area_of_span(level, start // size, owner, least, most)
            start += size
        return total

    def _has_span(self, level: int, index: int) -> bool:
        """Whether the span is closed: the one that ends at the last record is not."""
        return level < len(self.spans) and index < len(self.spans[level])

    def _area_of_span(self, level: int, index: int, owner: Tenant, least: int, most: int) -> int:
        if level == 0:
            return (self.times[index + 1] - self.times[index]) * min(
                most, max(least, self.pressing(index, owner))
            )
        span = self.spans[level - 1][index]
        if least >= span.high:
            return least * span.duration
        if most <= span.low:
            return most * span.duration
        if least <= span.low and span.high <= most:
            return span.area - span.made_alone.get(owner.number, 0)
        total = 0
        for part in range(index * SPAN, (index + 1) * SPAN):
            total += self._area_of_span(level - 1, part, owner, least, most)
        return total

    def _sum_up(self, settled: int) -> None:
        """Close the spans that end at record `settled`, which can no longer be undone, so that the
        records before it have their full length."""
        level = 0
        size = SPAN
        while settled > 0 and settled % size == 0:
            if level == len(self.spans):
                self.spans.append([])
            if len(self.spans[level]) == settled // size:
                return  # closed already, when a record that has since been undone followed it
            self.spans[level].append(
                self._span_of_records(settled - size)
                if level == 0
                else self._span_of_spans(level - 1)
            )
            size *= SPAN
            level += 1

    def _span_of_records(self, start: int) -> Span:
        span = Span()
        for i in range(start, start + SPAN):
            duration = self.times[i + 1] - self.times[i]
            span.count_in(duration, self.others[i], self.prices[i], duration * self.prices[i])
            by = self.by[i]
            if by is not None:
                span.credit(by.number, duration * (self.prices[i] - self.others[i]))
        return span

    def _span_of_spans(self, level: int) -> Span:
        larger = Span()
        for span in self.spans[level][-SPAN:]:
            larger.count_in(span.duration, span.low, span.high, span.area)
            for tenant, area in span.made_alone.items():
                larger.credit(tenant, area)
        return larger

    # -- upkeep

    def forget_before(self, time: int) -> None:
        """Drop the records that no question about `time` or later needs: all but the last one
        before it, and that too if its price is 0."""
        keep = self.index_before(time)
        if keep >= 0 and self.prices[keep] == 0:
            keep += 1
        if keep > 0:
            del self.times[:keep]
            del self.revisions[:keep]
            del self.prices[:keep]
            del self.by[:keep]
            del self.others[:keep]
            self.sum_up_again()

    def sum_up_again(self) -> None:
        """Rebuild all spans from the records."""
        self.spans = []
        for settled in range(1, len(self.times) - 1):
            self._sum_up(settled)
