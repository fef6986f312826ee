"""Bills of a period: what a tenant was charged within `[since, until)`, exactly.

The market has the detail since the books were last closed; older charges lie in statements, which
are filed with the journal. A period may begin and end anywhere in the open books, and anywhere in
closed ones that cuts no line of a statement in two: what is inside a line is no longer known.

A statement lies among those of all tenants from the same closing and is checked together with
them, so reading one takes long. Only those that the period touches are read, one at a time.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from laissez.exchange.accounts import Account
from laissez.exchange.exchange import Exchange
from laissez.exchange.statements import LEASE, Statement, StatementLine, document_name
from laissez.journal import JournalDamaged, Reader
from laissez.market.commands import TIME_MAX_US
from laissez.server.background import Background
from laissez.server.billing import LINES_PER_PIECE, Line, Owed, open_lines, rate_now
from laissez.server.gateway import Gateway
from laissez.server.views import reached
from laissez.units import format_time
from laissez.wire.ids import lease_id, order_id, tag_of
from laissez.wire.problems import Code, ProblemError

HEAD_BYTES = 24  # an array of three begins with two times and the length of the third
ITEMS_PER_STATEMENT = 100  # reading a statement costs about as much as telling this many lines
# bytes after the first, of long numbers and arrays in MessagePack
_SIZES = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xDC: 2, 0xDD: 4}

read_statement = msgspec.msgpack.Decoder(Statement).decode


# -- statements in the journal


class Head(NamedTuple):
    """How a statement begins, unchecked."""

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
        which shows that there are no others."""
        heads = await asyncio.to_thread(self._heads, tenant)
        first, last = 0, len(heads)
        if since is not None:
            first = bisect_right(heads, since, key=lambda head: head.until)
        if until is not None:
            last = bisect_left(heads, until, key=lambda head: head.since)
        return heads[max(0, first - 1) : last + 1]

    def _heads(self, tenant: str) -> list[Head]:
        with self._gateway.reader() as reader:
            heads = reader.document_heads(document_name(tenant), HEAD_BYTES)
        return [head_of(seq, begins) for seq, begins in heads]

    async def read(self, tenant: str, heads: Sequence[Head]) -> list[Statement]:
        """All of them, checked."""
        if not heads:
            return []
        found: list[Statement] = []
        with await asyncio.to_thread(self._gateway.reader) as reader:
            for head in heads:
                async with self._turn:
                    found.append(await asyncio.to_thread(_read, reader, tenant, head))
        return found


def items(heads: Sequence[Head], since: int | None, until: int | None) -> int:
    """What it costs to read these statements and to tell their lines of a period."""
    told = [
        head.lines
        for head in heads
        if (since is None or since < head.until) and (until is None or head.since < until)
    ]
    return sum(told) + ITEMS_PER_STATEMENT * len(heads)


def head_of(seq: int, begins: bytes) -> Head:
    since, place = _number(begins, 1)
    until, place = _number(begins, place)
    return Head(seq, since, until, _number(begins, place)[0])


def _number(begins: bytes, place: int) -> tuple[int, int]:
    """A number, or the length of an array, and where it ends."""
    first, begin = begins[place], place + 1
    if first not in _SIZES:
        return first & (0x7F if first < 0x80 else 0x0F), begin
    end = begin + _SIZES[first]
    return int.from_bytes(begins[begin:end], "big"), end


def _read(reader: Reader, tenant: str, head: Head) -> Statement:
    """It must begin as its head did, by which it was chosen."""
    name = document_name(tenant)
    statement = read_statement(reader.document(name, head.seq).body)
    if (statement.since, statement.until) != (head.since, head.until):
        raise JournalDamaged(
            f"document {name!r} of entry {head.seq}", "read twice, it is not the same"
        )
    return statement


# -- bills of a period


class Joined:
    """Lines in their order; a lease or fee that goes on from one statement to the next, or into
    the open books, is one line."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._latest: dict[tuple[str, str, str], Line] = {}

    def add_all(self, lines: Iterable[Line]) -> None:
        for line in lines:
            key = (line.kind, line.id, line.scope)
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
    """What was charged within `[since, until)`, by default from the beginning and until `at`.
    `closed` holds the lines of statements."""
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
    """The lines of statements within a period; without an end, all that follow."""
    joined = Joined()
    tag, begin, end = tag_of(account.name), since or 0, TIME_MAX_US if until is None else until
    for statement in statements:
        async for part in pieces.parts(statement.lines, LINES_PER_PIECE):
            joined.add_all(_within(tag, statement, part, begin, end))
    return joined


def _within(
    tag: str, statement: Statement, lines: Iterable[StatementLine], since: int, until: int
) -> Iterator[Line]:
    for line in lines:
        if line.end <= since or line.start >= until:
            continue
        if line.start < since or until < line.end:
            raise _cut(statement, since if line.start < since else until)
        id = lease_id(tag, line.number) if line.kind == LEASE else order_id(tag, line.number)
        yield Line(line.kind, id, line.scope, line.start, line.end, int(line.charge))


def _cut(statement: Statement, found: int) -> ProblemError:
    """Names the nearest times before and after that cut no line of the statement."""
    first = min(line.start for line in statement.lines)
    between = (
        f"expected no time between {format_time(first)} and {format_time(statement.until)}, which"
        f" are billed as one, found {format_time(found)}"
    )
    return ProblemError(Code.PERIOD_INVALID, f"{between}: use one of the two")
