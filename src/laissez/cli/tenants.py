"""`laissez tenants`: the tenants, their caps, their spending and their keys (operator)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import msgspec
import typer

from laissez.cli.commands import (
    IDEMPOTENCY_KEY,
    OUTPUT,
    Command,
    add,
    argument,
    client_command,
    noun,
    option,
)
from laissez.cli.kinds import changes, lists, reveals, shows
from laissez.cli.output import Format, arg, opt
from laissez.cli.spending import CapRateOption, CapWorstRateOption, lasts_until
from laissez.cli.tables import Column, number_column, price_column, show_one, time_column
from laissez.client import Client
from laissez.wire.figures import Budget, Spending
from laissez.wire.requests import Caps
from laissez.wire.views import Key, Tenant

app = noun("The tenants, their caps and their keys (operator).")

NameArgument: TypeAlias = Annotated[str, arg("The tenant's name.", metavar="TENANT")]
HolderArgument: TypeAlias = Annotated[str | None, arg("Default: the operator.", metavar="TENANT")]
NAME, HOLDER = argument("name", NameArgument), option("tenant", HolderArgument)
KEY_ID = argument("id", Annotated[str, arg("The key's id.", metavar="KEY")])


def cap(text: str) -> int:
    """A number, or 0 for the word `default`."""
    if text != "default" and (not text.isascii() or not text.isdecimal() or int(text) < 1):
        raise typer.BadParameter(f"expected a number from 1 on, or default, found {text!r}")
    return 0 if text == "default" else int(text)


# a field of `Caps`, the title of its column, the help of its option
COUNTS = (
    ("open_orders", "ORDERS MAX", "Open orders at a time."),
    ("commands_per_second", "COMMANDS/s", "Commands per second, on average."),
    ("commands_burst", "BURST", "Commands at once."),
    ("sessions", "SESSIONS", "Sessions and event streams at a time."),
)
CAP_OPTIONS = (
    *(
        option(name, Annotated[int | None, opt(about, parser=cap, metavar="N|default")])
        for name, _, about in COUNTS
    ),
    option("rate", CapRateOption),
    option("worst_rate", CapWorstRateOption),
)


def _cap_column(name: str, title: str) -> Column[Tenant]:
    return Column(title, lambda tenant: getattr(tenant.caps, name) or "default", right=True)


def _of_budget(cell: Callable[[Budget], object]) -> Callable[[Spending], object]:
    return lambda one: None if one.budget is None else cell(one.budget)


TENANTS: list[Column[Tenant]] = [
    Column("TENANT", lambda tenant: tenant.name),
    time_column("SINCE", lambda tenant: tenant.created_at),
    number_column("LEASES", lambda tenant: tenant.leases),
    number_column("OPEN ORDERS", lambda tenant: tenant.open_orders),
    Column("KEYS", lambda tenant: tenant.keys, right=True),
]
WITH_CAPS: list[Column[Tenant]] = [
    *TENANTS,
    *(_cap_column(name, title) for name, title, _ in COUNTS),
    Column("RATE $/h", lambda tenant: tenant.caps.rate, right=True, optional=True),
    Column("WORST $/h", lambda tenant: tenant.caps.worst_rate, right=True, optional=True),
]
SPENDING: list[Column[Spending]] = [
    Column("TENANT", lambda one: one.tenant),
    Column("OWES $", lambda one: one.total, right=True),
    price_column("NOW $/h", lambda one: one.rate_now),
    number_column("LEASES", lambda one: one.leases),
    number_column("OPEN ORDERS", lambda one: one.open_orders),
    Column("BUDGET $", _of_budget(lambda budget: budget.amount), right=True, optional=True),
    Column("LEFT $", _of_budget(lambda budget: budget.left), right=True, optional=True),
    Column("LASTS UNTIL", _of_budget(lasts_until), optional=True),
    Column("STATE", _of_budget(lambda budget: budget.state), optional=True),
    Column("THEN", _of_budget(lambda budget: budget.action), optional=True),
]
KEYS: list[Column[Key]] = [
    Column("KEY", lambda key: key.id),
    Column("HOLDER", lambda key: key.holder),
    Column("NAME", lambda key: key.name),
    Column("SCOPES", lambda key: ",".join(key.scopes)),
    time_column("ISSUED", lambda key: key.issued_at),
    time_column("REVOKED", lambda key: key.revoked_at, optional=True),
    Column("SECRET", lambda key: key.secret, optional=True),
]


add(app, "list", "List all tenants.", lists(TENANTS, "no tenants"), "tenants")
add(app, "spending", "List bills and budgets.", lists(SPENDING, "no tenants"), "spending")
add(app, "show", "Show one tenant with its caps.", shows(WITH_CAPS), "tenant", NAME)


def sets_caps(function: Callable[..., Tenant]) -> Command:
    """A command with an option for each cap. The function gets those that are given."""

    def run(client: Client, output: Format, **given: Any) -> None:
        caps = {each.name: given.pop(each.name) for each in CAP_OPTIONS}
        new_caps = {
            name: None if cap in (0, "none") else cap
            for name, cap in caps.items()
            if cap is not None
        }
        show_one(function(client, new_caps=new_caps, **given), WITH_CAPS, output)

    return client_command(function, run, *CAP_OPTIONS, IDEMPOTENCY_KEY, OUTPUT)


@app.command()
@sets_caps
def create(
    client: Client, name: NameArgument, new_caps: dict[str, Any], idempotency_key: str | None
) -> Tenant:
    """Create a tenant. It needs a key next: `laissez tenants issue-key`."""
    return client.create_tenant(name, Caps(**new_caps), idempotency_key=idempotency_key)


@app.command()
@sets_caps
def caps(
    client: Client, name: NameArgument, new_caps: dict[str, Any], idempotency_key: str | None
) -> Tenant:
    """Show the caps of a tenant, after changing those that are given."""
    tenant = client.tenant(name)
    wanted = msgspec.structs.replace(tenant.caps, **new_caps)
    if wanted == tenant.caps:
        return tenant
    return client.set_caps(name, wanted, idempotency_key=idempotency_key)


add(app, "keys", "List keys, without their secrets.", lists(KEYS, "no keys"), "keys", HOLDER)


ScopesOption: TypeAlias = Annotated[
    list[str] | None, opt("read, trade or operate; may be repeated. Default: all.", "--scope")
]
SCOPES = option("scopes", ScopesOption)
KEY_NAME = option("name", Annotated[str, opt("The key's name.")], "default")
ONCE = "Issue a key. Its secret is shown only once."
REVOKED = changes("{done.id} of {done.holder} is revoked")
add(app, "issue-key", ONCE, reveals(KEYS), "issue_key", HOLDER, SCOPES, KEY_NAME)
add(app, "revoke-key", "Revoke a key, at once and for good.", REVOKED, "revoke_key", KEY_ID)
