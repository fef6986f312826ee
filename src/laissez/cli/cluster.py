"""`laissez market`, `topology`, `resources`, `book`, `floor` and `controls`: the cluster, supply
and demand at a node, and the prices and controls that the operator sets."""

from __future__ import annotations

from functools import partial
from typing import Annotated, TypeAlias

import typer

from laissez.cli.arguments import band, price, seconds
from laissez.cli.commands import add, argument, noun, operation, option
from laissez.cli.kinds import Send, answers, changes, lists, previews
from laissez.cli.output import arg, opt
from laissez.cli.tables import (
    Column,
    money,
    number_column,
    price_column,
    show,
    show_one,
    time_column,
)
from laissez.cli.texts import band_text
from laissez.client import Client
from laissez.wire.books import Ask, Bid, NodeBook
from laissez.wire.requests import (
    BandSetting,
    BringOnline,
    OperatorCommand,
    SetControls,
    SetFloor,
    TakeOffline,
)
from laissez.wire.views import Controls, Floor, MarketSummary, Node, Resource

resources = noun("The GPUs of the cluster (operator).")
floors = noun("Floors: the lowest price of everything below a node (operator).")
controls = noun("Controls: bands, holds and flash fees (operator).")

NodeArgument: TypeAlias = Annotated[str, arg("A node, such as h100/rack1.", metavar="NODE")]
GpuArgument: TypeAlias = Annotated[str, arg("A GPU, such as h100/rack1/host0/gpu3.", metavar="GPU")]
BandOption: TypeAlias = Annotated[
    BandSetting | None,
    opt(
        "The largest change of prices within a time, such as 10%/1h.",
        parser=band,
        metavar="FRACTION/DURATION",
    ),
]
NODE = argument("node", NodeArgument)


def _seconds_text(duration: float | None) -> str | None:
    return None if duration is None else f"{duration:g}"


def _controls_text(controls: Controls) -> str:
    settings = {
        "rise": band_text(controls.rise),
        "fall": band_text(controls.fall),
        "hold": None if controls.hold_s is None else f"{controls.hold_s:g}s",
        "flash": None if controls.flash_s is None else f"{controls.flash_s:g}s",
    }
    return ", ".join(f"{name} {text}" for name, text in settings.items() if text) or "none"


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
FLOORS: list[Column[Floor]] = [
    Column("NODE", lambda floor: floor.node),
    price_column("OWN $/h", lambda floor: floor.own, missing=""),
    price_column("IN FORCE $/h", lambda floor: floor.in_force),
]
CONTROLS: list[Column[Controls]] = [
    Column("NODE", lambda node: node.node),
    Column("RISE", lambda node: band_text(node.rise), right=True),
    Column("FALL", lambda node: band_text(node.fall), right=True),
    Column("HOLD s", lambda node: _seconds_text(node.hold_s), right=True),
    Column("FLASH s", lambda node: _seconds_text(node.flash_s), right=True),
]

UNDER = option("under", Annotated[str | None, arg("Only GPUs below this node.", metavar="NODE")])
PARENT = option("node", Annotated[str | None, arg("A node. Default: the GPU types.")])

add(resources, "list", "List GPUs.", lists(RESOURCES, "no GPUs"), "resources", UNDER)
topology = operation(
    "Show the nodes of the cluster, a level at a time.",
    lists(NODES, "no resources"),
    "topology",
    PARENT,
)


@lists(MARKET)
def market(client: Client) -> tuple[MarketSummary]:
    """Show totals of the whole market (operator)."""
    return (client.market(),)


@resources.command()
@previews("{gpu} is offline")
def offline(client: Client, gpu: GpuArgument) -> tuple[OperatorCommand, Send]:
    """Take a GPU out of the market. If it is leased, the lease ends at once."""
    return TakeOffline(leaf=gpu), partial(client.set_online, gpu, False)


@resources.command()
@previews("{gpu} is online")
def online(client: Client, gpu: GpuArgument) -> tuple[OperatorCommand, Send]:
    """Put a GPU back into the market."""
    return BringOnline(leaf=gpu), partial(client.set_online, gpu, True)


def print_book(found: NodeBook) -> None:
    show_one(found, BOOK)
    typer.echo()
    show(found.bids, BIDS, empty="no bids")
    _print_more(found.bids_more)
    typer.echo()
    show(found.asks, ASKS, empty="no asks")
    _print_more(found.asks_more)


def _print_more(prices: int) -> None:
    if prices:
        typer.echo(f"and {prices:,} more prices")


book = operation("Show bids and asks at a node (operator).", answers(print_book), "book", NODE)
add(floors, "list", "List the floors.", lists(FLOORS, "no floors"), "floors")


@floors.command("set")
@previews("the floor of {node} is set")
def set_floor(
    client: Client,
    node: NodeArgument,
    floor: Annotated[str, arg("Dollars per hour.", parser=price, metavar="PRICE")],
) -> tuple[OperatorCommand, Send]:
    """Set the floor of a node. A rise band may let it rise only in steps."""
    return SetFloor(node=node, price=floor), partial(client.set_floor, node, floor)


NO_FLOOR = changes("{node} has no floor of its own")
add(floors, "remove", "Remove the floor of a node.", NO_FLOOR, "remove_floor", NODE)
add(controls, "list", "List the controls.", lists(CONTROLS, "no controls"), "controls")


@controls.command("set")
@previews("the controls of {node} are set")
def set_controls(
    client: Client,
    node: NodeArgument,
    rise: BandOption = None,
    fall: BandOption = None,
    hold: Annotated[
        float | None, opt("The minimum hold of a lease.", parser=seconds, metavar="DURATION")
    ] = None,
    flash: Annotated[
        float | None,
        opt("The least time a rising bid pays for.", parser=seconds, metavar="DURATION"),
    ] = None,
) -> tuple[OperatorCommand, Send]:
    """Replace all controls of a node. Those that you leave out are inherited."""
    if (rise, fall, hold, flash) == (None, None, None, None):
        raise typer.BadParameter(
            "expected at least one of --rise, --fall, --hold and --flash; `laissez controls remove`"
            " removes them all"
        )
    command = SetControls(node=node, rise=rise, fall=fall, hold_s=hold, flash_s=flash)
    send = partial(client.set_controls, node, rise=rise, fall=fall, hold_s=hold, flash_s=flash)
    return command, send


NO_CONTROLS = changes("{node} has no controls of its own")
add(controls, "remove", "Remove the controls of a node.", NO_CONTROLS, "remove_controls", NODE)
