"""Bills: a tenant's own, or for the operator anybody's, as JSON or as a table."""

from __future__ import annotations

from laissez.exchange.accounts import Account
from laissez.server import exports
from laissez.server.background import NO_REST, Background
from laissez.server.billing import Owed, in_words, running, settle
from laissez.server.http.call import Answer, Call
from laissez.server.http.paging import Cursor, cursor_of, limit_of, page
from laissez.server.periods import check_period, closed_lines, of_period
from laissez.server.statements import items
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
    pieces = Background(call.gateway.clock, NO_REST)
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
    names = list(call.gateway.exchange.accounts)
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


async def _table(call: Call, form: str, owed: list[Owed], pieces: Background) -> Answer:
    topology = call.gateway.exchange.market.topology
    return Answer(
        await exports.plain(owed, pieces)
        if form == "csv"
        else await exports.focus(owed, topology, pieces),
        CSV,
    )


async def _owed(call: Call, account: Account, pieces: Background) -> Owed:
    gateway = call.gateway
    since, until = call.time("since"), call.time("until")
    if since is not None or until is not None:
        return await _of_period(call, account, since, until, pieces)
    call.owe_items(gateway.exchange.market.bill_lines(account.name))
    await settle(gateway.exchange, account, pieces)
    return running(gateway.exchange, account, gateway.end_holds())


async def _of_period(
    call: Call, account: Account, since: int | None, until: int | None, pieces: Background
) -> Owed:
    """If the books are closed while statements are read, once more: what is closed and what is open
    must fit together."""
    gateway, exchange, statements = call.gateway, call.gateway.exchange, call.site.statements
    check_period(exchange, since, until, gateway.end_holds())
    closed: int | None = None
    while closed != exchange.closed_before:
        is_first, closed = closed is None, exchange.closed_before
        await gateway.all_durable()
        heads = (
            []
            if since is not None and since >= closed
            else await statements.touching(account.name, since, until)
        )
        if is_first:
            call.owe_items(exchange.market.bill_lines(account.name) + items(heads, since, until))
        read = await statements.read(account.name, heads)
        lines = await closed_lines(account, read, since, until, pieces)
        await settle(exchange, account, pieces)
    return of_period(exchange, account, lines, since, until, gateway.end_holds())
