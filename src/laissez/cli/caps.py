"""`laissez caps`: what you may spend per hour, at most."""

from __future__ import annotations

from typing import Annotated

import typer

from laissez.cli.arguments import AgainOption, TenantOption, cap_per_hour
from laissez.cli.connection import connected
from laissez.cli.listing import ShowByDefault
from laissez.cli.output import Format, FormatOption
from laissez.cli.tables import Column, money, show_one
from laissez.client import Client
from laissez.wire.figures import SpendingCaps

app = typer.Typer(
    help="What you may spend per hour, at most.", cls=ShowByDefault, add_completion=False
)


def _cap(in_force: str | None, own: str | None) -> str:
    if in_force is None:
        return "none"
    return f"{money(in_force)} ({'your own' if in_force == own else 'the operator'})"


CAPS: list[Column[SpendingCaps]] = [
    Column("RATE $/h", lambda caps: money(caps.rate_now), right=True),
    Column("RATE MAX", lambda caps: _cap(caps.in_force.rate, caps.own.rate), right=True),
    Column("WORST $/h", lambda caps: money(caps.worst_rate_now), right=True),
    Column(
        "WORST MAX", lambda caps: _cap(caps.in_force.worst_rate, caps.own.worst_rate), right=True
    ),
]


@app.command("show")
@connected
def show_caps(
    client: Client, tenant: TenantOption = None, output: FormatOption = Format.TABLE
) -> None:
    """Show what you are charged, with your open orders at their limits, what all could come to at
    their limits, and the caps on both."""
    show_one(client.own_caps(tenant), CAPS, output)


@app.command("set")
@connected
def set_caps(
    client: Client,
    rate: Annotated[
        str | None,
        typer.Option(
            parser=cap_per_hour,
            metavar="DOLLARS|none",
            help="What your leases are charged and your open orders may win at, per hour.",
        ),
    ] = None,
    worst_rate: Annotated[
        str | None,
        typer.Option(
            parser=cap_per_hour,
            metavar="DOLLARS|none",
            help="What your leases and open orders could come to at their limits, per hour.",
        ),
    ] = None,
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Set caps of your own; one that is not given stays. Orders and raised limits that could exceed
    one are refused; nothing is ended."""
    own = client.own_caps().own
    wanted = [
        before if given is None else None if given == "none" else given
        for given, before in ((rate, own.rate), (worst_rate, own.worst_rate))
    ]
    show_one(client.set_own_caps(*wanted, idempotency_key=idempotency_key), CAPS, output)
