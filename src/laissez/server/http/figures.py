"""Figures: what a change would do, what tenants spend and mean to spend, and how the market has
done lately."""

from __future__ import annotations

from laissez.exchange.accounts import Account
from laissez.exchange.commands import OPERATOR, SetBudget, SetOwnCaps
from laissez.server.background import NO_REST, Background
from laissez.server.billing import settle
from laissez.server.figures import caps_of, spending_of
from laissez.server.http.call import Answer, Call
from laissez.server.http.paging import Cursor, cursor_of, limit_of, page
from laissez.server.preview import Readable
from laissez.wire.decoding import read_action, read_amount, read_cap, read_command
from laissez.wire.figures import Budget, PreviewRefused
from laissez.wire.limits import PREVIEW_COMMANDS_MAX
from laissez.wire.problems import Code, ProblemError
from laissez.wire.rendering import rendered
from laissez.wire.requests import OperatorCommand
from laissez.wire.texts import NO_BUDGET
from laissez.wire.views import Done

# -- what would happen


async def preview(call: Call) -> Answer:
    asked = call.body.commands
    if not 1 <= len(asked) <= PREVIEW_COMMANDS_MAX:
        raise ProblemError(
            Code.BAD_REQUEST, f"commands: expected 1 to {PREVIEW_COMMANDS_MAX}, found {len(asked)}"
        )
    return Answer(
        await call.site.previews.of([_read(index, one) for index, one in enumerate(asked)])
    )


def _read(index: int, asked: OperatorCommand) -> Readable:
    try:
        return read_command(OPERATOR, asked)
    except ProblemError as problem:
        return PreviewRefused(index, problem.code, problem.detail)


# -- what tenants spend


async def spending(call: Call) -> Answer:
    """In the order in which they were made; a tenant gets its own alone."""
    accounts = {account.name: account for account in call.accounts()}
    cursor = cursor_of(call, "spending")
    names = list(accounts)
    first = (
        0
        if cursor is None
        else names.index(cursor.name) + 1
        if cursor.name in accounts
        else len(names)
    )
    wanted = [accounts[name] for name in names[first : first + limit_of(call) + 1]]
    pieces = Background(call.gateway.clock, NO_REST)
    found = []
    async for account in pieces.of(wanted):
        await settle(call.gateway.exchange, account, pieces)
        found.append(spending_of(call.gateway, account))
    return Answer(page(call, "spending", found, lambda one: Cursor(one.tenant)))


async def budget(call: Call) -> Answer:
    if call.principal.is_operator and "tenant" not in call.query:
        raise ProblemError(
            Code.BAD_REQUEST, "tenant: expected whose budget is asked for; the operator has none"
        )
    account = call.accounts()[0]
    await settle(call.gateway.exchange, account, Background(call.gateway.clock, NO_REST))
    return Answer(_budget(call, account))


async def set_budget(call: Call) -> Answer:
    """Answered with the budget as it is now: what is spent is no part of an event."""
    asked = call.body
    # it counts from what is owed
    await settle(call.gateway.exchange, call.account, Background(call.gateway.clock, NO_REST))
    call.check_in_force()
    call.enter(
        SetBudget(read_amount(asked.amount, "amount"), read_action(asked.action), asked.keep)
    )
    return Answer(_budget(call, call.account))


def remove_budget(call: Call) -> Answer:
    return Answer(Done(rendered(call.enter(SetBudget(None)), call.principal.holder)))


def own_caps(call: Call) -> Answer:
    if call.principal.is_operator and "tenant" not in call.query:
        raise ProblemError(
            Code.BAD_REQUEST, "tenant: expected whose caps are asked for; the operator has none"
        )
    return Answer(caps_of(call.gateway, call.accounts()[0]))


def set_own_caps(call: Call) -> Answer:
    """Answered with the caps as they are now."""
    asked = call.body
    call.enter(SetOwnCaps(read_cap(asked.rate, "rate"), read_cap(asked.worst_rate, "worst_rate")))
    return Answer(caps_of(call.gateway, call.account))


def _budget(call: Call, account: Account) -> Budget:
    found = spending_of(call.gateway, account).budget
    if found is None:
        raise ProblemError(Code.NOT_FOUND, NO_BUDGET)
    return found


# -- how the market has done


def history(call: Call) -> Answer:
    return Answer(call.site.samples.history())
