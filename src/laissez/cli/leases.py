"""`laissez leases`, `limit` and `release`: what you hold, what you will pay for it at most, and
giving it up."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from laissez.cli.arguments import AgainOption, TenantOption, price_or_none
from laissez.cli.connection import connected
from laissez.cli.listing import listing, noun
from laissez.cli.output import Format, FormatOption, WatchOption
from laissez.cli.tables import Column, moment, money, show_json, show_one
from laissez.client import Client
from laissez.wire.ids import INSTANCE, LEASE
from laissez.wire.views import Lease

app = noun("Leases: what you hold now.")

LeaseArgument: TypeAlias = Annotated[str, typer.Argument(metavar="LEASE", help="The lease's id.")]

LEASES: list[Column[Lease]] = [
    Column("LEASE", lambda lease: lease.id),
    Column("LEAF", lambda lease: lease.leaf),
    Column("TENANT", lambda lease: lease.tenant, optional=True),
    Column("RATE $/h", lambda lease: money(lease.rate), right=True),
    Column("CHARGED $/h", lambda lease: money(lease.charged), right=True),
    Column("LIMIT $/h", lambda lease: money(lease.limit), right=True),
    Column("COST $", lambda lease: lease.cost, right=True),
    Column("SINCE", lambda lease: moment(lease.started_at)),
    Column("HELD UNTIL", lambda lease: moment(lease.hold_until), optional=True),
]


@app.command("list")
@connected
def list_leases(
    client: Client,
    tenant: TenantOption = None,
    output: FormatOption = Format.TABLE,
    watch: WatchOption = None,
) -> None:
    """List your leases: rate is what presses on the leaf, charged what is billed now, cost what it
    came to so far."""
    listing(lambda: client.leases(tenant=tenant), LEASES, output, watch, "no leases")


@app.command("show")
@connected
def show_lease(client: Client, lease: LeaseArgument, output: FormatOption = Format.TABLE) -> None:
    """Show one lease."""
    show_one(client.lease(lease), LEASES, output)


@connected
def limit(
    client: Client,
    lease: LeaseArgument,
    price: Annotated[
        str,
        typer.Argument(
            parser=price_or_none,
            metavar="PRICE|none",
            help="Dollars per hour; none keeps it whatever the price.",
        ),
    ],
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Set the most you will pay for a lease; a rate above it ends the lease at once."""
    done = client.set_limit(
        lease, None if price == "none" else price, idempotency_key=idempotency_key
    )
    if output is Format.JSON:
        show_json(done)
    else:
        typer.echo(
            f"{done.id} {done.state}, limit"
            f" {money(done.limit)}{'' if done.limit is None else ' $/h'}"
        )


@connected
def release(
    client: Client,
    target: Annotated[
        str, typer.Argument(metavar="LEASE|INSTANCE", help="The id of what to give up.")
    ],
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Give up a lease, or stop an instance, which cancels its order or gives up its lease."""
    if not target.startswith((LEASE, INSTANCE)):
        raise typer.BadParameter(
            f"expected a lease ({LEASE}...) or an instance ({INSTANCE}...), found {target!r};"
            " orders end with `laissez orders cancel`"
        )
    end = client.relinquish if target.startswith(LEASE) else client.stop
    done = end(target, idempotency_key=idempotency_key)
    if output is Format.JSON:
        show_json(done)
    else:
        typer.echo(f"{done.id} {done.state}")
