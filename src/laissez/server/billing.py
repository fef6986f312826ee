"""Bills: what a tenant owes until now, exactly.

Charges are added as exact integers. Only what is printed is rounded, down, so a total may be more
than its printed lines add up to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from laissez.exchange.accounts import Account
from laissez.exchange.exchange import Exchange
from laissez.market.exposure import committed, leased
from laissez.server.background import Background
from laissez.server.views import reached
from laissez.units import dollars, format_time
from laissez.wire.ids import lease_id, order_id, tag_of
from laissez.wire.rendering import price
from laissez.wire.views import Bill, BillLine

LINES_PER_PIECE = 100  # rendered before other work has its turn: a millisecond at most


class Line(msgspec.Struct, gc=False):
    """A line of a bill with its exact charge."""

    kind: str
    id: str
    scope: str
    start: int
    end: int
    charge: int

    def rendered(self) -> BillLine:
        start, end = format_time(self.start), format_time(self.end)
        return BillLine(self.kind, self.id, self.scope, start, end, dollars(self.charge))


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

    def bill(self, lines: Iterable[BillLine]) -> Bill:
        since, until = format_time(self.since), format_time(self.until)
        total, rate_now = dollars(self.total), price(self.rate_now)
        return Bill(self.tenant, since, until, tuple(lines), total, rate_now)


async def render_bill(owed: Owed, pieces: Background) -> Bill:
    lines: list[BillLine] = []
    async for part in pieces.parts(owed.lines, LINES_PER_PIECE):
        lines += [line.rendered() for line in part]
    return owed.bill(lines)


def running(exchange: Exchange, account: Account, at: int) -> Owed:
    """Everything until `at`. What the books no longer hold in detail is one line, `carried`."""
    until = reached(exchange, at)
    lines, carried = open_lines(exchange, account, None, until)
    since, closed = account.created_at, exchange.closed_before
    if carried:
        lines.insert(0, Line("carried", "", "", since, closed, carried))
    return Owed(account.name, since, until, lines, rate_now(exchange, account))


async def settle(exchange: Exchange, account: Account, pieces: Background) -> None:
    """Compute the charges of a tenant's leases, one at a time: in a busy market a lease takes a
    millisecond. The bill is quick afterwards."""
    async for lease in pieces.of(exchange.market.to_settle(account.name)):
        exchange.market.settle(account.name, lease)


def owed_in_all(exchange: Exchange, account: Account, at: int) -> tuple[int, int]:
    """The total of the running bill until `at` and the rate then, without the lines, of which there
    may be many."""
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
    """The lines of `[since, until)` in the open books, and what is carried forward.

    Rates are constant after the market's last command, so charges go on from there. Without
    `since`, leases and fees count from their beginning, also where that was before the books were
    closed, and `carried` is what those that the books no longer hold were charged.
    """
    market, tag = exchange.market, tag_of(account.name)
    begin = 0 if since is None else since
    lines: dict[int, Line] = {}
    carried = 0

    def lease_line(number: int, leaf: str, start: int, end: int, charge: int) -> Line:
        return Line("lease", lease_id(tag, number), leaf, max(start, begin), end, charge)

    if begin <= min(until, market.now):
        bill = market.bill(account.name, since, None if since is None else min(until, market.now))
        carried = bill.carried
        for one in bill.leases:
            end = until if one.end is None else min(one.end, until)
            lines[one.lease] = lease_line(one.lease, one.leaf, one.start, end, one.charge)
    going_on = max(begin, market.now)
    if going_on < until or since is None:
        for lease in market.leases(account.name):
            new = lease_line(lease.lease, lease.leaf, lease.start, until, 0)
            lines.setdefault(lease.lease, new).charge += lease.charged * max(0, until - going_on)
    if begin < market.now < until:
        for number, leaf in _gone_at_once(exchange, account):
            lines.setdefault(number, lease_line(number, leaf, market.now, market.now, 0))
        lines = dict(sorted(lines.items()))
    fees = [
        Line("fee", order_id(tag, fee.order), fee.scope, start, end, fee.rate * (end - start))
        for fee in market.fees(account.name)
        if (start := max(fee.start, begin)) < (end := min(fee.end, until))
    ]
    return [*lines.values(), *fees], carried


def _gone_at_once(exchange: Exchange, account: Account) -> Iterator[tuple[int, str]]:
    """Leases that began and ended at the market's last instant. The market lists them, at no
    charge, from its next command on; a bill must not reveal whether anyone has sent that command
    since."""
    market = exchange.market
    for number in range(market.counts(account.name).leases_started, 0, -1):
        lease = market.lease(account.name, number)
        if lease is None or lease.start != market.now:
            return
        if lease.end is not None:
            yield number, lease.leaf
