"""Bills: what a tenant owes until now, exactly.

Charges are added as exact integers; only what is printed is rounded, down, so a total may be more
than its lines as printed.
"""

from __future__ import annotations

from collections.abc import Iterable

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

LINES_PER_PIECE = 100  # put into words before other work has its turn: a millisecond at most


class Line(msgspec.Struct, gc=False):
    """A line of a bill with its exact charge."""

    kind: str
    id: str
    scope: str
    start: int
    end: int
    charge: int

    def in_words(self) -> BillLine:
        return BillLine(
            self.kind,
            self.id,
            self.scope,
            format_time(self.start),
            format_time(self.end),
            dollars(self.charge),
        )


class Owed(msgspec.Struct):
    """A bill before it is put into words."""

    tenant: str
    since: int
    until: int
    lines: list[Line]
    rate_now: int

    @property
    def total(self) -> int:
        return sum([line.charge for line in self.lines])

    def bill(self, lines: Iterable[BillLine]) -> Bill:
        return Bill(
            self.tenant,
            format_time(self.since),
            format_time(self.until),
            tuple(lines),
            dollars(self.total),
            price(self.rate_now),
        )


async def in_words(owed: Owed, pieces: Background) -> Bill:
    lines: list[BillLine] = []
    async for part in pieces.parts(owed.lines, LINES_PER_PIECE):
        lines += [line.in_words() for line in part]
    return owed.bill(lines)


def running(exchange: Exchange, account: Account, at: int) -> Owed:
    """Everything until `at`. What the books no longer hold in detail is one line, `carried`."""
    until = reached(exchange, at)
    lines, carried = open_lines(exchange, account, None, until)
    if carried:
        lines.insert(
            0, Line("carried", "", "", account.created_at, exchange.closed_before, carried)
        )
    return Owed(account.name, account.created_at, until, lines, rate_now(exchange, account))


async def settle(exchange: Exchange, account: Account, pieces: Background) -> None:
    """Work out what its leases were charged, one at a time: in a busy market a lease takes a
    millisecond. What asks for the bill then is quick."""
    async for lease in pieces.of(exchange.market.to_settle(account.name)):
        exchange.market.settle(account.name, lease)


def owed_in_all(exchange: Exchange, account: Account, at: int) -> tuple[int, int]:
    """The total of the running bill until `at`, and what is charged per hour then: without the
    lines, of which there may be many."""
    market = exchange.market
    until = reached(exchange, at)
    rate, _ = leased(market, account.name)
    return committed(market, account.name) + rate * (
        until - market.now
    ) - account.running_fees.to_come(until), rate


def rate_now(exchange: Exchange, account: Account) -> int:
    return leased(exchange.market, account.name)[0]


def open_lines(
    exchange: Exchange, account: Account, since: int | None, until: int
) -> tuple[list[Line], int]:
    """What the market holds of `[since, until)`, and how it has gone on since the market's last
    command. Without `since`, leases and fees since they began, also where that was before the books
    were closed; and what was charged for those that the books no longer hold."""
    market = exchange.market
    tag = tag_of(account.name)
    begin = 0 if since is None else since
    known = min(until, market.now)
    lines: dict[int, Line] = {}
    carried = 0
    if begin <= known:
        bill = market.bill(account.name, since, None if since is None else known)
        carried = bill.carried
        for line in bill.leases:
            end = until if line.end is None or line.end > until else line.end
            lines[line.lease] = Line(
                "lease",
                lease_id(tag, line.lease),
                line.leaf,
                max(line.start, begin),
                end,
                line.charge,
            )
    going_on = max(begin, market.now)
    if going_on < until or since is None:
        for lease in market.leases(account.name):
            new = Line(
                "lease",
                lease_id(tag, lease.lease),
                lease.leaf,
                max(lease.start, begin),
                until,
                0,
            )
            lines.setdefault(lease.lease, new).charge += lease.charged * max(0, until - going_on)
    if begin < market.now < until:
        lines = _with_gone_at_once(exchange, account, lines)
    fees = [
        Line("fee", order_id(tag, fee.order), fee.scope, start, end, fee.rate * (end - start))
        for fee in market.fees(account.name)
        if (start := max(fee.start, begin)) < (end := min(fee.end, until))
    ]
    return [*lines.values(), *fees], carried


def _with_gone_at_once(
    exchange: Exchange, account: Account, lines: dict[int, Line]
) -> dict[int, Line]:
    """Leases that began and ended at the market's last instant: the market lists them, at no
    charge, from its next command on. A bill must not tell whether somebody has sent that command
    since."""
    market, tag = exchange.market, tag_of(account.name)
    fresh: dict[int, Line] = {}
    for number in range(market.counts(account.name).leases_started, 0, -1):
        lease = market.lease(account.name, number)
        if lease is None or lease.start != market.now:
            break
        if lease.end is not None:
            fresh[number] = Line(
                "lease", lease_id(tag, number), lease.leaf, market.now, market.now, 0
            )
    return dict(sorted((fresh | lines).items())) if fresh else lines
