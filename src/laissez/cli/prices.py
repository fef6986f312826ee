"""`laissez quote` and `laissez price-history`: what a resource would cost, and what a lease did
cost."""

from __future__ import annotations

from typing import Annotated

import typer

from laissez.cli.connection import connected
from laissez.cli.listing import listing
from laissez.cli.output import Format, FormatOption, WatchOption
from laissez.cli.tables import Column, moment, money
from laissez.client import Client
from laissez.wire.views import PriceSegment, Quote

QUOTES: list[Column[Quote]] = [
    Column("SCOPE", lambda quote: quote.scope),
    Column(
        "PRICE $/h",
        lambda quote: "not to be had" if quote.price is None else money(quote.price),
        right=True,
    ),
    Column("AT", lambda quote: moment(quote.at)),
]
SEGMENTS: list[Column[PriceSegment]] = [
    Column("FROM", lambda segment: moment(segment.start)),
    Column("UNTIL", lambda segment: moment(segment.end)),
    Column(
        "RATE $/h",
        lambda segment: "summed up" if segment.rate is None else money(segment.rate),
        right=True,
    ),
    Column("COST $", lambda segment: segment.cost, right=True),
]


@connected
def quote(
    client: Client,
    scope: Annotated[
        str | None,
        typer.Argument(
            help=(
                "A node of the topology, such as h100 or h100/rack1; all you may ask about unless"
                " given."
            )
        ),
    ] = None,
    output: FormatOption = Format.TABLE,
    watch: WatchOption = None,
) -> None:
    """Show the least price that wins a resource now."""
    listing(
        lambda: client.quotes() if scope is None else (client.quote(scope),),
        QUOTES,
        output,
        watch,
        "there is nothing to quote",
    )


@connected
def price_history(
    client: Client,
    lease: Annotated[str, typer.Argument(help="The lease's id.")],
    output: FormatOption = Format.TABLE,
    watch: WatchOption = None,
) -> None:
    """Show what a lease was charged, and when."""
    listing(
        lambda: client.price_history(lease).segments,
        SEGMENTS,
        output,
        watch,
        "nothing was charged yet",
    )
