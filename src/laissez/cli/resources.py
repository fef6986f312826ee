"""`laissez market`, `topology`, `resources` and `book`: the cluster, its GPUs, and the supply and
demand at a node."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Annotated, TypeAlias

import typer

from laissez.cli.commands import connected, lists, noun
from laissez.cli.output import Format, FormatOption
from laissez.cli.preview import Send, previews
from laissez.cli.pricing import band_text
from laissez.cli.tables import (
    Column,
    money,
    number_column,
    price_column,
    show,
    show_json,
    show_one,
    time_column,
)
from laissez.client import Client
from laissez.wire.books import Ask, Bid, NodeBook
from laissez.wire.requests import BringOnline, OperatorCommand, TakeOffline
from laissez.wire.views import Controls, MarketSummary, Node, Resource

app = noun("The GPUs of the cluster: list them, take them offline or online (operator).")

GpuArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="GPU", help="The path of a GPU, such as h100/rack1/host0/gpu3.")
]

RESOURCES: list[Column[Resource]] = [
    Column("GPU", lambda leaf: leaf.leaf),
    Column("STATE", lambda leaf: "online" if leaf.online else "offline"),
    Column("OWNER", lambda leaf: leaf.owner or "-"),
    price_column("RATE $/h", lambda leaf: leaf.rate),
    price_column("FLOOR $/h", lambda leaf: leaf.floor),
    Column("LIMIT $/h", lambda leaf: "" if leaf.owner is None else money(leaf.limit), right=True),
]
NODES: list[Column[Node]] = [
    Column("NODE", lambda node: node.path),
    Column("LEVEL", lambda node: node.level, optional=True),
    number_column("GPUS", lambda node: node.leaves),
    number_column("CHILDREN", lambda node: len(node.children)),
]
MARKET: list[Column[MarketSummary]] = [
    time_column("AT", lambda market: market.at),
    number_column("GPUS", lambda market: market.leaves),
    number_column("ONLINE", lambda market: market.online),
    number_column("LEASED", lambda market: market.leased),
    number_column("OPEN ORDERS", lambda market: market.open_orders),
    number_column("TENANTS", lambda market: market.tenants),
    price_column("RATE $/h", lambda market: market.rate_now),
    Column("REVENUE $", lambda market: market.revenue, right=True),
]
BOOK: list[Column[NodeBook]] = [
    Column("NODE", lambda book: book.node),
    Column("LEVEL", lambda book: book.level),
    time_column("AT", lambda book: book.at),
    Column("GPUS", lambda book: f"{book.leaves:,}, {book.online:,} online, {book.leased:,} leased"),
    Column(
        "ORDERS",
        lambda book: (
            f"{book.orders_here:,} here, {book.orders_above:,} above, {book.orders_below:,} below"
        ),
    ),
    Column(
        "FLOOR $/h",
        lambda book: f"{money(book.floor_in_force)} in force, {money(book.floor_own)} set here",
    ),
    price_column("RATE $/h", lambda book: book.standing_rate),
    price_column("BEST BID $/h", lambda book: book.best_bid, missing="none here"),
    price_column("QUOTE $/h", lambda book: book.quote, missing="unavailable"),
    price_column("CHARGED $/h", lambda book: book.rate_now),
    Column("CONTROLS", lambda book: _controls_text(book.controls_in_force)),
]
BIDS: list[Column[Bid]] = [
    price_column("BID UP TO $/h", lambda bid: bid.price),
    number_column("ORDERS", lambda bid: bid.orders),
    number_column("HERE", lambda bid: bid.here),
]
ASKS: list[Column[Ask]] = [
    price_column("ASK $/h", lambda ask: ask.price, missing="unavailable"),
    number_column("GPUS", lambda ask: ask.leaves),
]


def _controls_text(controls: Controls) -> str:
    settings = {
        "rise": band_text(controls.rise),
        "fall": band_text(controls.fall),
        "hold": None if controls.hold_s is None else f"{controls.hold_s:g}s",
        "flash": None if controls.flash_s is None else f"{controls.flash_s:g}s",
    }
    return ", ".join(f"{name} {text}" for name, text in settings.items() if text) or "none"


@app.command("list")
@lists(RESOURCES, empty="no GPUs")
def list_resources(
    client: Client,
    under: Annotated[
        str | None, typer.Argument(metavar="NODE", help="Only the GPUs below this node.")
    ] = None,
) -> Iterable[Resource]:
    """List GPUs with owner, rate, floor and limit."""
    return client.resources(under)


@app.command()
@previews("{gpu} is offline")
def offline(client: Client, gpu: GpuArgument) -> tuple[OperatorCommand, Send]:
    """Take a GPU out of the market. If it is leased, the lease ends at once."""
    return TakeOffline(leaf=gpu), partial(client.set_online, gpu, False)


@app.command()
@previews("{gpu} is online")
def online(client: Client, gpu: GpuArgument) -> tuple[OperatorCommand, Send]:
    """Put a GPU back into the market."""
    return BringOnline(leaf=gpu), partial(client.set_online, gpu, True)


@lists(NODES, empty="no resources")
def topology(
    client: Client,
    node: Annotated[
        str | None,
        typer.Argument(metavar="NODE", help="This node and its children. Default: the GPU types."),
    ] = None,
) -> Iterable[Node]:
    """Show the tree of the cluster, a level at a time."""
    return client.topology(node)


@lists(MARKET)
def market(client: Client) -> Iterable[MarketSummary]:
    """Show totals of the whole market (operator)."""
    return (client.market(),)


@connected
def book(
    client: Client,
    node: Annotated[
        str, typer.Argument(metavar="NODE", help="A node of the topology, such as h100/rack1.")
    ],
    output: FormatOption = Format.TABLE,
) -> None:
    """Show the open orders around a node and the GPUs that they could get there (operator)."""
    found = client.book(node)
    if output is Format.JSON:
        show_json(found)
        return
    show_one(found, BOOK, output)
    typer.echo()
    show(found.bids, BIDS, output, "no bids")
    _print_more(found.bids_more)
    typer.echo()
    show(found.asks, ASKS, output, "no asks")
    _print_more(found.asks_more)


def _print_more(prices: int) -> None:
    if prices:
        typer.echo(f"and {prices:,} more prices")
