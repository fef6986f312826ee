"""Bills of a period: what a tenant was charged from some time until another, exactly.

The market has the detail since the books were last closed; what was charged before lies in
statements, line by line. A period may begin and end anywhere in the open books, and anywhere in
closed ones that cuts no line of a statement in two: what is inside a line is no longer known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from laissez.exchange.accounts import Account
from laissez.exchange.exchange import Exchange
from laissez.exchange.statements import LEASE, Statement, StatementLine
from laissez.market.commands import TIME_MAX_US
from laissez.server.background import Background
from laissez.server.billing import LINES_PER_PIECE, Line, Owed, open_lines, rate_now
from laissez.server.views import reached
from laissez.units import format_time
from laissez.wire.ids import lease_id, order_id, tag_of
from laissez.wire.problems import Code, ProblemError


class Joined:
    """Lines in their order; one for what goes on from one statement to the next, or into the open
    books."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._latest: dict[tuple[str, str, str], Line] = {}

    def add_all(self, lines: Iterable[Line]) -> None:
        for line in lines:
            key = (line.kind, line.id, line.scope)
            before = self._latest.get(key)
            if before is not None and (line.kind == "lease" or before.end == line.start):
                before.end = line.end
                before.charge += line.charge
            else:
                self._latest[key] = line
                self.lines.append(line)


def check_period(exchange: Exchange, since: int | None, until: int | None, at: int) -> None:
    now = reached(exchange, at)
    if until is not None and until > now:
        raise ProblemError(
            Code.PERIOD_INVALID,
            f"until: expected {format_time(now)}, which is now, or earlier, found"
            f" {format_time(until)}",
        )
    if since is not None and since > (now if until is None else until):
        found = f"{format_time(since)} and {format_time(now if until is None else until)}"
        raise ProblemError(Code.PERIOD_INVALID, f"expected since before until, found {found}")


def of_period(
    exchange: Exchange,
    account: Account,
    closed: Joined,
    since: int | None,
    until: int | None,
    at: int,
) -> Owed:
    """What was charged within `[since, until)`; from the beginning and until `at` where nothing is
    said. `closed` is what statements have of it."""
    until = reached(exchange, at) if until is None else until
    since = min(account.created_at, until) if since is None else since
    begin = max(since, exchange.closed_before)
    if begin < until:
        closed.add_all(open_lines(exchange, account, begin, until)[0])
    return Owed(account.name, since, until, closed.lines, rate_now(exchange, account))


async def closed_lines(
    account: Account,
    statements: Iterable[Statement],
    since: int | None,
    until: int | None,
    pieces: Background,
) -> Joined:
    """What statements have of a period; without an end, all that follows."""
    joined = Joined()
    for statement in statements:
        async for part in pieces.parts(statement.lines, LINES_PER_PIECE):
            joined.add_all(
                _within(
                    account, statement, part, since or 0, TIME_MAX_US if until is None else until
                )
            )
    return joined


def _within(
    account: Account,
    statement: Statement,
    lines: Iterable[StatementLine],
    since: int,
    until: int,
) -> Iterator[Line]:
    tag = tag_of(account.name)
    for line in lines:
        if line.end <= since or line.start >= until:
            continue
        if line.start < since or until < line.end:
            raise _cut(statement, since if line.start < since else until)
        id = lease_id(tag, line.number) if line.kind == LEASE else order_id(tag, line.number)
        yield Line(line.kind, id, line.scope, line.start, line.end, int(line.charge))


def _cut(statement: Statement, found: int) -> ProblemError:
    """The nearest times before and after that cut no line of the statement."""
    first = min(line.start for line in statement.lines)
    between = (
        f"expected no time between {format_time(first)} and {format_time(statement.until)}, which"
        f" are billed as one, found {format_time(found)}"
    )
    return ProblemError(Code.PERIOD_INVALID, f"{between}: use one of the two")
