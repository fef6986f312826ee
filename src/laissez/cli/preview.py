"""`--preview`: what a command of the operator would do, shown instead of done."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from laissez.cli.exits import EXIT_FAILED
from laissez.cli.output import Format
from laissez.cli.tables import Column, money, show, show_json
from laissez.client import Client
from laissez.wire.figures import PreviewDone, PreviewEnded, PreviewTenant
from laissez.wire.requests import OperatorCommand

PreviewOption: TypeAlias = Annotated[
    bool, typer.Option("--preview", help="Show what would happen, and change nothing.")
]

TENANTS: list[Column[PreviewTenant]] = [
    Column("TENANT", lambda one: one.tenant),
    Column("WOULD LOSE", lambda one: f"{one.lost:,}", right=True),
    Column("WOULD WIN", lambda one: f"{one.won:,}", right=True),
]
ENDED: list[Column[PreviewEnded]] = [
    Column("WOULD END", lambda lease: lease.leaf),
    Column("TENANT", lambda lease: lease.tenant),
    Column("REASON", lambda lease: lease.reason),
    Column("RATE $/h", lambda lease: money(lease.rate), right=True),
    Column("LIMIT $/h", lambda lease: money(lease.limit), right=True),
]


def show_preview(
    client: Client, command: OperatorCommand, idempotency_key: str | None, output: Format
) -> None:
    """A command that would be refused ends like one that was."""
    if idempotency_key is not None:
        raise typer.BadParameter(
            "expected either --preview or --idempotency-key, found both: a preview changes nothing"
        )
    found = client.preview([command])
    if output is Format.JSON:
        show_json(found)
    else:
        _tell(found, output)
    if found.refused:
        raise typer.Exit(EXIT_FAILED)


def _tell(found: PreviewDone, output: Format) -> None:
    for refused in found.refused:
        typer.echo(f"laissez: it would be refused: {refused.detail} ({refused.code})", err=True)
    if found.refused:
        return
    typer.echo(
        f"{found.leases_ended:,} leases would end and {found.leases_started:,} start;"
        f" {found.transfers:,} leaves would change hands"
    )
    typer.echo(
        f"of the leases that last, {found.dearer:,} would pay more and {found.cheaper:,} less"
    )
    typer.echo(
        f"all together {money(found.rate_before)} -> {money(found.rate_after)} $/h; idle leaves"
        f" {found.idle_before:,} -> {found.idle_after:,}"
    )
    if found.tenants:
        show(found.tenants, TENANTS, output, "")
    if found.ended:
        show(found.ended, ENDED, output, "")
    if found.leases_ended > len(found.ended):
        typer.echo(f"and {found.leases_ended - len(found.ended):,} more")
