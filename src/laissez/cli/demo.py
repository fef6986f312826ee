"""`laissez demo`: the paper's example (section 4.2), played on a real market.

Tenant A owns GPU g. Tenant B holds the GPU beside it and wants a second one in the same NVLink
domain. B's order presses, A pays more and keeps g until a checkpoint makes leaving cheap; then g
moves to B at once.
"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from laissez.market import (
    AdvanceTime,
    Alternative,
    Command,
    Event,
    LeaseEnded,
    LeaseStarted,
    Market,
    OrderPlaced,
    PlaceOrder,
    SetFloor,
    SetLimit,
    Topology,
    at_market,
)
from laissez.units import dollars, format_price, parse_price

MINUTE_US = 60_000_000
HOST = "h100/rack1/host1"  # one host is one NVLink domain
TOPOLOGY = Topology.from_mapping(
    {
        "h100": {
            "levels": ["type", "rack", "host", "gpu"],
            "tree": {"rack[1-2]": {"host1": ["gpu[0-1]"]}},
        }
    }
)

STORY: list[tuple[int, str, Command]] = [
    (0, "The operator offers every H100 at 4.82 $/h.", SetFloor("h100", parse_price("4.82"))),
    (
        0,
        "A starts a training job on one GPU, and would pay up to 9.",
        PlaceOrder("A", (at_market(f"{HOST}/gpu0", parse_price("9")),)),
    ),
    (
        0,
        "B starts on the GPU beside it.",
        PlaceOrder("B", (at_market(f"{HOST}/gpu1", parse_price("12")),)),
    ),
    (
        20,
        (
            "B wants one more in its NVLink domain: it bids 6.50 there, up to 8. That is below A's"
            " limit, so A keeps its GPU and pays B's bid."
        ),
        PlaceOrder("B", (Alternative(HOST, parse_price("6.50"), parse_price("8")),)),
    ),
    (
        50,
        (
            "A reaches a checkpoint: leaving is cheap now, and it lowers its limit to 5. B's order"
            " takes the GPU in the same instant."
        ),
        SetLimit("A", 1, parse_price("5")),
    ),
    (
        50,
        "A goes on in the other rack, at the floor.",
        PlaceOrder("A", (at_market("h100", parse_price("9")),)),
    ),
    (80, "Half an hour later nobody presses on anybody.", AdvanceTime()),
]


def main(plain: Annotated[bool, typer.Option(help="No colours.")] = False) -> None:
    """Play the paper's example of two tenants and one GPU, step by step, with owners, rates and
    bills."""
    console = Console(no_color=plain, color_system=None if plain else "auto", highlight=False)
    market = Market(TOPOLOGY)
    for minute, words, command in STORY:
        events = market.apply(command, minute * MINUTE_US)
        console.print()
        console.print(_beside(f"[bold]{minute:>3} min[/bold]", words))
        for event in events:
            if (told := _told(event)) is not None:
                console.print(f"         [cyan]{told}[/cyan]")
        console.print(_table(market))
        if market.tenants():
            bills = "   ".join(
                f"{tenant} {dollars(market.bill(tenant).total)} $" for tenant in market.tenants()
            )
            console.print(f"         [dim]bills so far[/dim]   {bills}")
    for tenant in market.tenants():
        console.print(f"\n[bold]{tenant}'s bill[/bold]: {dollars(market.bill(tenant).total)} $")
        for line in market.bill(tenant).leases:
            console.print(f"  {line.leaf}")
            for piece in market.price_history(tenant, line.lease):
                assert piece.rate is not None
                minutes = f"{piece.start // MINUTE_US:>3} to {piece.end // MINUTE_US:>3} min"
                console.print(
                    f"    {minutes} at {format_price(piece.rate):>5} $/h: {dollars(piece.charge)} $"
                )
    console.print(
        "\nThe operator's revenue is their exact sum, rounded down once:"
        f" {dollars(market.revenue())} $"
    )


def _beside(label: str, words: str) -> Table:
    """A label, and words that wrap beside it."""
    row = Table.grid(padding=(0, 2, 0, 0))
    row.add_row(label, words)
    return row


def _told(event: Event) -> str | None:
    match event:
        case OrderPlaced():
            return f"told {event.tenant}: order {event.order} is in the market"
        case LeaseStarted():
            return f"told {event.tenant}: {event.leaf} is yours, at {format_price(event.rate)} $/h"
        case LeaseEnded():
            limit = "none" if event.limit is None else format_price(event.limit)
            return (
                f"told {event.tenant}: {event.leaf} ended, {event.reason} (rate"
                f" {format_price(event.rate)}, limit {limit})"
            )
    return None


def _table(market: Market) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for name in ("         GPU", "owner", "rate $/h", "limit $/h", "this lease $"):
        table.add_column(
            name,
            justify="left" if name.strip() in ("GPU", "owner") else "right",
            header_style="dim",
        )
    for leaf in market.topology.leaves:
        lease = market.lease_on(leaf)
        if lease is None:
            table.add_row(f"         {leaf}", "-", format_price(market.rate(leaf)), "", "")
            continue
        limit = "none" if lease.limit is None else format_price(lease.limit)
        table.add_row(
            f"         {leaf}",
            lease.tenant,
            format_price(lease.rate),
            limit,
            dollars(market.charge(lease.tenant, lease.lease)),
        )
    return table
