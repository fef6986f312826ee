"""Bills: what a tenant owes until now, or for a period, exactly.

The market has the detail since the books were last closed; what was charged before lies in statements, line by line. A period may begin and end
anywhere in the open books, and anywhere in closed ones that cuts no line of a statement in two: what is inside a line is no longer known.
Charges are added as exact integers; only what is printed is rounded, down, so a total may be more than its lines as printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile

import msgspec

from laissez.market.exposure import committed, leased
from laissez.market.money import dollars
from laissez.service.accounts import Account
from laissez.service.aside import Pieces
from laissez.service.exchange import Exchange
from laissez.service.statements import Statement
from laissez.service.telling import price
from laissez.service.views import reached
from laissez.wire.problems import Code, ProblemError
from laissez.wire.times import format_time
from laissez.wire.views import Bill, BillLine

read_statement = msgspec.msgpack.Decoder(Statement).decode


class Line(msgspec.Struct):
    """A line of a bill with its exact charge."""

    kind: str
    id: str
    scope: str
    start: int
    end: int
    charge: int


class Owed(msgspec.Struct):
    """A bill before it is put into words."""

    tenant: str
    since: int
    until: int
    lines: list[Line]
    rate_now: int

    @property
    def total(self) -> int:
        return sum(line.charge for line in self.lines)

    def bill(self) -> Bill:
        lines = [
            BillLine(line.kind, line.id, line.scope, format_time(line.start), format_time(line.end), dollars(line.charge)) for line in self.lines
        ]
        return Bill(self.tenant, format_time(self.since), format_time(self.until), tuple(lines), dollars(self.total), price(self.rate_now))


def running(exchange: Exchange, account: Account, at: int) -> Owed:
    """Everything until `at`. What the books no longer hold in detail is one line, `carried`."""
    until = reached(exchange, at)
    lines = _open_lines(exchange, account, 0, until, whole=True)
    carried = exchange.market.bill(account.name).carried
    if carried:
        lines.insert(0, Line("carried", "", "", account.created_at, exchange.closed_before, carried))
    return Owed(account.name, account.created_at, until, lines, rate_now(exchange, account))


def of_period(exchange: Exchange, account: Account, statements: Iterable[Statement], since: int | None, until: int | None, at: int) -> Owed:
    """What was charged within `[since, until)`; from the beginning and until `at` where nothing is said."""
    now = reached(exchange, at)
    until = now if until is None else until
    since = min(account.created_at, until) if since is None else since
    if until > now:
        raise ProblemError(Code.PERIOD_INVALID, f"until: expected {format_time(now)}, which is now, or earlier, found {format_time(until)}")
    if since > until:
        raise ProblemError(Code.PERIOD_INVALID, f"expected since before until, found {format_time(since)} and {format_time(until)}")
    lines = _joined(_closed_lines(statements, since, until))
    begin = max(since, exchange.closed_before)
    if begin < until:
        lines = _joined([*lines, *_open_lines(exchange, account, begin, until, whole=False)])
    return Owed(account.name, since, until, lines, rate_now(exchange, account))


async def settle(exchange: Exchange, account: Account, pieces: Pieces) -> None:
    """Work out what its leases were charged, one at a time: in a busy market a lease takes a millisecond. What asks for the bill then is quick."""
    async for lease in pieces.of(exchange.market.to_settle(account.name)):
        exchange.market.settle(lease)


def owed_in_all(exchange: Exchange, account: Account, at: int) -> tuple[int, int]:
    """The total of the running bill until `at`, and what is charged per hour then: without the lines, of which there may be many."""
    market = exchange.market
    until = reached(exchange, at)
    rate, _ = leased(market, account.name)
    return committed(market, account.name) + rate * (until - market.now) - account.running_fees.to_come(until), rate


def rate_now(exchange: Exchange, account: Account) -> int:
    return sum(lease.charged for lease in exchange.market.leases(account.name))


def _closed_lines(statements: Iterable[Statement], since: int, until: int) -> Iterator[Line]:
    for statement in statements:
        for line in statement.lines:
            if line.end <= since or line.start >= until:
                continue
            if line.start < since or until < line.end:
                raise _cut(statement, since if line.start < since else until)
            yield Line(line.kind, line.id, line.scope, line.start, line.end, int(line.charge))


def _cut(statement: Statement, found: int) -> ProblemError:
    """The nearest times before and after that cut no line of the statement."""
    first = min(line.start for line in statement.lines)
    between = f"expected no time between {format_time(first)} and {format_time(statement.until)}, which are billed as one, found {format_time(found)}"
    return ProblemError(Code.PERIOD_INVALID, f"{between}: use one of the two")


def _open_lines(exchange: Exchange, account: Account, since: int, until: int, whole: bool) -> list[Line]:
    """What the market holds of `[since, until)`, and how it has gone on since the market's last command. `whole`: leases and fees since they began,
    also where that was before the books were closed."""
    market = exchange.market
    known = min(until, market.now)
    charged = {lease.lease: lease for lease in market.leases(account.name)}
    lines: dict[int, Line] = {}
    if since <= known:
        bill = market.bill(account.name, None if whole else since, None if whole else known)
        for line in bill.leases:
            end = until if line.end is None else min(line.end, until)
            lines[line.lease] = Line("lease", account.lease_names[line.lease], line.leaf, max(line.start, since), end, line.charge)
    begin = max(since, market.now)
    for number, lease in charged.items():
        if begin < until or whole:
            line_of = lines.setdefault(number, Line("lease", account.lease_names[number], lease.leaf, max(lease.start, since), until, 0))
            line_of.charge += lease.charged * max(0, until - begin)
    if since < market.now < until:
        lines = _with_gone_at_once(account, market.now, lines)
    fees = [
        Line("fee", account.order_names[fee.order], fee.scope, begin, end, fee.rate * (end - begin))
        for fee in market.fees(account.name)
        if (begin := max(fee.start, since)) < (end := min(fee.end, until))
    ]
    return [*lines.values(), *fees]


def _with_gone_at_once(account: Account, now: int, lines: dict[int, Line]) -> dict[int, Line]:
    """Leases that began and ended at the market's last instant: it lists them, at no charge, from its next command on. Whoever sends that command,
    it must not be told by the bill of another tenant."""
    gone = [account.leases[name] for name in takewhile(lambda name: account.leases[name].ended_at == now, reversed(account.ended))]
    fresh = {one.number: Line("lease", account.lease_names[one.number], one.leaf, now, now, 0) for one in gone if one.started_at == now}
    return dict(sorted((fresh | lines).items())) if fresh else lines


def _joined(lines: Iterable[Line]) -> list[Line]:
    """One line for what goes on from one statement to the next, or into the open books."""
    joined: list[Line] = []
    latest: dict[tuple[str, str, str], Line] = {}
    for line in lines:
        key = (line.kind, line.id, line.scope)
        before = latest.get(key)
        if before is not None and (line.kind == "lease" or before.end == line.start):
            before.end = line.end
            before.charge += line.charge
        else:
            latest[key] = line
            joined.append(line)
    return joined
