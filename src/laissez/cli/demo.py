"""`laissez demo`: the paper's example (section 4.2), played on a real market.

Tenant A owns GPU g. Tenant B holds the GPU beside it and wants a second one in the same NVLink
domain. B's order raises the rate of g, and A pays it until a checkpoint makes leaving cheap; then g
moves to B at once.
"""

from __future__ import annotations

from typing import Annotated

from rich.console import Console
from rich.table import Table

from laissez.cli.output import opt
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
INDENT = " " * 9
HOST = "h100/rack1/host1"  # one host is one NVLink domain
TOPOLOGY = Topology.from_mapping(
    {
        "h100": {
            "levels": ["type", "rack", "host", "gpu"],
            "tree": {"rack[1-2]": {"host1": ["gpu[0-1]"]}},
        }
    }
)


def order(tenant: str, scope: str, limit: str) -> PlaceOrder:
    return PlaceOrder(tenant, (at_market(scope, parse_price(limit)),))


STORY: list[tuple[int, str, Command]] = [
    (0, "The operator offers every H100 at 4.82 $/h.", SetFloor("h100", parse_price("4.82"))),
    (
        0,
        "A starts a training job on one GPU, and would pay up to 9.",
        order("A", f"{HOST}/gpu0", "9"),
    ),
    (0, "B starts on the GPU beside it.", order("B", f"{HOST}/gpu1", "12")),
    (
        20,
        "B bids 6.50, up to 8, for one more in its domain. A's limit is higher: A pays that.",
        PlaceOrder("B", (Alternative(HOST, parse_price("6.50"), parse_price("8")),)),
    ),
    (
        50,
        "A reaches a checkpoint and lowers its limit to 5. B's order takes the GPU at once.",
        SetLimit("A", 1, parse_price("5")),
    ),
    (50, "A continues in the other rack, at the floor.", order("A", "h100", "9")),
    (80, "Half an hour later, no order raises any rate.", AdvanceTime()),
]


def main(
    plain: Annotated[bool, opt("Print without colours.", "--plain")] = False,
) -> None:
    """Play the paper's example of two tenants and one GPU, step by step."""
    console = Console(no_color=plain, color_system=None if plain else "auto", highlight=False)
    market = Market(TOPOLOGY)
    for minute, words, command in STORY:
        events = market.apply(command, minute * MINUTE_US)
        step = Table.grid(padding=(0, 2, 0, 0))
        step.add_row(f"[bold]{minute:>3} min[/bold]", words)
        console.print("", step)
        for event in events:
            if (text := event_text(event)) is not None:
                console.print(f"{INDENT}[cyan]{text}[/cyan]")
        console.print(gpu_table(market))
        if bills := [f"{one} {dollars(market.bill(one).total)} $" for one in market.tenants()]:
            console.print(f"{INDENT}[dim]bills so far[/dim]   {'   '.join(bills)}")
    for tenant in market.tenants():
        print_bill(console, market, tenant)
    console.print(
        "\nThe operator's revenue is their exact sum, rounded down once:"
        f" {dollars(market.revenue())} $"
    )


def event_text(event: Event) -> str | None:
    match event:
        case OrderPlaced():
            return f"told {event.tenant}: order {event.order} is in the market"
        case LeaseStarted():
            return f"told {event.tenant}: {event.leaf} is yours, at {format_price(event.rate)} $/h"
        case LeaseEnded():
            return (
                f"told {event.tenant}: {event.leaf} ended, {event.reason} (rate"
                f" {format_price(event.rate)}, limit {limit_text(event.limit)})"
            )
    return None


def limit_text(limit: int | None) -> str:
    return "none" if limit is None else format_price(limit)


def gpu_table(market: Market) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for name in (f"{INDENT}GPU", "owner"):
        table.add_column(name)
    for name in ("rate $/h", "limit $/h", "this lease $"):
        table.add_column(name, justify="right")
    for leaf in market.topology.leaves:
        lease, rate = market.lease_on(leaf), format_price(market.rate(leaf))
        row = ["-", rate]
        if lease is not None:
            charge = dollars(market.charge(lease.tenant, lease.lease))
            row = [lease.tenant, rate, limit_text(lease.limit), charge]
        table.add_row(f"{INDENT}{leaf}", *row)
    return table


def print_bill(console: Console, market: Market, tenant: str) -> None:
    bill = market.bill(tenant)
    console.print(f"\n[bold]{tenant}'s bill[/bold]: {dollars(bill.total)} $")
    for line in bill.leases:
        console.print(f"  {line.leaf}")
        for piece in market.price_history(tenant, line.lease):
            assert piece.rate is not None
            minutes = f"{piece.start // MINUTE_US:>3} to {piece.end // MINUTE_US:>3} min"
            rate, charge = format_price(piece.rate), dollars(piece.charge)
            console.print(f"    {minutes} at {rate:>5} $/h: {charge} $")
