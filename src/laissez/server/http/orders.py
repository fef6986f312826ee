"""Orders, the leases they win, and batches of commands."""

from __future__ import annotations

from collections.abc import Sequence

from laissez.exchange.accounts import Account
from laissez.exchange.commands import OPERATOR, Command, Request
from laissez.exchange.events import Applied
from laissez.market.answers import LeaseView
from laissez.market.reasons import Reason
from laissez.server import views
from laissez.server.background import NO_REST, Background
from laissez.server.http.endpoint import Call, digest_of
from laissez.server.http.messages import bad_request
from laissez.server.http.paging import Cursor, cursor_of, page, page_of_owned, wanted_of
from laissez.server.order_history import OrderHistory, show
from laissez.server.preview import Readable
from laissez.wire import events as told
from laissez.wire.decoding import SCOPE_OF, read_command
from laissez.wire.events import Numbered
from laissez.wire.figures import PreviewDone, PreviewRefused
from laissez.wire.ids import LEASE, ORDER, number_of, tag_of
from laissez.wire.limits import PREVIEW_COMMANDS_MAX
from laissez.wire.problems import STATUS, Code, ProblemError
from laissez.wire.rendering import rendered
from laissez.wire.requests import Alternative, OperatorCommand
from laissez.wire.texts import code_of, explain, no_lease, no_open_order, no_order
from laissez.wire.views import (
    BatchDone,
    BatchItem,
    Lease,
    LeaseDone,
    Order,
    OrderDone,
    Page,
    PriceHistory,
)

# separates a request's id from the number of its command; no id of a client may contain it
PART = "\t"
ENTERED_AT_ONCE = 16  # commands before other work gets its turn: less than a millisecond


def order_done(call: Call) -> OrderDone:
    """The order after its command, from the events alone, so that a repeat gets the same answer."""
    id, state, clipped = "", "open", False
    alternatives: tuple[Alternative, ...] = ()
    lease = leaf = rate = None
    events = call.events
    for one in events:
        event = one.event
        if type(event) is told.OrderPlaced or type(event) is told.OrderAmended:
            id, alternatives, clipped = event.order, event.alternatives, event.clipped
        elif type(event) is told.OrderCancelled:
            id, state = event.order, "cancelled"
        elif type(event) is told.LeaseStarted and event.order == id:
            state, lease, leaf, rate = "filled", event.lease, event.leaf, event.rate
    return OrderDone(id, state, alternatives, clipped, lease, leaf, rate, events)


def list_orders(call: Call) -> Page[Order]:
    exchange, named = call.gateway.exchange, call.principal.is_operator
    return page_of_owned(call, lambda owner: views.order_views(exchange, owner, named))


def get_order(call: Call) -> Order:
    id = call.path["order"]
    for account in call.accounts():
        view = views.order_view(call.gateway.exchange, account, id, call.principal.is_operator)
        if view is not None:
            return view
    raise ProblemError(Reason.NOT_YOUR_ORDER, no_open_order(id))


async def order_history(call: Call) -> Page[Numbered]:
    account, order = _placed(call)
    call.admit_items(0)
    cursor = cursor_of(call)
    history = OrderHistory(call.gateway, account.name, order, call.owe_items)
    found = await history.after(0 if cursor is None else cursor.number, wanted_of(call))
    named = account.name if call.principal.is_operator else None
    return page(call, [(Cursor("", one.n), show(one, named)) for one in found])


def _placed(call: Call) -> tuple[Account, int]:
    """The tenant and the number of the order named by the path, open or gone, if the caller may see
    it."""
    id, market = call.path["order"], call.gateway.exchange.market
    for account in call.accounts():
        number = number_of(ORDER, tag_of(account.name), id)
        if number is not None and number <= market.counts(account.name).orders_placed:
            return account, number
    raise ProblemError(Reason.NOT_YOUR_ORDER, no_order(id))


# -- leases


def lease_done(call: Call) -> LeaseDone:
    id, state = call.path["lease"], "held"
    limit: str | None = None
    events = call.events
    for one in events:
        event = one.event
        if (type(event) is told.LimitSet or type(event) is told.LeaseEnded) and event.lease == id:
            limit = event.limit
            state = "ended" if type(event) is told.LeaseEnded else state
    return LeaseDone(id, state, limit, events)


def list_leases(call: Call) -> Page[Lease]:
    exchange, named = call.gateway.exchange, call.principal.is_operator
    now = call.gateway.end_holds()
    return page_of_owned(call, lambda owner: views.lease_views(exchange, owner, now, named))


def get_lease(call: Call) -> Lease:
    lease, now = _lease(call), call.gateway.end_holds()
    view = views.lease_view(call.gateway.exchange, lease, now, call.principal.is_operator)
    if view is None:
        raise unknown_lease(call.path["lease"])
    return view


