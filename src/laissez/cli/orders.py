"""`laissez orders`: what you have bid for and not got yet."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from laissez.cli.arguments import AgainOption, AlternativesArgument, TenantOption
from laissez.cli.connection import connected
from laissez.cli.listing import listing, noun
from laissez.cli.output import Format, FormatOption, WatchOption
from laissez.cli.tables import Column, moment, money, show_json, show_one
from laissez.client import Client
from laissez.wire.events import InForce
from laissez.wire.views import Order, OrderDone

app = noun("Orders: what you have bid for and not got yet.")

IdArgument: TypeAlias = Annotated[str, typer.Argument(metavar="ORDER", help="The order's id.")]


def written(alternative: InForce) -> str:
    """As it is typed: h100/rack1@2.00:3.50."""
    bid, limit = money(alternative.bid), money(alternative.limit)
    return f"{alternative.scope}@{limit}" if bid == limit else f"{alternative.scope}@{bid}:{limit}"


ORDERS: list[Column[Order]] = [
    Column("ORDER", lambda order: order.id),
    Column("PLACED", lambda order: moment(order.placed_at)),
    Column("TENANT", lambda order: order.tenant, optional=True),
    Column(
        "ALTERNATIVES $/h", lambda order: "  ".join(written(each) for each in order.alternatives)
    ),
]


@app.command("list")
@connected
def list_orders(
    client: Client,
    tenant: TenantOption = None,
    output: FormatOption = Format.TABLE,
    watch: WatchOption = None,
) -> None:
    """List your open orders, with what is in force."""
    listing(lambda: client.orders(tenant=tenant), ORDERS, output, watch, "no open orders")


@app.command("show")
@connected
def show_order(client: Client, order: IdArgument, output: FormatOption = Format.TABLE) -> None:
    """Show one open order."""
    show_one(client.order(order), ORDERS, output)


@app.command()
@connected
def place(
    client: Client,
    alternatives: AlternativesArgument,
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Place an order for one leaf below any of the scopes; the first that can be had cancels the
    others."""
    tell(client.place(*alternatives, idempotency_key=idempotency_key), output)


@app.command()
@connected
def amend(
    client: Client,
    order: IdArgument,
    alternatives: AlternativesArgument,
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Replace the alternatives of an order."""
    tell(client.amend(order, *alternatives, idempotency_key=idempotency_key), output)


@app.command()
@connected
def cancel(
    client: Client,
    order: IdArgument,
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Cancel an order."""
    tell(client.cancel(order, idempotency_key=idempotency_key), output)


def tell(done: OrderDone, output: Format) -> None:
    if output is Format.JSON:
        show_json(done)
        return
    if done.lease is not None:
        typer.echo(
            f"{done.id} {done.state}: {done.leaf} is yours as {done.lease}, at"
            f" {money(done.rate)} $/h"
        )
        return
    clipped = " (clipped by the band in force)" if done.clipped else ""
    alternatives = ": " + "  ".join(map(written, done.alternatives)) if done.alternatives else ""
    typer.echo(f"{done.id} {done.state}{alternatives}{clipped}")
