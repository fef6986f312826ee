"""Bills of a period: a tenant's exact charges within `[since, until)`.

The market has the detail since the books last closed. Older charges are in statements, which the
journal holds. A period may begin and end anywhere in open books. In closed books it must not cut a
line of a statement, because the line's detail is gone.

Reading a statement takes long: the journal checks it together with all other tenants' statements of
the same closing. So only statements that the period touches are read, one at a time.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from laissez.exchange.accounts import Account
from laissez.exchange.exchange import Exchange
from laissez.exchange.statements import HEAD, LEASE, Statement, StatementLine, document_name
from laissez.journal import JournalDamaged, Reader
from laissez.market.commands import TIME_MAX_US
from laissez.server.background import Background
from laissez.server.billing import LINES_PER_PIECE, Line, Owed, open_lines, rate_now
from laissez.server.gateway import Gateway
from laissez.server.views import reached
from laissez.units import format_time
from laissez.wire.problems import Code, ProblemError

ITEMS_PER_STATEMENT = 100  # reading a statement costs about as much as sending this many lines


# -- statements in the journal


class Head(NamedTuple):
    """The beginning of a statement, unchecked."""

    seq: int
    since: int
    until: int
    lines: int


class FiledStatements:
    """Belongs to one event loop."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._turn = asyncio.Lock()

    async def touching(self, tenant: str, since: int | None, until: int | None) -> list[Head]:
        """The statements of a tenant that `[since, until)` touches, and one more on either side,
        which proves that there are no others."""
        heads = await asyncio.to_thread(self._heads, tenant)
        first, last = 0, len(heads)
        if since is not None:
            first = bisect_right(heads, since, key=lambda head: head.until)
        if until is not None:
            last = bisect_left(heads, until, key=lambda head: head.since)
        return heads[max(0, first - 1) : last + 1]

    def _heads(self, tenant: str) -> list[Head]:
        with self._gateway.reader() as reader:
            heads = reader.document_heads(document_name(tenant), HEAD.size)
        return [Head(seq, *HEAD.unpack(head)) for seq, head in heads]

    async def read(self, tenant: str, heads: Sequence[Head]) -> list[Statement]:
        """Read and check these statements."""
        if not heads:
            return []
        found: list[Statement] = []
        with await asyncio.to_thread(self._gateway.reader) as reader:
            for head in heads:
                async with self._turn:
                    found.append(await asyncio.to_thread(_read, reader, tenant, head))
        return found


def items(heads: Sequence[Head], since: int | None, until: int | None) -> int:
    """The cost of reading these statements and of sending their lines of a period."""
    sent = [
        head.lines
        for head in heads
        if (since is None or since < head.until) and (until is None or head.since < until)
    ]
    return sum(sent) + ITEMS_PER_STATEMENT * len(heads)


def _read(reader: Reader, tenant: str, head: Head) -> Statement:
    """Read a statement and check that it agrees with its head."""
    name = document_name(tenant)
    statement = Statement.of(reader.document(name, head.seq).body)
    if (statement.since, statement.until) != (head.since, head.until):
        raise JournalDamaged(
            f"document {name!r} of entry {head.seq}", "read twice, it is not the same"
        )
    return statement


# -- bills of a period


class Joined:
    """Lines in order. A lease or fee that continues in the next statement, or in the open books,
    becomes one line."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._latest: dict[tuple[str, int, str], Line] = {}

    def add_all(self, lines: Iterable[Line]) -> None:
        for line in lines:
            key = (line.kind, line.number, line.scope)
            before = self._latest.get(key)
            if before is not None and (line.kind == LEASE or before.end == line.start):
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
    end = now if until is None else until
    if since is not None and since > end:
        found = f"{format_time(since)} and {format_time(end)}"
        raise ProblemError(Code.PERIOD_INVALID, f"expected since before until, found {found}")


def of_period(
    exchange: Exchange,
    account: Account,
    closed: Joined,
    since: int | None,
    until: int | None,
    at: int,
) -> Owed:
    """The charges within `[since, until)`, by default from the beginning and until `at`. `closed`
    holds the lines of statements."""
    until = reached(exchange, at) if until is None else until
    since = min(account.created_at, until) if since is None else since
    begin = max(since, exchange.closed_before)
    if begin < until:
        closed.add_all(open_lines(exchange, account, begin, until)[0])
    return Owed(account.name, since, until, closed.lines, rate_now(exchange, account))


async def closed_lines(
    statements: Iterable[Statement],
    since: int | None,
    until: int | None,
    pieces: Background,
) -> Joined:
    """The lines of statements within a period, which may have no end."""
    joined = Joined()
    begin, end = since or 0, TIME_MAX_US if until is None else until
    for statement in statements:
        async for part in pieces.parts(statement.lines, LINES_PER_PIECE):
            joined.add_all(_within(statement, part, begin, end))
    return joined


def _within(
    statement: Statement, lines: Iterable[StatementLine], since: int, until: int
) -> Iterator[Line]:
    for line in lines:
        if line.end <= since or line.start >= until:
            continue
        if line.start < since or until < line.end:
            raise _cut(statement, since if line.start < since else until)
        yield Line(line.kind, line.number, line.scope, line.start, line.end, int(line.charge))


def _cut(statement: Statement, found: int) -> ProblemError:
    """A refusal that names the nearest times before and after that cut no line."""
    first = min(line.start for line in statement.lines)
    between = (
        f"expected no time between {format_time(first)} and {format_time(statement.until)}, which"
        f" are billed as one, found {format_time(found)}"
    )
    return ProblemError(Code.PERIOD_INVALID, f"{between}: use one of the two")