def lease_prices(call: Call) -> PriceHistory:
    lease = _lease(call)
    call.admit_items(0)
    pieces = views.price_pieces(call.gateway.exchange, lease, call.gateway.end_holds())
    call.owe_items(len(pieces))
    segments = tuple([views.price_segment(piece) for piece in pieces])
    return PriceHistory(call.path["lease"], lease.leaf, segments)


def _lease(call: Call) -> LeaseView:
    """The lease named by the path, live or ended, if the caller may see it."""
    id, market = call.path["lease"], call.gateway.exchange.market
    for account in call.accounts():
        number = number_of(LEASE, tag_of(account.name), id)
        found = None if number is None else market.lease(account.name, number)
        if found is not None:
            return found
    raise unknown_lease(id)


def unknown_lease(id: str) -> ProblemError:
    return ProblemError(Reason.NOT_YOUR_LEASE, no_lease(id))


# -- many commands at once


async def batch(call: Call) -> BatchDone:
    asked, most = call.body.commands, call.gateway.limits.batch_commands_max
    if not 1 <= len(asked) <= most:
        raise bad_request(f"commands: expected 1 to {most}, found {len(asked)}")
    for index, one in enumerate(asked):
        scope = SCOPE_OF[type(one)]
        if scope not in call.principal.scopes:
            raise ProblemError(
                Code.FORBIDDEN,
                f"commands[{index}]: expected a key with the scope {scope}; nothing was done",
            )
    read: list[Command | ProblemError] = []
    for one in asked:
        try:
            read.append(read_command(call.principal.holder, one))
        except ProblemError as problem:
            read.append(problem)
    commands = [one for one in read if not isinstance(one, ProblemError)]
    outcomes = iter(await enter_all(call, "batch", asked, commands))
    # the journal has the other refusals, and a repeated batch was logged the first time
    unreadable = [one for one in read if isinstance(one, ProblemError)]
    if unreadable and not call.replayed:
        call.gateway.refusals.note(
            unreadable[0],
            "sendBatch",
            call.principal,
            call.request.scope,
            call.key,
            times=len(unreadable),
        )
    results = [one if isinstance(one, ProblemError) else next(outcomes) for one in read]
    return BatchDone(tuple([_item(one, call.principal.holder) for one in results]))


def _item(outcome: Applied | ProblemError, holder: str) -> BatchItem:
    if isinstance(outcome, ProblemError):
        return BatchItem(outcome.status, (), outcome.code, outcome.detail)
    refusal = outcome.refusal
    if refusal is None:
        return BatchItem(200, rendered(outcome, holder))
    code = code_of(refusal.reason)
    return BatchItem(STATUS[code], (), code, explain(refusal, holder))


async def enter_all(
    call: Call, name: str, asked: object, commands: Sequence[Command]
) -> list[Applied]:
    """Enter the commands of one request, `asked`, under its Idempotency-Key. Other callers get
    their turn in between.

    The id of the first command is the key itself, so that a key used for another request is found
    before anything is done. The other ids are derived from it. If a crash or a revoked key
    interrupts the request, repeating it carries out the rest.
    """
    principal, gateway = call.principal, call.gateway
    if not principal.is_operator:
        burst = gateway.admission.rate_limit(principal.holder).burst
        if len(commands) > burst:
            raise bad_request(
                f"expected at most {burst} commands, as many as you may send at once, found"
                f" {len(commands)}"
            )
    if not commands:
        return []
    call.admit(principal, len(commands))
    body = digest_of([name, asked])
    applied: list[Applied] = []
    replayed = True
    gateway.admission.promised += len(commands)
    try:
        numbered = list(enumerate(commands))
        async for part in Background(gateway.clock, NO_REST).parts(numbered, ENTERED_AT_ONCE):
            call.check_in_force()
            gateway.admission.check_journal()
            at = gateway.clock.now()  # commands entered together have one time
            for index, command in part:
                id = call.key if index == 0 or not call.key else f"{call.key}{PART}{index}"
                request = Request(principal.holder, principal.key, id, body, command)
                outcome, is_repeat = gateway.submit(request, at)
                replayed = replayed and is_repeat
                applied.append(outcome)
                gateway.admission.promised -= 1
    finally:
        gateway.admission.promised -= len(commands) - len(applied)
    call.replayed = replayed
    return applied


async def preview(call: Call) -> PreviewDone:
    asked = call.body.commands
    if not 1 <= len(asked) <= PREVIEW_COMMANDS_MAX:
        raise bad_request(f"commands: expected 1 to {PREVIEW_COMMANDS_MAX}, found {len(asked)}")
    commands = [_readable(index, one) for index, one in enumerate(asked)]
    return await call.site.previews.of(commands)


def _readable(index: int, asked: OperatorCommand) -> Readable:
    try:
        return read_command(OPERATOR, asked)
    except ProblemError as problem:
        return PreviewRefused(index, problem.code, problem.detail)
