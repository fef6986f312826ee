"""`laissez budget`: what you mean to spend from now on, and how far it got."""

from __future__ import annotations

from typing import Annotated

import typer

from laissez.cli.arguments import AgainOption, TenantOption, amount
from laissez.cli.connection import connected
from laissez.cli.listing import ShowByDefault
from laissez.cli.output import Format, FormatOption
from laissez.cli.tables import Column, moment, money, show_json, show_one
from laissez.client import Client
from laissez.wire.figures import Budget

app = typer.Typer(help="Your budget. It only tells: nothing ends because of it.", cls=ShowByDefault, add_completion=False)

BUDGET: list[Column[Budget]] = [
    Column("BUDGET $", lambda budget: budget.amount, right=True),
    Column("SINCE", lambda budget: moment(budget.since)),
    Column("SPENT $", lambda budget: budget.spent, right=True),
    Column("LEFT $", lambda budget: budget.left, right=True),
    Column("NOW $/h", lambda budget: money(budget.rate_now), right=True),
    Column("LASTS UNTIL", lambda budget: moment(budget.ends_at) or "further on"),
]


@app.command("show")
@connected
def show_budget(client: Client, tenant: TenantOption = None, output: FormatOption = Format.TABLE) -> None:
    """Show your budget, how much of it is spent, and until when it lasts at what you are charged now."""
    show_one(client.budget(tenant), BUDGET, output)


@app.command("set")
@connected
def set_budget(
    client: Client,
    dollars: Annotated[str, typer.Argument(parser=amount, metavar="DOLLARS", help="To be spent from now on, such as 250 or 99.50.")],
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Set a budget, counted from now on, in place of the one before. It only tells: nothing ends because of it."""
    show_one(client.set_budget(dollars, idempotency_key=idempotency_key), BUDGET, output)


@app.command("remove")
@connected
def remove_budget(client: Client, idempotency_key: AgainOption = None, output: FormatOption = Format.TABLE) -> None:
    """Remove your budget."""
    done = client.remove_budget(idempotency_key=idempotency_key)
    if output is Format.JSON:
        show_json(done)
    else:
        typer.echo("there is no budget any more")
