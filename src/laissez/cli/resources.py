"""`laissez resources`, `topology` and `market`: what there is, who has it, and how the whole market
does."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from laissez.cli.arguments import AgainOption
from laissez.cli.connection import connected
from laissez.cli.listing import listing, noun
from laissez.cli.output import Format, FormatOption, WatchOption
from laissez.cli.preview import PreviewOption, show_preview
from laissez.cli.tables import Column, moment, money, show_json
from laissez.client import Client
from laissez.wire.requests import BringOnline, TakeOffline
from laissez.wire.views import MarketSummary, Node, Resource

app = noun("Resources: the leaves of the topology (operator).")

LeafArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="LEAF", help="The path of a leaf, such as h100/rack1/host0/gpu3.")
]

RESOURCES: list[Column[Resource]] = [
    Column("LEAF", lambda leaf: leaf.leaf),
    Column("STATE", lambda leaf: "online" if leaf.online else "offline"),
    Column("OWNER", lambda leaf: leaf.owner or "-"),
    Column("RATE $/h", lambda leaf: money(leaf.rate), right=True),
    Column("FLOOR $/h", lambda leaf: money(leaf.floor), right=True),
    Column("LIMIT $/h", lambda leaf: "" if leaf.owner is None else money(leaf.limit), right=True),
]
NODES: list[Column[Node]] = [
    Column("NODE", lambda node: node.path),
    Column("LEVEL", lambda node: node.level, optional=True),
    Column("LEAVES", lambda node: f"{node.leaves:,}", right=True),
    Column("CHILDREN", lambda node: f"{len(node.children):,}", right=True),
]
FIGURES: list[Column[MarketSummary]] = [
    Column("AT", lambda market: moment(market.at)),
    Column("LEAVES", lambda market: f"{market.leaves:,}", right=True),
    Column("ONLINE", lambda market: f"{market.online:,}", right=True),
    Column("LEASED", lambda market: f"{market.leased:,}", right=True),
    Column("OPEN ORDERS", lambda market: f"{market.open_orders:,}", right=True),
    Column("TENANTS", lambda market: f"{market.tenants:,}", right=True),
    Column("RATE $/h", lambda market: money(market.rate_now), right=True),
    Column("REVENUE $", lambda market: market.revenue, right=True),
]


@app.command("list")
@connected
def list_resources(
    client: Client,
    under: Annotated[
        str | None, typer.Argument(metavar="[NODE]", help="Only the leaves below this node.")
    ] = None,
    output: FormatOption = Format.TABLE,
    watch: WatchOption = None,
) -> None:
    """List leaves with owner, rate, floor and limit."""
    listing(lambda: client.resources(under), RESOURCES, output, watch, "no resources")


@app.command()
@connected
def offline(
    client: Client,
    leaf: LeafArgument,
    preview: PreviewOption = False,
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Take a leaf out of the market; its lease, if there is one, ends at once."""
    _set_online(client, leaf, False, preview, idempotency_key, output)


@app.command()
@connected
def online(
    client: Client,
    leaf: LeafArgument,
    preview: PreviewOption = False,
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Put a leaf into the market again."""
    _set_online(client, leaf, True, preview, idempotency_key, output)


def _set_online(
    client: Client,
    leaf: str,
    online: bool,
    preview: bool,
    idempotency_key: str | None,
    output: Format,
) -> None:
    if preview:
        show_preview(
            client,
            BringOnline(leaf=leaf) if online else TakeOffline(leaf=leaf),
            idempotency_key,
            output,
        )
        return
    done = client.set_online(leaf, online, idempotency_key=idempotency_key)
    if output is Format.JSON:
        show_json(done)
    else:
        typer.echo(f"{leaf} is {'online' if online else 'offline'}")


@connected
def topology(
    client: Client,
    node: Annotated[
        str | None,
        typer.Argument(help="This node and its children; the types of resource unless given."),
    ] = None,
    output: FormatOption = Format.TABLE,
    watch: WatchOption = None,
) -> None:
    """Show the tree of resources, a level at a time."""
    listing(lambda: client.topology(node), NODES, output, watch, "no resources")


@connected
def market(client: Client, output: FormatOption = Format.TABLE, watch: WatchOption = None) -> None:
    """Show the whole market in figures (operator)."""
    listing(lambda: (client.market(),), FIGURES, output, watch, "")
