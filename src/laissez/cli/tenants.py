"""`laissez tenants`: who may trade, within which caps, and with which keys."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
import typer

from laissez.cli.arguments import AgainOption, cap_per_hour
from laissez.cli.budget import lasts_until
from laissez.cli.connection import connected
from laissez.cli.listing import listing, noun
from laissez.cli.output import Format, FormatOption, WatchOption
from laissez.cli.saving import with_secret
from laissez.cli.tables import Column, moment, money, show_one
from laissez.client import Client
from laissez.wire.figures import Spending
from laissez.wire.requests import Caps
from laissez.wire.views import Key, Tenant

app = noun("Tenants, their caps and their keys (operator).")

NameArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="TENANT", help="The tenant's name.")
]
HolderArgument: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="[TENANT]", help="The tenant's name; the operator unless given."),
]


def cap(text: str) -> int:
    """A number, or 0 for the word `default`."""
    if text != "default" and (not text.isascii() or not text.isdecimal() or int(text) < 1):
        raise typer.BadParameter(f"expected a number from 1 on, or default, found {text!r}")
    return 0 if text == "default" else int(text)


def _cap_option(about: str) -> Any:
    return typer.Option(parser=cap, metavar="N|default", help=about)


OrdersOption: TypeAlias = Annotated[int | None, _cap_option("Open orders at a time.")]
RateOption: TypeAlias = Annotated[int | None, _cap_option("Commands per second, on average.")]
BurstOption: TypeAlias = Annotated[int | None, _cap_option("Commands at once.")]
SessionsOption: TypeAlias = Annotated[
    int | None, _cap_option("Sessions and event streams at a time.")
]
SpendingOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--rate",
        parser=cap_per_hour,
        metavar="DOLLARS|none",
        help="What leases are charged and open orders may win at, per hour.",
    ),
]
WorstOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--worst-rate",
        parser=cap_per_hour,
        metavar="DOLLARS|none",
        help="What leases and open orders could come to at their limits, per hour.",
    ),
]


def _cap_column(title: str, name: str) -> Column[Tenant]:
    return Column(title, lambda tenant: getattr(tenant.caps, name) or "default", right=True)


TENANTS: list[Column[Tenant]] = [
    Column("TENANT", lambda tenant: tenant.name),
    Column("SINCE", lambda tenant: moment(tenant.created_at)),
    Column("LEASES", lambda tenant: f"{tenant.leases:,}", right=True),
    Column("OPEN ORDERS", lambda tenant: f"{tenant.open_orders:,}", right=True),
    Column("KEYS", lambda tenant: tenant.keys, right=True),
]
CAPS = [
    _cap_column("ORDERS MAX", "open_orders"),
    _cap_column("COMMANDS/s", "commands_per_second"),
    _cap_column("BURST", "commands_burst"),
    _cap_column("SESSIONS", "sessions"),
    Column("RATE $/h", lambda tenant: tenant.caps.rate, right=True, optional=True),
    Column("WORST $/h", lambda tenant: tenant.caps.worst_rate, right=True, optional=True),
]
SPENDING: list[Column[Spending]] = [
    Column("TENANT", lambda one: one.tenant),
    Column("OWES $", lambda one: one.total, right=True),
    Column("NOW $/h", lambda one: money(one.rate_now), right=True),
    Column("LEASES", lambda one: f"{one.leases:,}", right=True),
    Column("OPEN ORDERS", lambda one: f"{one.open_orders:,}", right=True),
    Column(
        "BUDGET $",
        lambda one: None if one.budget is None else one.budget.amount,
        right=True,
        optional=True,
    ),
    Column(
        "LEFT $",
        lambda one: None if one.budget is None else one.budget.left,
        right=True,
        optional=True,
    ),
    Column(
        "LASTS UNTIL",
        lambda one: None if one.budget is None else lasts_until(one.budget),
        optional=True,
    ),
    Column("STATE", lambda one: None if one.budget is None else one.budget.state, optional=True),
    Column("THEN", lambda one: None if one.budget is None else one.budget.action, optional=True),
]
KEYS: list[Column[Key]] = [
    Column("KEY", lambda key: key.id),
    Column("HOLDER", lambda key: key.holder),
    Column("NAME", lambda key: key.name),
    Column("SCOPES", lambda key: ",".join(key.scopes)),
    Column("ISSUED", lambda key: moment(key.issued_at)),
    Column("REVOKED", lambda key: moment(key.revoked_at), optional=True),
    Column("SECRET", lambda key: key.secret, optional=True),
]


@app.command("list")
@connected
def list_tenants(
    client: Client, output: FormatOption = Format.TABLE, watch: WatchOption = None
) -> None:
    """List all tenants."""
    listing(client.tenants, TENANTS, output, watch, "no tenants")


@app.command()
@connected
def spending(
    client: Client, output: FormatOption = Format.TABLE, watch: WatchOption = None
) -> None:
    """List what every tenant owes, is charged now, and means to spend."""
    listing(client.spending, SPENDING, output, watch, "no tenants")


@app.command("show")
@connected
def show_tenant(client: Client, name: NameArgument, output: FormatOption = Format.TABLE) -> None:
    """Show one tenant with its caps."""
    show_one(client.tenant(name), TENANTS + CAPS, output)


@app.command()
@connected
def create(
    client: Client,
    name: NameArgument,
    open_orders: OrdersOption = None,
    commands_per_second: RateOption = None,
    commands_burst: BurstOption = None,
    sessions: SessionsOption = None,
    rate: SpendingOption = None,
    worst_rate: WorstOption = None,
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Create a tenant. It can do nothing before it has a key: `laissez tenants issue-key`."""
    caps = changed(
        Caps(), open_orders, commands_per_second, commands_burst, sessions, rate, worst_rate
    )
    show_one(
        client.create_tenant(name, caps, idempotency_key=idempotency_key), TENANTS + CAPS, output
    )


