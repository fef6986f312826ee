"""`laissez quote`, `run`, `instances`, `orders`, `leases`, `limit`, `release` and `price-history`:
request GPUs, list them, and give them up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import monotonic, sleep
from typing import Annotated, TypeAlias

import typer

from laissez.cli.arguments import alternative, or_none, price, seconds
from laissez.cli.commands import TENANT, IdempotencyOption, add, argument, noun, operation
from laissez.cli.errors import EXIT_FAILED
from laissez.cli.kinds import changes, connected, lists, shows
from laissez.cli.output import Format, FormatOption, arg, opt
from laissez.cli.tables import (
    Column,
    money,
    price_column,
    show,
    show_json,
    time_column,
)
from laissez.cli.texts import alternative_text, event_text
from laissez.client import Alternative, Client
from laissez.wire.events import Numbered
from laissez.wire.ids import INSTANCE, LEASE
from laissez.wire.views import (
    Instance,
    InstancesDone,
    Lease,
    LeaseDone,
    Order,
    OrderDone,
    PriceSegment,
    Quote,
)

POLL_S = 1.0


QUOTES: list[Column[Quote]] = [
    Column("SCOPE", lambda quote: quote.scope),
    price_column("PRICE $/h", lambda quote: quote.price, missing="unavailable"),
    time_column("AT", lambda quote: quote.at),
]
INSTANCES: list[Column[Instance]] = [
    Column("INSTANCE", lambda instance: instance.id),
    Column("STATE", lambda instance: instance.state),
    Column("SCOPE", lambda one: one.scope if one.leaf is None else None, optional=True),
    Column("GPU", lambda instance: instance.leaf, optional=True),
    Column("LEASE", lambda instance: instance.lease, optional=True),
    price_column("RATE $/h", lambda instance: instance.rate, missing=""),
    price_column("MAX $/h", lambda instance: instance.max_price),
    time_column("SINCE", lambda instance: instance.since),
    Column("TENANT", lambda instance: instance.tenant, optional=True),
]
ORDERS: list[Column[Order]] = [
    Column("ORDER", lambda order: order.id),
    time_column("PLACED", lambda order: order.placed_at),
    Column("TENANT", lambda order: order.tenant, optional=True),
    Column("ALTERNATIVES $/h", lambda order: "  ".join(map(alternative_text, order.alternatives))),
]
ORDER_EVENTS: list[Column[Numbered]] = [
    Column("EVENT", lambda one: one.n, right=True),
    time_column("AT", lambda one: one.event.at),
    Column("TYPE", lambda one: str(one.event.__struct_config__.tag)),
    Column("TENANT", lambda one: one.tenant, optional=True),
    Column("DETAILS", lambda one: event_text(one.event, "order")),
]
LEASES: list[Column[Lease]] = [
    Column("LEASE", lambda lease: lease.id),
    Column("GPU", lambda lease: lease.leaf),
    Column("TENANT", lambda lease: lease.tenant, optional=True),
    price_column("RATE $/h", lambda lease: lease.rate),
    price_column("CHARGED $/h", lambda lease: lease.charged),
    price_column("LIMIT $/h", lambda lease: lease.limit),
    Column("COST $", lambda lease: lease.cost, right=True),
    time_column("SINCE", lambda lease: lease.started_at),
    time_column("HELD UNTIL", lambda lease: lease.hold_until, optional=True),
]
PRICE_SEGMENTS: list[Column[PriceSegment]] = [
    time_column("FROM", lambda segment: segment.start),
    time_column("UNTIL", lambda segment: segment.end),
    price_column("RATE $/h", lambda segment: segment.rate, missing="summed up"),
    Column("COST $", lambda segment: segment.cost, right=True),
]


def order_text(done: OrderDone) -> str:
    if done.lease is not None:
        rate = money(done.rate)
        return f"{done.id} {done.state}: {done.leaf} is yours as {done.lease}, at {rate} $/h"
    clipped = " (clipped by the band in force)" if done.clipped else ""
    colon = ": " if done.alternatives else ""
    alternatives = "  ".join(map(alternative_text, done.alternatives))
    return f"{done.id} {done.state}{colon}{alternatives}{clipped}"


OrderArgument: TypeAlias = Annotated[str, arg("The order's id.", metavar="ORDER")]
LeaseArgument: TypeAlias = Annotated[str, arg("The lease's id.", metavar="LEASE")]
AlternativesArgument: TypeAlias = Annotated[
    list[Alternative],
    arg(
        "SCOPE@PRICE, or SCOPE@BID:LIMIT to bid less than you would pay at most.",
        parser=alternative,
        metavar="SCOPE@PRICE",
    ),
]
ORDER_ID, LEASE_ID = argument("id", OrderArgument), argument("id", LeaseArgument)

instances = operation("List your instances.", lists(INSTANCES, "no instances"), "instances")

leases = noun("Your leases: the GPUs that you hold now.")
add(leases, "list", "List your leases.", lists(LEASES, "no leases"), "leases", TENANT)
add(leases, "show", "Show one lease.", shows(LEASES), "lease", LEASE_ID)

orders = noun("Your open orders: bids for GPUs that you have not got yet.")
add(orders, "list", "List your open orders.", lists(ORDERS, "no open orders"), "orders", TENANT)
add(orders, "show", "Show one open order.", shows(ORDERS), "order", ORDER_ID)
add(
    orders,
    "history",
    "List the events of an order, open or gone.",
    lists(ORDER_EVENTS, "its events are no longer kept"),
    "order_history",
    ORDER_ID,
)


@orders.command()
@changes(order_text)
def place(
    client: Client, alternatives: AlternativesArgument, idempotency_key: str | None
) -> OrderDone:
    """Place an order for one GPU in any of these scopes. The first match fills it."""
    return client.place(*alternatives, idempotency_key=idempotency_key)


@orders.command()
@changes(order_text)
def amend(
    client: Client,
    order: OrderArgument,
    alternatives: AlternativesArgument,
    idempotency_key: str | None,
) -> OrderDone:
    """Replace the alternatives of an order."""
    return client.amend(order, *alternatives, idempotency_key=idempotency_key)


add(orders, "cancel", "Cancel an order.", changes(order_text), "cancel", ORDER_ID)


@lists(QUOTES, empty="nothing to quote")
def quote(
    client: Client,
    scope: Annotated[str | None, arg("Such as h100/rack1. Default: all you may see.")] = None,
) -> Iterable[Quote]:
    """Show the lowest price at which you would get a GPU now."""
    return client.quotes() if scope is None else (client.quote(scope),)


@connected
def run(
    client: Client,
    max_price: Annotated[str, opt("The most for each, in $/h.", parser=price, metavar="PRICE")],
    type: Annotated[str | None, opt("A type of GPU, such as h100.")] = None,
    scope: Annotated[str | None, opt("A part of the cluster, such as h100/rack1.")] = None,
    near: Annotated[str | None, opt("Run in the --level of this lease.", metavar="LEASE")] = None,
    level: Annotated[str | None, opt("With --near: a level (rack), or steps up from it.")] = None,
    count: Annotated[int, opt("The number of instances.", min=1)] = 1,
    wait: Annotated[bool, opt("Wait until all run; exit status 1 if one fails.", "--wait")] = False,
    timeout: Annotated[
        float | None, opt("With --wait: at most this long.", parser=seconds, metavar="DURATION")
    ] = None,
    idempotency_key: IdempotencyOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Request instances, up to a price. They run when, and as long as, the market lets them."""
    if sum(given is not None for given in (type, scope, near)) != 1:
        raise typer.BadParameter("expected exactly one of --type, --scope and --near")
    if (near is None) != (level is None):
        raise typer.BadParameter("expected --near and --level together")
    done = client.run(
        type=type,
        scope=scope,
        near=near,
        level=int(level) if level is not None and level.isdecimal() else level,
        count=count,
        max_price=max_price,
        idempotency_key=idempotency_key,
    )
    found = wait_for(client, done.instances, timeout) if wait else done.instances
    if output is Format.JSON:
        show_json(InstancesDone(instances=tuple(found), refused=done.refused))
    else:
        show(found, INSTANCES)
    for reason in done.refused:
        typer.echo(f"refused: {reason}", err=True)
    if done.refused or (wait and any(instance.state != "running" for instance in found)):
        raise typer.Exit(EXIT_FAILED)


