"""Bills, spending, budgets and caps."""

from __future__ import annotations

from laissez.exchange.accounts import Account
from laissez.exchange.commands import SetBudget, SetOwnCaps
from laissez.server import exports
from laissez.server.background import NO_REST, Background
from laissez.server.billing import Owed, render_bill, running, settle
from laissez.server.http.endpoint import Answer, Call
from laissez.server.http.messages import bad_request
from laissez.server.http.paging import Cursor, names_after, page, wanted_of
from laissez.server.spending import caps_of, spending_of
from laissez.server.statements import check_period, closed_lines, items, of_period
from laissez.wire.decoding import read_action, read_amount, read_cap
from laissez.wire.figures import Budget, Spending, SpendingCaps
from laissez.wire.problems import Code, ProblemError
from laissez.wire.texts import NO_BUDGET
from laissez.wire.views import Bill, Done, Page

FORMATS = ("json", "csv", "focus")
CSV = "text/csv; charset=utf-8"


def _pieces(call: Call) -> Background:
    """Bills may be long, so other work gets its turn between pieces."""
    return Background(call.gateway.clock, NO_REST)


# -- bills


async def get_bill(call: Call) -> Answer[bytes] | Bill | Page[Bill]:
    form = call.query.get("format", "json")
    if form not in FORMATS:
        raise bad_request(f"format: expected one of {', '.join(FORMATS)}, found {form[:40]!r}")
    call.admit_items(0)
    pieces = _pieces(call)
    if not call.principal.is_operator or "tenant" in call.query:
        if "limit" in call.query or "cursor" in call.query:
            raise bad_request(
                "limit and cursor go with the list of all bills, which is the operator's"
            )
        owed = await _owed(call, call.accounts()[0], pieces)
        if form == "json":
            return await render_bill(owed, pieces)
        return await _table(call, form, [owed], pieces)
    names = list(call.gateway.exchange.accounts)
    after = names_after(call, names)
    wanted = after[: wanted_of(call)] if form == "json" else names
    found = [await _owed(call, call.tenant(name), pieces) async for name in pieces.of(wanted)]
    if form != "json":
        return await _table(call, form, found, pieces)
    bills = [await render_bill(owed, pieces) for owed in found]
    return page(call, [(Cursor(bill.tenant), bill) for bill in bills])


async def _table(call: Call, form: str, owed: list[Owed], pieces: Background) -> Answer[bytes]:
    if form == "csv":
        return Answer(await exports.plain(owed, pieces), CSV)
    topology = call.gateway.exchange.market.topology
    return Answer(await exports.focus(owed, topology, pieces), CSV)


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
    """Start over if the books close while statements are read: the closed and the open part must
    fit together."""
    gateway, exchange, statements = call.gateway, call.gateway.exchange, call.site.statements
    check_period(exchange, since, until, gateway.end_holds())
    closed: int | None = None
    while closed != exchange.closed_before:
        is_first, closed = closed is None, exchange.closed_before
        await gateway.all_durable()
        is_open = since is not None and since >= closed
        heads = [] if is_open else await statements.touching(account.name, since, until)
        if is_first:
            call.owe_items(exchange.market.bill_lines(account.name) + items(heads, since, until))
        read = await statements.read(account.name, heads)
        lines = await closed_lines(read, since, until, pieces)
        await settle(exchange, account, pieces)
    return of_period(exchange, account, lines, since, until, gateway.end_holds())


# -- spending, budgets and caps


async def list_spending(call: Call) -> Page[Spending]:
    """In the order in which the tenants were created. A tenant gets only its own."""
    accounts = {account.name: account for account in call.accounts()}
    wanted = names_after(call, list(accounts))[: wanted_of(call)]
    pieces = _pieces(call)
    found = []
    async for name in pieces.of(wanted):
        await settle(call.gateway.exchange, accounts[name], pieces)
        found.append(spending_of(call.gateway, accounts[name]))
    return page(call, [(Cursor(one.tenant), one) for one in found])


async def get_budget(call: Call) -> Budget:
    account = _whose(call, "budget")
    await settle(call.gateway.exchange, account, _pieces(call))
    return _budget(call, account)


async def set_budget(call: Call) -> Budget:
    """Answer with the present budget: events do not tell how much is spent."""
    asked = call.body
    # the budget starts from the total owed
    await settle(call.gateway.exchange, call.account, _pieces(call))
    call.check_in_force()
    amount, action = read_amount(asked.amount, "amount"), read_action(asked.action)
    call.enter(SetBudget(amount, action, asked.keep))
    return _budget(call, call.account)


def remove_budget(call: Call) -> Done:
    call.enter(SetBudget(None))
    return Done(call.events)


def _budget(call: Call, account: Account) -> Budget:
    found = spending_of(call.gateway, account).budget
    if found is None:
        raise ProblemError(Code.NOT_FOUND, NO_BUDGET)
    return found


def get_caps(call: Call) -> SpendingCaps:
    return caps_of(call.gateway, _whose(call, "caps"))


def set_caps(call: Call) -> SpendingCaps:
    """Answer with the present caps."""
    asked = call.body
    call.enter(SetOwnCaps(read_cap(asked.rate, "rate"), read_cap(asked.worst_rate, "worst_rate")))
    return caps_of(call.gateway, call.account)


def _whose(call: Call, what: str) -> Account:
    """The calling tenant, or the one that the operator names."""
    if call.principal.is_operator and "tenant" not in call.query:
        raise bad_request(f"tenant: expected a name, since the operator has no {what}")
    return call.accounts()[0]
