"""`laissez bill`, `budget` and `caps`: a tenant's debt, its budget, and its limits per hour."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

import typer

from laissez.cli.arguments import SinceOption, TenantOption, UntilOption, amount, or_none
from laissez.cli.commands import TENANT, IdempotencyOption, add, noun
from laissez.cli.kinds import changes, connected, shows
from laissez.cli.output import Format, FormatOption, arg, opt
from laissez.cli.tables import (
    Column,
    format_second,
    money,
    price_column,
    show,
    show_json,
    show_one,
    time_column,
)
from laissez.client import Client
from laissez.client.errors import Forbidden, NotFound
from laissez.units import parse_amount
from laissez.wire.figures import Budget, SpendingCaps
from laissez.wire.views import Bill, BillLine

OPERATOR = "operator"  # the holder of the operator's keys

budgets = noun("Your budget: the amount that you plan to spend, and what happens then.")
caps = noun("Your caps: the most that you may spend per hour.")

CapRateOption: TypeAlias = Annotated[
    str | None,
    opt(
        "The most per hour that leases are charged and open orders may win at.",
        parser=or_none(amount),
        metavar="DOLLARS|none",
    ),
]
CapWorstRateOption: TypeAlias = Annotated[
    str | None,
    opt(
        "The most per hour that leases and open orders could cost at their limits.",
        parser=or_none(amount),
        metavar="DOLLARS|none",
    ),
]


class BillFormat(StrEnum):
    TABLE = "table"
    CSV = "csv"
    FOCUS = "focus"


class Action(StrEnum):
    WARN = "warn"
    NO_NEW_ORDERS = "no_new_orders"
    LIMITS_TO_FLOOR = "limits_to_floor"
    RELINQUISH = "relinquish"


def lasts_until(budget: Budget) -> str:
    """The time at which the budget will be spent, or was."""
    is_over = budget.state == "spent" or not parse_amount(budget.left)
    return format_second(budget.ends_at) or ("it is over" if is_over else "far off")


def _cap(in_force: str | None, own: str | None) -> str:
    if in_force is None:
        return "none"
    return f"{money(in_force)} ({'your own' if in_force == own else 'the operator'})"


BILL_LINES: list[Column[BillLine]] = [
    Column("KIND", lambda line: line.kind),
    Column("ID", lambda line: line.id),
    Column("SCOPE", lambda line: line.scope),
    time_column("FROM", lambda line: line.start),
    time_column("UNTIL", lambda line: line.end),
    Column("COST $", lambda line: line.cost, right=True),
]
BILLS: list[Column[Bill]] = [
    Column("TENANT", lambda bill: bill.tenant),
    time_column("FROM", lambda bill: bill.since),
    time_column("UNTIL", lambda bill: bill.until),
    Column("OWES $", lambda bill: bill.total, right=True),
    price_column("NOW $/h", lambda bill: bill.rate_now),
]
BUDGET: list[Column[Budget]] = [
    Column("BUDGET $", lambda budget: budget.amount),
    time_column("SINCE", lambda budget: budget.since),
    Column("SPENT $", lambda budget: budget.spent),
    Column("SPENT %", lambda budget: f"{budget.spent_percent:.1f}"),
    Column("LEFT $", lambda budget: budget.left),
    price_column("NOW $/h", lambda budget: budget.rate_now),
    Column("LASTS UNTIL", lasts_until),
    Column("STATE", lambda budget: budget.state),
    Column("THEN", lambda budget: budget.action or "nothing"),
]
CAPS: list[Column[SpendingCaps]] = [
    price_column("RATE $/h", lambda caps: caps.rate_now),
    Column("RATE MAX", lambda caps: _cap(caps.in_force.rate, caps.own.rate)),
    price_column("WORST $/h", lambda caps: caps.worst_rate_now),
    Column("WORST MAX", lambda caps: _cap(caps.in_force.worst_rate, caps.own.worst_rate)),
]


@connected
def bill(
    client: Client,
    since: SinceOption = None,
    until: UntilOption = None,
    form: Annotated[
        BillFormat, opt("csv or focus (FinOps): a file for other programs.", "--format")
    ] = BillFormat.TABLE,
    tenant: TenantOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show what you owe, in total or for a period. The operator sees every tenant's total."""
    if form is not BillFormat.TABLE:
        if output is Format.JSON:
            raise typer.BadParameter(f"expected either --format {form} or -o json, found both")
        text = client.bill_csv("csv" if form is BillFormat.CSV else "focus", since, until, tenant)
        typer.echo(text, nl=False)
        return
    if tenant is None and client.me().holder == OPERATOR:
        show(client.bills(since, until), BILLS, output, "no tenants")
        return
    found = client.bill(since=since, until=until, tenant=tenant)
    if output is Format.JSON:
        show_json(found)
        return
    show(found.lines, BILL_LINES, output, "nothing was charged")
    typer.echo(
        f"\n{found.tenant} owes {found.total} $ for {format_second(found.since)} until"
        f" {format_second(found.until)}; now {money(found.rate_now)} $/h"
    )


add(budgets, "show", "Show your budget, and how long it lasts.", shows(BUDGET), "budget", TENANT)


@budgets.command("set")
@connected
def set_budget(
    client: Client,
    dollars: Annotated[str, arg("Such as 250 or 99.50.", parser=amount, metavar="DOLLARS")],
    action: Annotated[
        Action | None,
        opt(
            "The action when it is spent. All but warn cancel your orders and refuse new ones;"
            " limits_to_floor also lowers every limit to the floor; relinquish gives up every"
            " lease. Default: warn, or with --keep the present action."
        ),
    ] = None,
    keep: Annotated[
        bool, opt("Keep counting the present budget. A smaller amount acts at once.", "--keep")
    ] = False,
    idempotency_key: IdempotencyOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Set a budget, counting from now. Events tell you when 50, 80 and 100 % are spent."""
    before = None if keep and action else _budget_before(client, is_needed=keep)
    then = action or (before.action if keep and before else None) or Action.WARN
    budget = client.set_budget(dollars, str(then), keep, idempotency_key=idempotency_key)
    show_one(budget, BUDGET, output)
    if not keep and before is not None and before.since != budget.since:
        typer.echo(
            f"it counts from now; {before.spent} of the {before.amount} dollars before were spent"
            f" since {format_second(before.since)} (--keep would have counted on)",
            err=True,
        )


def _budget_before(client: Client, is_needed: bool) -> Budget | None:
    """The present budget, if any. A key without `read` gets None unless the budget is needed."""
    try:
        return client.budget()
    except NotFound:
        return None
    except Forbidden:
        if is_needed:
            raise
        return None


add(budgets, "remove", "Remove your budget.", changes("the budget is removed"), "remove_budget")
add(caps, "show", "Show your caps, and your cost per hour.", shows(CAPS), "own_caps", TENANT)


@caps.command("set")
@connected
def set_caps(
    client: Client,
    rate: CapRateOption = None,
    worst_rate: CapWorstRateOption = None,
    idempotency_key: IdempotencyOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Set caps on orders and higher limits; caps end no lease. A cap that is not given stays."""
    own = client.own_caps().own
    wanted = [
        before if given is None else None if given == "none" else given
        for given, before in ((rate, own.rate), (worst_rate, own.worst_rate))
    ]
    show_one(client.set_own_caps(*wanted, idempotency_key=idempotency_key), CAPS, output)