def wait_for(
    client: Client, instances: Sequence[Instance], timeout_s: float | None
) -> Sequence[Instance]:
    """The instances once none is pending, or after the timeout, which cancels nothing."""
    latest = {instance.id: instance for instance in instances}
    deadline = None if timeout_s is None else monotonic() + timeout_s
    while pending := [instance for instance in latest.values() if instance.state == "pending"]:
        if deadline is not None and monotonic() >= deadline:
            typer.echo(
                f"{len(pending)} still pending; cancel with `laissez release INSTANCE`", err=True
            )
            break
        sleep(POLL_S)
        latest |= {instance.id: client.instance(instance.id) for instance in pending}
    return tuple(latest.values())


def limit_text(done: LeaseDone) -> str:
    unit = "" if done.limit is None else " $/h"
    return f"{done.id} {done.state}, limit {money(done.limit)}{unit}"


@changes(limit_text)
def limit(
    client: Client,
    lease: LeaseArgument,
    price: Annotated[
        str,
        arg("$ per hour; none: any price.", parser=or_none(price), metavar="PRICE|none"),
    ],
    idempotency_key: str | None,
) -> LeaseDone:
    """Set the most you will pay for a lease. A rate above it ends the lease at once."""
    limit = None if price == "none" else price
    return client.set_limit(lease, limit, idempotency_key=idempotency_key)


@changes("{done.id} {done.state}")
def release(
    client: Client,
    target: Annotated[str, arg("The id of the lease or instance.", metavar="LEASE|INSTANCE")],
    idempotency_key: str | None,
) -> LeaseDone | Instance:
    """Give up a lease, or stop an instance."""
    if target.startswith(LEASE):
        return client.relinquish(target, idempotency_key=idempotency_key)
    if target.startswith(INSTANCE):
        return client.stop(target, idempotency_key=idempotency_key)
    raise typer.BadParameter(
        f"expected a lease ({LEASE}...) or an instance ({INSTANCE}...), found {target!r};"
        " orders end with `laissez orders cancel`"
    )


@lists(PRICE_SEGMENTS, empty="nothing was charged yet")
def price_history(client: Client, lease: LeaseArgument) -> Iterable[PriceSegment]:
    """Show what a lease was charged, and when."""
    return client.price_history(lease).segments
