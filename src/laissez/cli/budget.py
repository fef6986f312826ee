"""`laissez budget`: what you mean to spend, and how far it got."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from laissez.cli.arguments import AgainOption, TenantOption, amount
from laissez.cli.connection import connected
from laissez.cli.listing import ShowByDefault
from laissez.cli.output import Format, FormatOption
from laissez.cli.tables import Column, moment, money, show_json, show_one
from laissez.client import Client
from laissez.client.errors import Forbidden, NotFound
from laissez.units import parse_amount
from laissez.wire.figures import Budget

app = typer.Typer(
    help="Your budget: what you mean to spend, and what happens then.",
    cls=ShowByDefault,
    add_completion=False,
)


class Action(StrEnum):
    WARN = "warn"
    NO_NEW_ORDERS = "no_new_orders"
    LIMITS_TO_FLOOR = "limits_to_floor"
    RELINQUISH = "relinquish"


def lasts_until(budget: Budget) -> str:
    """Also of one that is spent: then it is when that was."""
    is_over = budget.state == "spent" or not parse_amount(budget.left)
    return moment(budget.ends_at) or ("it is over" if is_over else "further on")


BUDGET: list[Column[Budget]] = [
    Column("BUDGET $", lambda budget: budget.amount, right=True),
    Column("SINCE", lambda budget: moment(budget.since)),
    Column("SPENT $", lambda budget: budget.spent, right=True),
    Column("SPENT %", lambda budget: f"{budget.spent_percent:.1f}", right=True),
    Column("LEFT $", lambda budget: budget.left, right=True),
    Column("NOW $/h", lambda budget: money(budget.rate_now), right=True),
    Column("LASTS UNTIL", lasts_until),
    Column("STATE", lambda budget: budget.state),
    Column("THEN", lambda budget: budget.action or "nothing"),
]


@app.command("show")
@connected
def show_budget(
    client: Client, tenant: TenantOption = None, output: FormatOption = Format.TABLE
) -> None:
    """Show your budget, how much of it is spent, and until when it lasts at what you are charged
    now."""
    show_one(client.budget(tenant), BUDGET, output)


@app.command("set")
@connected
def set_budget(
    client: Client,
    dollars: Annotated[
        str,
        typer.Argument(parser=amount, metavar="DOLLARS", help="To be spent, such as 250 or 99.50."),
    ],
    action: Annotated[
        Action | None,
        typer.Option(
            help=(
                "What happens when it is spent: warn unless given, or with --keep what was to"
                " happen before. All but warn cancel your orders and take no new ones;"
                " limits_to_floor also lowers every limit to the floor and gives up what is under"
                " a minimum hold; relinquish also gives every lease up."
            )
        ),
    ] = None,
    keep: Annotated[
        bool,
        typer.Option(
            "--keep",
            help=(
                "Change the budget that is set: what was spent of it stays spent. Where none is"
                " set, it counts from now. If less is given than is spent, it acts at once."
            ),
        ),
    ] = False,
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Set a budget in place of the one before, counted from now on unless you --keep it. Events
    tell when 50, 80 and 100 % are spent."""
    before = None if keep and action else _budget_so_far(client, must_know=keep)
    then = action or (before.action if keep and before else None) or Action.WARN
    budget = client.set_budget(dollars, str(then), keep, idempotency_key=idempotency_key)
    show_one(budget, BUDGET, output)
    if not keep and before is not None and before.since != budget.since:
        spent = (
            f"of the one before, {before.spent} of {before.amount} dollars were spent since"
            f" {moment(before.since)}"
        )
        typer.echo(f"it counts from now; {spent} (--keep would have counted on)", err=True)


def _budget_so_far(client: Client, must_know: bool) -> Budget | None:
    """None if there is none, or if the key may not look and need not."""
    try:
        return client.budget()
    except NotFound:
        return None
    except Forbidden:
        if must_know:
            raise
        return None


@app.command("remove")
@connected
def remove_budget(
    client: Client, idempotency_key: AgainOption = None, output: FormatOption = Format.TABLE
) -> None:
    """Remove your budget."""
    done = client.remove_budget(idempotency_key=idempotency_key)
    if output is Format.JSON:
        show_json(done)
    else:
        typer.echo("there is no budget any more")
