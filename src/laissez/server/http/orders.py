"""Orders: place, list, amend, cancel; and batches of commands."""

from __future__ import annotations

from collections.abc import Sequence

from laissez.exchange.commands import Command
from laissez.exchange.events import Applied
from laissez.market.commands import AmendOrder, CancelOrder, PlaceOrder
from laissez.market.reasons import Reason
from laissez.server import views
from laissez.server.audit.refusals import Journaled
from laissez.server.background import NO_REST, Background
from laissez.server.http.call import Answer, Call, digest_of
from laissez.server.http.paging import of_accounts
from laissez.wire import events as told
from laissez.wire.decoding import SCOPE_OF, read_alternatives, read_command, read_order
from laissez.wire.problems import STATUS, Code, ProblemError
from laissez.wire.rendering import rendered
from laissez.wire.texts import code_of, explain, no_order
from laissez.wire.views import BatchDone, BatchItem, OrderDone

# between a request's id and the number of one of its commands; no client's own id may hold it
PART = "\t"


def place(call: Call) -> Answer:
    alternatives = read_alternatives(call.body.alternatives)
    return _done(call, call.enter(PlaceOrder(call.principal.holder, alternatives)))


def amend(call: Call) -> Answer:
    holder = call.principal.holder
    order = read_order(holder, call.path["id"])
    alternatives = read_alternatives(call.body.alternatives)
    return _done(call, call.enter(AmendOrder(holder, order, alternatives)))


def cancel(call: Call) -> Answer:
    holder = call.principal.holder
    return _done(call, call.enter(CancelOrder(holder, read_order(holder, call.path["id"]))))


def _done(call: Call, applied: Applied) -> Answer:
    return Answer(order_done(applied, call.principal.holder))


def order_done(applied: Applied, holder: str) -> OrderDone:
    """What became of the order, read off the events alone: told again, it is the same."""
    events = rendered(applied, holder)
    id, state, clipped = "", "open", False
    alternatives: tuple[told.InForce, ...] = ()
    lease = leaf = rate = None
    for one in events:
        event = one.event
        if type(event) is told.OrderPlaced or type(event) is told.OrderAmended:
            id, alternatives, clipped = event.order, event.alternatives, event.clipped
        elif type(event) is told.OrderCancelled:
            id, state = event.order, "cancelled"
        elif type(event) is told.LeaseStarted and event.order == id:
            state, lease, leaf, rate = "filled", event.lease, event.leaf, event.rate
    return OrderDone(id, state, alternatives, clipped, lease, leaf, rate, events)


def listed(call: Call) -> Answer:
    named = call.principal.is_operator
    exchange = call.gateway.exchange
    return Answer(
        of_accounts(
            call,
            "orders",
            lambda account: views.order_views(exchange, account, named),
            lambda order: order.id,
            lambda order: order.tenant,
        )
    )


def shown(call: Call) -> Answer:
    name = call.path["id"]
    for account in call.accounts():
        view = views.order_view(call.gateway.exchange, account, name, call.principal.is_operator)
        if view is not None:
            return Answer(view)
    raise ProblemError(Reason.NOT_YOUR_ORDER, no_order(name))


# -- batches


async def batch(call: Call) -> Answer:
    asked = call.body.commands
    limits = call.gateway.limits
    if not 1 <= len(asked) <= limits.batch_commands_max:
        raise ProblemError(
            Code.BAD_REQUEST,
            f"commands: expected 1 to {limits.batch_commands_max}, found {len(asked)}",
        )
    for index, one in enumerate(asked):
        if SCOPE_OF[type(one)] not in call.principal.scopes:
            raise ProblemError(
                Code.FORBIDDEN,
                f"commands[{index}]: expected a key with the scope {SCOPE_OF[type(one)]}; nothing"
                " was done",
            )
    read: list[Command | BatchItem] = []
    unreadable: list[ProblemError] = []
    for one in asked:
        try:
            read.append(read_command(call.principal.holder, one))
        except ProblemError as problem:
            unreadable.append(problem)
            read.append(BatchItem(problem.status, (), problem.code, problem.detail))
    commands = [one for one in read if not isinstance(one, BatchItem)]
    outcomes = iter(await enter_all(call, "batch", asked, commands))
    # the journal has the others, and a batch that is sent again is not a new one
    if unreadable and not call.replayed:
        call.gateway.refusals.note(
            unreadable[0], "sendBatch", call.principal, call.scope, call.key, times=len(unreadable)
        )
    return Answer(
        BatchDone(
            tuple(
                [one if isinstance(one, BatchItem) else _item(call, next(outcomes)) for one in read]
            )
        )
    )


async def enter_all(
    call: Call, name: str, asked: object, commands: Sequence[Command]
) -> list[Applied]:
    """Have all of them carried out under one Idempotency-Key, which stands for what was `asked`:
    the first under the key itself, so that a key that was used for anything else is found before
    anything is done; the others under ids made from it. Others have their turn in between. Sent
    again after a crash in the middle, or when the caller's key was revoked meanwhile, the rest is
    done then."""
    principal, gateway = call.principal, call.gateway
    if (
        not principal.is_operator
        and len(commands) > gateway.admission.rate_limit(principal.holder).burst
    ):
        burst = gateway.admission.rate_limit(principal.holder).burst
        raise ProblemError(
            Code.BAD_REQUEST,
            f"expected at most {burst} commands, as many as you may send at once, found"
            f" {len(commands)}",
        )
    if not commands:
        return []
    call.admit(principal, len(commands))
    body = digest_of([name, asked])
    applied: list[Applied] = []
    replayed = True
    gateway.admission.promised += len(commands)
    try:
        async for index, command in Background(gateway.clock, NO_REST).of(enumerate(commands)):
            call.check_in_force()
            gateway.admission.check_journal()
            id = call.key if index == 0 or not call.key else f"{call.key}{PART}{index}"
            result = gateway.enter(principal.holder, principal.key, id, command, None, body)
            replayed = replayed and result.replayed
            applied.append(result.applied)
            gateway.admission.promised -= 1
    finally:
        gateway.admission.promised -= len(commands) - len(applied)
    call.replayed = replayed
    return applied


def _item(call: Call, applied: Applied) -> BatchItem:
    refusal, holder = applied.refusal, call.principal.holder
    if refusal is not None:
        code = code_of(refusal)
        return BatchItem(STATUS[code], (), code, explain(refusal, holder))
    return BatchItem(200, rendered(applied, holder))


def refuse_all_refused(call: Call, applied: list[Applied]) -> None:
    """Where not one of several was carried out, the first reason is the answer."""
    first = applied[0].refusal
    if first is not None and all(one.refusal is not None for one in applied):
        raise Journaled(first, call.principal.holder)
