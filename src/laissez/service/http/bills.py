"""Bills: a tenant's own, or for the operator anybody's, as JSON or as a table."""

from __future__ import annotations

import asyncio

from laissez.service import exports
from laissez.service.accounts import Account
from laissez.service.aside import NO_REST, Pieces
from laissez.service.billing import Owed, of_period, read_statement, running, settle
from laissez.service.desk import Desk
from laissez.service.http.call import Answer, Call
from laissez.service.http.paging import Cursor, cursor_of, limit_of, page
from laissez.service.statements import Statement, document_name
from laissez.wire.problems import Code, ProblemError

FORMATS = ("json", "csv", "focus")
CSV = b"text/csv; charset=utf-8"


async def shown(call: Call) -> Answer:
    """Everybody's bills come in pages: each is worked out by itself, and the market has its turn in between."""
    form = call.query.get("format", "json")
    if form not in FORMATS:
        raise ProblemError(Code.BAD_REQUEST, f"format: expected one of {', '.join(FORMATS)}, found {form[:40]!r}")
    pieces = Pieces(call.desk.clock, NO_REST)
    if not call.principal.is_operator or "tenant" in call.query:
        if "limit" in call.query or "cursor" in call.query:
            raise ProblemError(Code.BAD_REQUEST, "limit and cursor go with the list of all bills, which is the operator's")
        owed = await _owed(call, call.accounts()[0], pieces)
        return Answer(owed.bill()) if form == "json" else _table(call, form, [owed])
    names = list(call.desk.exchange.accounts)
    cursor = cursor_of(call, "bills")
    first = 0 if cursor is None else names.index(cursor.name) + 1 if cursor.name in names else len(names)
    wanted = names[first : first + limit_of(call) + 1] if form == "json" else names
    found = [await _owed(call, call.tenant(name), pieces) async for name in pieces.of(wanted)]
    if form != "json":
        return _table(call, form, found)
    return Answer(page(call, "bills", [owed.bill() for owed in found], lambda bill: Cursor(bill.tenant)))


def _table(call: Call, form: str, owed: list[Owed]) -> Answer:
    body = exports.plain(owed) if form == "csv" else exports.focus(owed, call.desk.exchange.market.topology)
    return Answer(body, CSV)


async def _owed(call: Call, account: Account, pieces: Pieces) -> Owed:
    desk = call.desk
    since, until = call.time("since"), call.time("until")
    await settle(desk.exchange, account, pieces)
    if since is None and until is None:
        return running(desk.exchange, account, desk.end_holds())
    statements = await _statements(desk, account.name)
    return of_period(desk.exchange, account, statements, since, until, desk.end_holds())


async def _statements(desk: Desk, tenant: str) -> list[Statement]:
    """All of a tenant's statements, read aside. If the books are closed meanwhile, once more: what is closed and what is open must fit together."""
    closed = -1
    found: list[Statement] = []
    while closed != desk.exchange.closed_before:
        closed = desk.exchange.closed_before
        await desk.all_durable()
        found = [read_statement(body) for body in await asyncio.to_thread(desk.documents, document_name(tenant))]
    return found
