"""Figures: what a change would do, what tenants spend and mean to spend, and how the market has
done lately."""

from __future__ import annotations

from laissez.server.accounts import Account
from laissez.server.aside import NO_REST, Pieces
from laissez.server.billing import settle
from laissez.server.budgets import NO_BUDGET, WARN
from laissez.server.caps import EXPECTED, caps_view, per_hour
from laissez.server.commands import SetBudget, SetOwnCaps
from laissez.server.figures import spending_of
from laissez.server.http.call import Answer, Call
from laissez.server.http.paging import Cursor, cursor_of, limit_of, page
from laissez.server.outcomes import numbered
from laissez.server.preview import Readable
from laissez.server.reading import read_amount, read_command
from laissez.wire.figures import Budget, PreviewRefused
from laissez.wire.limits import PREVIEW_COMMANDS_MAX
from laissez.wire.problems import Code, ProblemError
from laissez.wire.requests import OperatorCommand
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
        return read_command(asked)
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
    pieces = Pieces(call.desk.clock, NO_REST)
    found = []
    async for account in pieces.of(wanted):
        await settle(call.desk.exchange, account, pieces)
        found.append(spending_of(call.desk, account))
    return Answer(page(call, "spending", found, lambda one: Cursor(one.tenant)))


async def budget(call: Call) -> Answer:
    if call.principal.is_operator and "tenant" not in call.query:
        raise ProblemError(
            Code.BAD_REQUEST, "tenant: expected whose budget is asked for; the operator has none"
        )
    account = call.accounts()[0]
    await settle(call.desk.exchange, account, Pieces(call.desk.clock, NO_REST))
    return Answer(_budget(call, account))


async def set_budget(call: Call) -> Answer:
    """Answered with the budget as it is now: what is spent is no part of an event."""
    asked = call.body
    # it counts from what is owed
    await settle(call.desk.exchange, call.account, Pieces(call.desk.clock, NO_REST))
    call.check_in_force()
    command = SetBudget(read_amount(asked.amount, "amount"), asked.action, asked.keep)
    first = call.desk.first_command(call.principal.holder, call.key)
    call.enter(
        first if isinstance(first, SetBudget) and first in _from_before(command) else command
    )
    return Answer(_budget(call, call.account))


def _from_before(command: SetBudget) -> list[SetBudget]:
    """What the same request came to before a budget could be kept, and before there were
    actions."""
    if command.keep:
        return []
    without_action = [SetBudget(command.amount)] if command.action == WARN else []
    return [SetBudget(command.amount, command.action), *without_action]


def remove_budget(call: Call) -> Answer:
    return Answer(Done(numbered(call.enter(SetBudget(None)).outcome, call.principal.holder)))


def own_caps(call: Call) -> Answer:
    if call.principal.is_operator and "tenant" not in call.query:
        raise ProblemError(
            Code.BAD_REQUEST, "tenant: expected whose caps are asked for; the operator has none"
        )
    return Answer(caps_view(call.desk.exchange.market, call.accounts()[0], call.desk.clock.now()))


def set_own_caps(call: Call) -> Answer:
    """Answered with the caps as they are now."""
    asked = call.body
    call.enter(SetOwnCaps(_cap(asked.rate, "rate"), _cap(asked.worst_rate, "worst_rate")))
    return Answer(caps_view(call.desk.exchange.market, call.account, call.desk.clock.now()))


def _cap(text: str | None, field: str) -> int | None:
    cap = None if text is None else per_hour(text)
    if text is not None and cap is None:
        raise ProblemError(Code.BAD_REQUEST, f"{field}: expected {EXPECTED}, found {text[:40]!r}")
    return cap


def _budget(call: Call, account: Account) -> Budget:
    found = spending_of(call.desk, account).budget
    if found is None:
        raise ProblemError(Code.NOT_FOUND, NO_BUDGET)
    return found


# -- how the market has done


def history(call: Call) -> Answer:
    return Answer(call.site.samples.history())
