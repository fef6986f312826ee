"""Instances: the market for those who only want machines. Each is one order with one alternative,
and then the lease that the order wins."""

from __future__ import annotations

import hashlib

from laissez.exchange.events import Applied
from laissez.market.commands import Alternative, CancelOrder, PlaceOrder, Relinquish
from laissez.market.topology import DEPTH_MAX, TopologyError
from laissez.server import views
from laissez.server.http.call import Answer, Call
from laissez.server.http.leases import unknown as no_lease
from laissez.server.http.orders import enter_all, refuse_all_refused
from laissez.server.http.paging import of_accounts
from laissez.wire import events as told
from laissez.wire.decoding import read_lease, read_name, read_price
from laissez.wire.ids import INSTANCE, instance_of_order, number_of, tag_of
from laissez.wire.problems import Code, ProblemError
from laissez.wire.rendering import rendered
from laissez.wire.requests import RunInstances
from laissez.wire.texts import explain
from laissez.wire.views import Instance, InstancesDone


async def run(call: Call) -> Answer:
    asked: RunInstances = call.body
    most = call.gateway.limits.instances_per_request_max
    if not 1 <= asked.count <= most:
        raise ProblemError(Code.BAD_REQUEST, f"count: expected 1 to {most}, found {asked.count}")
    if isinstance(asked.level, int) and not 0 <= asked.level < DEPTH_MAX:
        raise ProblemError(
            Code.BAD_REQUEST,
            f"level: expected a level's name, or 0 to {DEPTH_MAX - 1} steps up, found"
            f" {asked.level}",
        )
    price = read_price(asked.max_price, "max_price")
    # Sent again, it is the command of the first time: the lease that it is to be near may be
    # forgotten by now.
    command = call.first_command or PlaceOrder(
        call.principal.holder, (Alternative(_scope(call, asked), price, price),)
    )
    applied = await enter_all(call, "instances", asked, [command] * asked.count)
    refuse_all_refused(call, applied)
    refused = tuple(
        [explain(one.refusal, call.principal.holder) for one in applied if one.refusal is not None]
    )
    return Answer(InstancesDone(tuple(_started(applied, call.principal.holder)), refused))


def _scope(call: Call, asked: RunInstances) -> str:
    """Where the instances may be, from the one of the three that is given."""
    if sum(one is not None for one in (asked.type, asked.scope, asked.near)) != 1:
        raise ProblemError(Code.BAD_REQUEST, "expected exactly one of type, scope and near")
    if (asked.near is None) != (asked.level is None):
        raise ProblemError(Code.BAD_REQUEST, "level: expected with near, and only with it")
    if asked.near is not None and asked.level is not None:
        return _near(call, asked.near, asked.level)
    if asked.type is not None and "/" in asked.type:
        raise ProblemError(
            Code.BAD_REQUEST,
            f"type: expected the name of a tree, found {asked.type[:200]!r}; for a part of one, use"
            " scope",
        )
    return read_name(asked.type or asked.scope or "", "scope")


def _near(call: Call, lease: str, level: str | int) -> str:
    holder = call.principal.holder
    record = call.gateway.exchange.market.lease(holder, read_lease(holder, lease))
    if record is None:
        raise no_lease(lease)
    if isinstance(level, int):
        above = record.leaf.split("/")
        if not 0 <= level < len(above):
            raise ProblemError(
                Code.BAD_REQUEST,
                f"level: expected 0 to {len(above) - 1} steps up from {record.leaf}, found {level}",
            )
        return "/".join(above[: len(above) - level])
    try:
        return call.gateway.exchange.market.topology.ancestor(record.leaf, level)
    except TopologyError as error:
        raise ProblemError(Code.BAD_REQUEST, f"level: {error}") from None


def _started(applied: list[Applied], holder: str) -> list[Instance]:
    """The instances, read off the events of all the commands together: told again, they are the
    same."""
    found: dict[str, Instance] = {}
    for one in applied:
        for one_event in rendered(one, holder):
            event = one_event.event
            if type(event) is told.OrderPlaced:
                wanted = event.alternatives[0]
                id = instance_of_order(event.order)
                found[event.order] = Instance(
                    id, "pending", wanted.scope, None, None, None, wanted.limit, event.at
                )
            elif type(event) is told.LeaseStarted and event.order in found:
                id = instance_of_order(event.order)
                found[event.order] = Instance(
                    id,
                    "running",
                    event.leaf,
                    event.leaf,
                    event.lease,
                    event.rate,
                    event.limit,
                    event.at,
                )
    return list(found.values())


def listed(call: Call) -> Answer:
    named = call.principal.is_operator
    exchange = call.gateway.exchange
    return Answer(
        of_accounts(
            call,
            "instances",
            lambda account: views.instance_views(exchange, account, named),
            lambda one: one.id,
            lambda one: one.tenant,
        )
    )


def shown(call: Call) -> Answer:
    for account in call.accounts():
        order = number_of(INSTANCE, tag_of(account.name), call.path["id"])
        view = (
            None
            if order is None
            else views.instance_view(
                call.gateway.exchange, account, order, call.principal.is_operator
            )
        )
        if view is not None:
            return Answer(view)
    raise _unknown(call.path["id"])


def stop(call: Call) -> Answer:
    id = call.path["id"]
    body = hashlib.blake2b(b"stop " + id.encode(), digest_size=8).digest()
    # what it was the first time can no longer be told from the state
    command = call.first_command or _ending(call, id)
    applied = call.enter(command, body)
    for one_event in rendered(applied, call.principal.holder):
        event = one_event.event
        if type(event) is told.OrderCancelled and instance_of_order(event.order) == id:
            return Answer(Instance(id, "stopped", None, None, None, None, None, event.at))
        if type(event) is told.LeaseEnded and event.reason == "relinquished":
            return Answer(
                Instance(
                    id,
                    "stopped",
                    event.leaf,
                    event.leaf,
                    event.lease,
                    event.rate,
                    event.limit,
                    event.at,
                )
            )
    raise AssertionError(f"stopping {id} caused no end")


def _ending(call: Call, instance: str) -> CancelOrder | Relinquish:
    exchange, account = call.gateway.exchange, call.account
    order = number_of(INSTANCE, tag_of(account.name), instance)
    if order is None:
        raise _unknown(instance)
    lease = views.lease_of_order(exchange, account, order)
    if lease is None:
        if exchange.market.order(account.name, order) is None:
            raise _unknown(instance)
        return CancelOrder(account.name, order)
    if lease.end is not None:
        raise ProblemError(Code.CONFLICT, f"the instance {instance!r} has stopped already")
    return Relinquish(account.name, lease.lease)


def _unknown(instance: str) -> ProblemError:
    return ProblemError(Code.NOT_FOUND, f"you have no instance {instance!r}")
