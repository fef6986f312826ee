"""Bills: a tenant's exact charges until now, and within open books.

Charges are added as exact integers. Only the printed amounts are rounded, down, so a total may
exceed the sum of its printed lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from laissez.exchange.accounts import Account
from laissez.exchange.exchange import Exchange
from laissez.exchange.statements import FEE, LEASE
from laissez.market.exposure import committed, leased
from laissez.server.background import Background
from laissez.server.views import reached
from laissez.units import dollars, format_time
from laissez.wire.ids import lease_id, order_id, tag_of
from laissez.wire.rendering import price
from laissez.wire.views import Bill, BillLine

CARRIED = "carried"  # a line's kind, beside those of statements
LINES_PER_PIECE = 100  # rendered without a pause: a millisecond at most


class Line(msgspec.Struct, gc=False):
    """A line of a bill with its exact charge. `number` is that of the lease, or of the order that a
    fee is for."""

    kind: str
    number: int
    scope: str
    start: int
    end: int
    charge: int


class Owed(msgspec.Struct):
    """A bill before it is rendered."""

    tenant: str
    since: int
    until: int
    lines: list[Line]
    rate_now: int

    @property
    def total(self) -> int:
        return sum([line.charge for line in self.lines])

    def rendered(self, line: Line) -> BillLine:
        return BillLine(
            line.kind,
            _ID_OF[line.kind](tag_of(self.tenant), line.number),
            line.scope,
            format_time(line.start),
            format_time(line.end),
            dollars(line.charge),
        )

    def bill(self, lines: Iterable[BillLine]) -> Bill:
        since, until = format_time(self.since), format_time(self.until)
        total, rate_now = dollars(self.total), price(self.rate_now)
        return Bill(self.tenant, since, until, tuple(lines), total, rate_now)


_ID_OF: dict[str, Callable[[str, int], str]] = {
    LEASE: lease_id,
    FEE: order_id,
    CARRIED: lambda tag, number: "",
}


async def render_bill(owed: Owed, pieces: Background) -> Bill:
    lines: list[BillLine] = []
    async for part in pieces.parts(owed.lines, LINES_PER_PIECE):
        lines += [owed.rendered(line) for line in part]
    return owed.bill(lines)


def running(exchange: Exchange, account: Account, at: int) -> Owed:
    """All charges until `at`. Leases and fees that closed books no longer list are one line,
    `carried`."""
    until = reached(exchange, at)
    lines, carried = open_lines(exchange, account, None, until)
    since, closed = account.created_at, exchange.closed_before
    if carried:
        lines.insert(0, Line(CARRIED, 0, "", since, closed, carried))
    return Owed(account.name, since, until, lines, rate_now(exchange, account))


async def settle(exchange: Exchange, account: Account, pieces: Background) -> None:
    """Compute the charges of a tenant's leases one at a time, because in a busy market each takes a
    millisecond. The bill is quick afterwards."""
    async for lease in pieces.of(exchange.market.to_settle(account.name)):
        exchange.market.settle(account.name, lease)


def owed_in_all(exchange: Exchange, account: Account, at: int) -> tuple[int, int]:
    """The total of the running bill until `at` and the rate then, without listing its lines."""
    market = exchange.market
    until = reached(exchange, at)
    rate = rate_now(exchange, account)
    total = committed(market, account.name) + rate * (until - market.now)
    return total - account.running_fees.to_come(until), rate


def rate_now(exchange: Exchange, account: Account) -> int:
    return leased(exchange.market, account.name)[0]


def open_lines(
    exchange: Exchange, account: Account, since: int | None, until: int
) -> tuple[list[Line], int]:
    """The lines of `[since, until)` in the open books, and the amount carried forward.

    Rates are constant after the market's latest command, so charges continue from there. Without
    `since`, each lease and fee counts from its beginning, even if the books were closed later, and
    the amount carried forward has the charges of all that the books no longer list.

    Lines without a charge are left out. The market lists a lease that began and ended at its latest
    instant only after its next command, and a bill must not reveal whether there was one.
    """
    market, name, begin = exchange.market, account.name, since or 0
    lines: dict[int, Line] = {}
    carried = 0
    if begin <= min(until, market.now):
        bill = market.bill(name, since, min(until, market.now))
        carried = bill.carried
        for one in bill.leases:
            start, end = max(one.start, begin), until if one.end is None else min(one.end, until)
            lines[one.lease] = Line(LEASE, one.lease, one.leaf, start, end, one.charge)
    going_on = max(begin, market.now)
    for lease in market.leases(name) if going_on < until else ():
        new = Line(LEASE, lease.lease, lease.leaf, max(lease.start, begin), until, 0)
        lines.setdefault(lease.lease, new).charge += lease.charged * (until - going_on)
    fees = [
        Line(FEE, fee.order, fee.scope, start, end, fee.rate * (end - start))
        for fee in market.fees(name)
        if (start := max(fee.start, begin)) < (end := min(fee.end, until))
    ]
    return [line for line in [*lines.values(), *fees] if line.charge], carried
