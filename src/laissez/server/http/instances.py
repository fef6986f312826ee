"""Instances: a simple view of the market. Each is one order with one alternative, and then the
lease that the order wins."""

from __future__ import annotations

from laissez.exchange.events import Applied
from laissez.market.commands import Alternative, CancelOrder, PlaceOrder, Relinquish
from laissez.market.topology import DEPTH_MAX, TopologyError
from laissez.server import views
from laissez.server.audit.refusals import Journaled
from laissez.server.http.endpoint import Call, digest_of
from laissez.server.http.messages import bad_request
from laissez.server.http.orders import enter_all, unknown_lease
from laissez.server.http.paging import page_of_owned
from laissez.wire import events as told
from laissez.wire.decoding import read_lease, read_name, read_price
from laissez.wire.ids import INSTANCE, instance_of_order, number_of, tag_of
from laissez.wire.problems import Code, ProblemError
from laissez.wire.rendering import rendered
from laissez.wire.requests import RunInstances
from laissez.wire.texts import explain
from laissez.wire.views import Instance, InstancesDone, Page


async def run(call: Call) -> InstancesDone:
    asked: RunInstances = call.body
    most, holder = call.gateway.limits.instances_per_request_max, call.principal.holder
    if not 1 <= asked.count <= most:
        raise bad_request(f"count: expected 1 to {most}, found {asked.count}")
    if isinstance(asked.level, int) and not 0 <= asked.level < DEPTH_MAX:
        raise bad_request(
            f"level: expected a level's name, or 0 to {DEPTH_MAX - 1} steps up, found {asked.level}"
        )
    price = read_price(asked.max_price, "max_price")
    # A repeat uses the first request's command: the lease named by `near` may be forgotten by now.
    command = call.first_command or PlaceOrder(
        holder, (Alternative(_scope(call, asked), price, price),)
    )
    applied = await enter_all(call, "instances", asked, [command] * asked.count)
    refusals = [one.refusal for one in applied if one.refusal is not None]
    if len(refusals) == len(applied):
        raise Journaled(refusals[0], holder)
    refused = tuple([explain(refusal, holder) for refusal in refusals])
    return InstancesDone(_requested(applied, holder), refused)


def _scope(call: Call, asked: RunInstances) -> str:
    """The scope of the instances, from `type`, `scope` or `near`."""
    if sum(one is not None for one in (asked.type, asked.scope, asked.near)) != 1:
        raise bad_request("expected exactly one of type, scope and near")
    if (asked.near is None) != (asked.level is None):
        raise bad_request("level: expected with near, and only with it")
    if asked.near is not None and asked.level is not None:
        return _near(call, asked.near, asked.level)
    if asked.type is not None and "/" in asked.type:
        raise bad_request(
            f"type: expected the name of a tree, found {asked.type[:200]!r}; for a part of one, use"
            " scope"
        )
    return read_name(asked.type or asked.scope or "", "scope")


def _near(call: Call, lease: str, level: str | int) -> str:
    holder, market = call.principal.holder, call.gateway.exchange.market
    record = market.lease(holder, read_lease(holder, lease))
    if record is None:
        raise unknown_lease(lease)
    if isinstance(level, int):
        above = record.leaf.split("/")
        if level >= len(above):
            raise bad_request(
                f"level: expected 0 to {len(above) - 1} steps up from {record.leaf}, found {level}"
            )
        return "/".join(above[: len(above) - level])
    try:
        return market.topology.ancestor(record.leaf, level)
    except TopologyError as error:
        raise bad_request(f"level: {error}") from None


def _requested(applied: list[Applied], holder: str) -> tuple[Instance, ...]:
    """The instances, from the events alone, so that a repeat gets the same answer."""
    found: dict[str, Instance] = {}
    for event in [one.event for each in applied for one in rendered(each, holder)]:
        if type(event) is told.OrderPlaced:
            id, wanted = instance_of_order(event.order), event.alternatives[0]
            found[event.order] = Instance(
                id, "pending", wanted.scope, None, None, None, wanted.limit, event.at
            )
        elif type(event) is told.LeaseStarted and event.order in found:
            found[event.order] = _leased(found[event.order].id, "running", event)
    return tuple(found.values())


def _leased(id: str, state: str, event: told.LeaseStarted | told.LeaseEnded) -> Instance:
    leaf = event.leaf
    return Instance(id, state, leaf, leaf, event.lease, event.rate, event.limit, event.at)


def list_instances(call: Call) -> Page[Instance]:
    exchange, named = call.gateway.exchange, call.principal.is_operator
    return page_of_owned(call, lambda owner: views.instance_views(exchange, owner, named))


def get_instance(call: Call) -> Instance:
    exchange, named = call.gateway.exchange, call.principal.is_operator
    for account in call.accounts():
        order = number_of(INSTANCE, tag_of(account.name), call.path["id"])
        view = None if order is None else views.instance_view(exchange, account, order, named)
        if view is not None:
            return view
    raise _unknown(call.path["id"])


def stop(call: Call) -> Instance:
    id = call.path["id"]
    # A repeat uses the first request's command: the present state could lead to another one.
    command = call.first_command or _ending(call, id)
    call.enter(command, digest_of(["stop", id]))
    for event in [one.event for one in call.events]:
        if type(event) is told.OrderCancelled and instance_of_order(event.order) == id:
            return Instance(id, "stopped", None, None, None, None, None, event.at)
        if type(event) is told.LeaseEnded and event.reason == "relinquished":
            return _leased(id, "stopped", event)
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
