"""Statements: the charges of each tenant, line by line, made when the books are closed and the
market drops the detail.

Charges are exact integers (rate times microseconds), stored as text because they outgrow 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from laissez.exchange.accounts import Account
from laissez.exchange.events import Document
from laissez.market import Market
from laissez.market.answers import FeeLine, LeaseLine

LEASE, FEE = "lease", "fee"


class StatementLine(msgspec.Struct, array_like=True, frozen=True):
    """A charge for `[start, end)` within the statement's period. `number` is that of the lease, or
    of the order that a fee is for."""

    kind: str
    number: int
    scope: str
    start: int
    end: int
    charge: str


class Statement(msgspec.Struct, array_like=True, frozen=True):
    since: int
    until: int
    lines: tuple[StatementLine, ...]


def document_name(tenant: str) -> str:
    return f"statement/{tenant}"


def statements(
    market: Market, accounts: dict[str, Account], since: int, until: int
) -> tuple[Document, ...]:
    """One document for each tenant with charges in `[since, until)`. Notes the billed charges in
    the accounts."""
    documents: list[Document] = []
    for account in accounts.values():
        bill = market.bill(account.name, None, until)
        lines = [
            _lease_line(account, line, since, until) for line in bill.leases if line.start < until
        ]
        lines += [
            _fee_line(account, line, charge, since, until) for line, charge in _merged(bill.fees)
        ]
        charged = tuple(line for line in lines if line.charge != "0")
        if charged:
            documents.append(
                Document(
                    document_name(account.name),
                    msgspec.msgpack.encode(Statement(since, until, charged)),
                )
            )
        _forget(account, bill.leases, until)
    return tuple(documents)


def _forget(account: Account, leases: Iterable[LeaseLine], until: int) -> None:
    """Drop lines that ended by then: they are on no later bill."""
    for line in leases:
        if line.end is not None and line.end <= until:
            account.billed.pop(line.lease, None)
    for key in [key for key in account.billed_fees if key[3] <= until]:
        del account.billed_fees[key]


def _lease_line(account: Account, line: LeaseLine, since: int, until: int) -> StatementLine:
    end = until if line.end is None else min(line.end, until)
    before = account.billed.get(line.lease, 0)
    account.billed[line.lease] = line.charge
    return StatementLine(
        LEASE, line.lease, line.leaf, max(line.start, since), end, str(line.charge - before)
    )


def _merged(fees: tuple[FeeLine, ...]) -> Iterable[tuple[FeeLine, int]]:
    """Merge fees with the same order, scope, start and end, and add up their charges: an order
    amended twice within a microsecond owes two of them."""
    merged: dict[tuple[int, str, int, int], tuple[FeeLine, int]] = {}
    for line in fees:
        key = _key(line)
        merged[key] = line, merged.get(key, (line, 0))[1] + line.charge
    return merged.values()


def _key(line: FeeLine) -> tuple[int, str, int, int]:
    return line.order, line.scope, line.start, line.end


def _fee_line(
    account: Account, line: FeeLine, charge: int, since: int, until: int
) -> StatementLine:
    before = account.billed_fees.get(_key(line), 0)
    account.billed_fees[_key(line)] = charge
    return StatementLine(
        FEE,
        line.order,
        line.scope,
        max(line.start, since),
        min(line.end, until),
        str(charge - before),
    )