@app.command()
@connected
def caps(
    client: Client,
    name: NameArgument,
    open_orders: OrdersOption = None,
    commands_per_second: RateOption = None,
    commands_burst: BurstOption = None,
    sessions: SessionsOption = None,
    rate: SpendingOption = None,
    worst_rate: WorstOption = None,
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show the caps of a tenant, after changing those that are given."""
    tenant = client.tenant(name)
    wanted = changed(
        tenant.caps, open_orders, commands_per_second, commands_burst, sessions, rate, worst_rate
    )
    if wanted != tenant.caps:
        tenant = client.set_caps(name, wanted, idempotency_key=idempotency_key)
    show_one(tenant, TENANTS[:1] + CAPS, output)


@app.command()
@connected
def keys(
    client: Client,
    name: HolderArgument = None,
    output: FormatOption = Format.TABLE,
    watch: WatchOption = None,
) -> None:
    """List the keys of a tenant, or the operator's own. Secrets are never shown again."""
    listing(lambda: client.keys(name), KEYS, output, watch, "no keys")


@app.command("issue-key")
@connected
def issue_key(
    client: Client,
    name: HolderArgument = None,
    scopes: Annotated[
        list[str] | None,
        typer.Option(
            "--scope",
            help="read, trade or operate; give it again for more than one. Default: all that fit.",
        ),
    ] = None,
    key_name: Annotated[
        str,
        typer.Option(
            "--name",
            help="Two keys of one name may live at once, so that one can replace the other.",
        ),
    ] = "default",
    save: Annotated[
        Path | None,
        typer.Option(
            "--save", help="Write the key to this new file, for you alone, and do not show it."
        ),
    ] = None,
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Issue a key. Its secret is shown now and never again."""
    issue = partial(
        client.issue_key, name, scopes=scopes, name=key_name, idempotency_key=idempotency_key
    )
    show_one(with_secret(issue, save), KEYS, output)


@app.command("revoke-key")
@connected
def revoke_key(
    client: Client,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key's id.")],
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Revoke a key, at once and for good."""
    show_one(client.revoke_key(key, idempotency_key=idempotency_key), KEYS, output)


def changed(
    now: Caps,
    open_orders: int | None,
    per_second: int | None,
    burst: int | None,
    sessions: int | None,
    *money: str | None,
) -> Caps:
    """Caps with those replaced that are given; 0 stands for the server's default, and none for no
    cap."""
    given = {
        "open_orders": open_orders,
        "commands_per_second": per_second,
        "commands_burst": burst,
        "sessions": sessions,
    }
    replaced: dict[str, Any] = {
        name: number or None for name, number in given.items() if number is not None
    }
    replaced |= {
        name: None if text == "none" else text
        for name, text in zip(("rate", "worst_rate"), money, strict=True)
        if text is not None
    }
    return msgspec.structs.replace(now, **replaced)
