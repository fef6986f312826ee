"""`laissez bill`: what is owed for a period, to read or to hand on (CSV, or FOCUS for cost
tools)."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from laissez.cli.arguments import SinceOption, TenantOption, UntilOption
from laissez.cli.connection import connected
from laissez.cli.output import Format, FormatOption
from laissez.cli.tables import Column, moment, money, show, show_json
from laissez.client import Client
from laissez.wire.views import Bill, BillLine

OPERATOR = "operator"  # who holds the operator's keys


class BillForm(StrEnum):
    TABLE = "table"
    CSV = "csv"
    FOCUS = "focus"


LINES: list[Column[BillLine]] = [
    Column("KIND", lambda line: line.kind),
    Column("ID", lambda line: line.id),
    Column("SCOPE", lambda line: line.scope),
    Column("FROM", lambda line: moment(line.start)),
    Column("UNTIL", lambda line: moment(line.end)),
    Column("COST $", lambda line: line.cost, right=True),
]
BILLS: list[Column[Bill]] = [
    Column("TENANT", lambda bill: bill.tenant),
    Column("FROM", lambda bill: moment(bill.since)),
    Column("UNTIL", lambda bill: moment(bill.until)),
    Column("OWES $", lambda bill: bill.total, right=True),
    Column("NOW $/h", lambda bill: money(bill.rate_now), right=True),
]


@connected
def bill(
    client: Client,
    since: SinceOption = None,
    until: UntilOption = None,
    form: Annotated[
        BillForm,
        typer.Option("--format", help="csv and focus are files for programs; see -o json too."),
    ] = BillForm.TABLE,
    tenant: TenantOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show what is owed: everything until now, unless a period is given. The operator sees what
    each tenant owes, or one tenant's bill."""
    if form is not BillForm.TABLE:
        if output is Format.JSON:
            raise typer.BadParameter(f"expected either --format {form} or -o json, found both")
        typer.echo(
            client.bill_csv("csv" if form is BillForm.CSV else "focus", since, until, tenant),
            nl=False,
        )
        return
    if tenant is None and client.me().holder == OPERATOR:
        show(list(client.bills(since, until)), BILLS, output, "no tenants")
        return
    found = client.bill(since=since, until=until, tenant=tenant)
    if output is Format.JSON:
        show_json(found)
        return
    show(found.lines, LINES, output, "nothing was charged")
    typer.echo(
        f"\n{found.tenant} owes {found.total} $ for {moment(found.since)} until"
        f" {moment(found.until)}; now {money(found.rate_now)} $/h"
    )
