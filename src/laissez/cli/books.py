"""`laissez book`: the orders that wait around a node and the leaves that could be had there."""

from __future__ import annotations

from typing import Annotated

import typer

from laissez.cli.connection import connected
from laissez.cli.output import Format, FormatOption
from laissez.cli.pricing import written
from laissez.cli.tables import Column, moment, money, show, show_json, show_one
from laissez.client import Client
from laissez.wire.books import Ask, Bid, NodeBook
from laissez.wire.views import Controls

FIGURES: list[Column[NodeBook]] = [
    Column("NODE", lambda book: book.node),
    Column("LEVEL", lambda book: book.level),
    Column("AT", lambda book: moment(book.at)),
    Column(
        "LEAVES", lambda book: f"{book.leaves:,}, {book.online:,} online, {book.leased:,} leased"
    ),
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
    Column("RATE $/h", lambda book: money(book.standing_rate)),
    Column(
        "BEST BID $/h", lambda book: "none here" if book.best_bid is None else money(book.best_bid)
    ),
    Column("QUOTE $/h", lambda book: "not to be had" if book.quote is None else money(book.quote)),
    Column("CHARGED $/h", lambda book: money(book.rate_now)),
    Column("CONTROLS", lambda book: _controls(book.controls_in_force)),
]
BIDS: list[Column[Bid]] = [
    Column("BID UP TO $/h", lambda bid: money(bid.price), right=True),
    Column("ORDERS", lambda bid: f"{bid.orders:,}", right=True),
    Column("HERE", lambda bid: f"{bid.here:,}", right=True),
]
ASKS: list[Column[Ask]] = [
    Column(
        "ASK $/h",
        lambda ask: "not to be had" if ask.price is None else money(ask.price),
        right=True,
    ),
    Column("LEAVES", lambda ask: f"{ask.leaves:,}", right=True),
]


@connected
def book(
    client: Client,
    node: Annotated[
        str, typer.Argument(help="A node of the topology, such as h100 or h100/rack1.")
    ],
    output: FormatOption = Format.TABLE,
) -> None:
    """Show what rests around a node and what could be had there (operator)."""
    found = client.book(node)
    if output is Format.JSON:
        show_json(found)
        return
    show_one(found, FIGURES, output)
    typer.echo()
    show(found.bids, BIDS, output, "no bids")
    _tell_more(found.bids_more)
    typer.echo()
    show(found.asks, ASKS, output, "no asks")
    _tell_more(found.asks_more)


def _tell_more(prices: int) -> None:
    if prices:
        typer.echo(f"and {prices:,} more prices")


def _controls(controls: Controls) -> str:
    settings = {
        "rise": written(controls.rise),
        "fall": written(controls.fall),
        "hold": _seconds(controls.hold_s),
        "flash": _seconds(controls.flash_s),
    }
    return (
        ", ".join(f"{kind} {text}" for kind, text in settings.items() if text is not None) or "none"
    )


def _seconds(duration: float | None) -> str | None:
    return None if duration is None else f"{duration:g}s"
