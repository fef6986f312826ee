"""Statements: what each tenant was charged until the books were closed, line by line, before the
market forgets the detail.

Charges are exact integers (rate times microseconds), written as text because they outgrow 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from laissez.journal import Document
from laissez.market import Market
from laissez.market.answers import FeeLine, LeaseLine
from laissez.server.accounts import Account


class StatementLine(msgspec.Struct, array_like=True, frozen=True):
    """`[start, end)` lies within the statement's period; `id` is the lease's, or the order's that a
    fee is for."""

    kind: str
    id: str
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
    """One document for each tenant that was charged anything in `[since, until)`; notes in the
    accounts how far each line is billed."""
    documents: list[Document] = []
    for account in accounts.values():
        bill = market.bill(account.name, None, until)
        lines = [
            _lease_line(account, line, since, until) for line in bill.leases if line.start < until
        ]
        lines += [
            _fee_line(account, line, charge, since, until) for line, charge in _alike(bill.fees)
        ]
        charged = tuple(line for line in lines if line.charge != "0")
        if charged:
            documents.append(
                Document(
                    document_name(account.name),
                    msgspec.msgpack.encode(Statement(since, until, charged)),
                )
            )
    return tuple(documents)


def _lease_line(account: Account, line: LeaseLine, since: int, until: int) -> StatementLine:
    name = account.lease_names[line.lease]
    end = until if line.end is None else min(line.end, until)
    return StatementLine(
        "lease",
        name,
        line.leaf,
        max(line.start, since),
        end,
        _newly_charged(account, name, line.charge),
    )


def _alike(fees: tuple[FeeLine, ...]) -> Iterable[tuple[FeeLine, int]]:
    """Fees for one order and scope, from one instant until one instant, as one, with what they
    charge together.

    An order amended twice within a microsecond owes two of them. What has been billed is noted
    under what tells a line from all others.
    """
    together: dict[tuple[int, str, int, int], tuple[FeeLine, int]] = {}
    for line in fees:
        key = (line.order, line.scope, line.start, line.end)
        together[key] = line, together.get(key, (line, 0))[1] + line.charge
    return together.values()


def _fee_line(
    account: Account, line: FeeLine, charge: int, since: int, until: int
) -> StatementLine:
    order = account.order_names[line.order]
    newly = _newly_charged(account, f"{order} {line.scope} {line.start} {line.end}", charge)
    return StatementLine(
        "fee", order, line.scope, max(line.start, since), min(line.end, until), newly
    )


def _newly_charged(account: Account, line: str, charge: int) -> str:
    before = account.billed.get(line, 0)
    account.billed[line] = charge
    return str(charge - before)
