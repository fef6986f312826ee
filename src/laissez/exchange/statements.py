"""Statements: the charges of each tenant, line by line, filed when the books are closed and the
market drops the detail.

Charges are exact integers (rate times microseconds), stored as text because they outgrow 64 bits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from struct import Struct
from typing import NamedTuple

import msgspec

from laissez.exchange.events import Document
from laissez.market import Market
from laissez.market.answers import Bill

LEASE, FEE = "lease", "fee"
# A document begins with its period and the number of its lines, so that a bill of another period
# need not read all of it.
HEAD = Struct(">QQI")


class StatementLine(msgspec.Struct, array_like=True, frozen=True):
    """A charge for `[start, end)` within the statement's period. `number` is that of the lease, or
    of the order that a fee is for."""

    kind: str
    number: int
    scope: str
    start: int
    end: int
    charge: str


class Statement(NamedTuple):
    since: int
    until: int
    lines: tuple[StatementLine, ...]

    def document(self, tenant: str) -> Document:
        head = HEAD.pack(self.since, self.until, len(self.lines))
        return Document(document_name(tenant), head + msgspec.msgpack.encode(self.lines))

    @staticmethod
    def of(body: bytes) -> Statement:
        since, until, _ = HEAD.unpack_from(body)
        return Statement(since, until, _read_lines(body[HEAD.size :]))


_read_lines = msgspec.msgpack.Decoder(tuple[StatementLine, ...]).decode


def document_name(tenant: str) -> str:
    return f"statement/{tenant}"


def statements(
    market: Market, tenants: Iterable[str], since: int, until: int
) -> tuple[Document, ...]:
    """One document for each tenant with charges in `[since, until)`."""
    bills = (market.bill(tenant, since, until) for tenant in tenants)
    return tuple(
        Statement(since, until, lines).document(bill.tenant)
        for bill in bills
        if (lines := _lines(bill))
    )


def _lines(bill: Bill) -> tuple[StatementLine, ...]:
    """Fees with the same order, scope, start and end are one line: an order amended twice within a
    microsecond owes two of them."""
    charges: dict[tuple[str, int, str, int, int], int] = defaultdict(int)
    for lease in bill.leases:
        end = bill.until if lease.end is None else min(lease.end, bill.until)
        charges[LEASE, lease.lease, lease.leaf, max(lease.start, bill.since), end] = lease.charge
    for fee in bill.fees:
        start, end = max(fee.start, bill.since), min(fee.end, bill.until)
        charges[FEE, fee.order, fee.scope, start, end] += fee.charge
    return tuple(StatementLine(*line, str(charge)) for line, charge in charges.items() if charge)
