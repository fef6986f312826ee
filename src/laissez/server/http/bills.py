"""Bills: a tenant's own, or for the operator anybody's, as JSON or as a table."""

from __future__ import annotations

from laissez.server import exports, filed
from laissez.server.accounts import Account
from laissez.server.aside import NO_REST, Pieces
from laissez.server.billing import Owed, in_words, running, settle
from laissez.server.http.call import Answer, Call
from laissez.server.http.paging import Cursor, cursor_of, limit_of, page
from laissez.server.periods import check_period, closed_lines, of_period
from laissez.wire.problems import Code, ProblemError

FORMATS = ("json", "csv", "focus")
CSV = b"text/csv; charset=utf-8"


async def shown(call: Call) -> Answer:
    """Everybody's bills come in pages: each is worked out by itself, and the market has its turn in
    between."""
    form = call.query.get("format", "json")
    if form not in FORMATS:
        raise ProblemError(
            Code.BAD_REQUEST, f"format: expected one of {', '.join(FORMATS)}, found {form[:40]!r}"
        )
    call.admit_items(0)
    pieces = Pieces(call.desk.clock, NO_REST)
    if not call.principal.is_operator or "tenant" in call.query:
        if "limit" in call.query or "cursor" in call.query:
            raise ProblemError(
                Code.BAD_REQUEST,
                "limit and cursor go with the list of all bills, which is the operator's",
            )
        owed = await _owed(call, call.accounts()[0], pieces)
        return (
            Answer(await in_words(owed, pieces))
            if form == "json"
            else await _table(call, form, [owed], pieces)
        )
    names = list(call.desk.exchange.accounts)
    cursor = cursor_of(call, "bills")
    first = (
        0
        if cursor is None
        else names.index(cursor.name) + 1
        if cursor.name in names
        else len(names)
    )
    wanted = names[first : first + limit_of(call) + 1] if form == "json" else names
    found = [await _owed(call, call.tenant(name), pieces) async for name in pieces.of(wanted)]
    if form != "json":
        return await _table(call, form, found, pieces)
    return Answer(
        page(
            call,
            "bills",
            [await in_words(owed, pieces) for owed in found],
            lambda bill: Cursor(bill.tenant),
        )
    )


async def _table(call: Call, form: str, owed: list[Owed], pieces: Pieces) -> Answer:
    topology = call.desk.exchange.market.topology
    return Answer(
        await exports.plain(owed, pieces)
        if form == "csv"
        else await exports.focus(owed, topology, pieces),
        CSV,
    )


async def _owed(call: Call, account: Account, pieces: Pieces) -> Owed:
    desk = call.desk
    since, until = call.time("since"), call.time("until")
    if since is not None or until is not None:
        return await _of_period(call, account, since, until, pieces)
    call.owe_items(desk.exchange.market.bill_lines(account.name))
    await settle(desk.exchange, account, pieces)
    return running(desk.exchange, account, desk.end_holds())


async def _of_period(
    call: Call, account: Account, since: int | None, until: int | None, pieces: Pieces
) -> Owed:
    """If the books are closed while statements are read, once more: what is closed and what is open
    must fit together."""
    desk, exchange, statements = call.desk, call.desk.exchange, call.site.statements
    check_period(exchange, since, until, desk.end_holds())
    closed: int | None = None
    while closed != exchange.closed_before:
        is_first, closed = closed is None, exchange.closed_before
        await desk.all_durable()
        heads = (
            []
            if since is not None and since >= closed
            else await statements.touching(account.name, since, until)
        )
        if is_first:
            call.owe_items(
                exchange.market.bill_lines(account.name) + filed.items(heads, since, until)
            )
        lines = await closed_lines(await statements.read(account.name, heads), since, until, pieces)
        await settle(exchange, account, pieces)
    return of_period(exchange, account, lines, since, until, desk.end_holds())
