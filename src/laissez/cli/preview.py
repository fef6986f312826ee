"""`--preview`: show the effects of an operator's command in place of sending it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import typer

from laissez.cli.commands import (
    IDEMPOTENCY_KEY,
    OUTPUT,
    Command,
    client_command,
    option,
    print_done,
)
from laissez.cli.errors import EXIT_FAILED
from laissez.cli.output import Format
from laissez.cli.tables import Column, money, number_column, price_column, show, show_json
from laissez.client import Client
from laissez.wire.figures import PreviewDone, PreviewEnded, PreviewTenant
from laissez.wire.requests import OperatorCommand
from laissez.wire.views import Done

Send: TypeAlias = Callable[..., Done]  # a method of the client, but for the idempotency key

PREVIEW = option(
    "preview",
    Annotated[bool, typer.Option("--preview", help="Show what would happen, and change nothing.")],
    False,
)

TENANTS: list[Column[PreviewTenant]] = [
    Column("TENANT", lambda one: one.tenant),
    number_column("WOULD LOSE", lambda one: one.lost),
    number_column("WOULD WIN", lambda one: one.won),
]
ENDED: list[Column[PreviewEnded]] = [
    Column("WOULD END", lambda lease: lease.leaf),
    Column("TENANT", lambda lease: lease.tenant),
    Column("REASON", lambda lease: lease.reason),
    price_column("RATE $/h", lambda lease: lease.rate),
    price_column("LIMIT $/h", lambda lease: lease.limit),
]


def previews(said: str) -> Callable[[Callable[..., tuple[OperatorCommand, Send]]], Command]:
    """A command from a function that returns a command of the operator and the client's method
    that sends it. The template `said` describes the result."""

    def decorate(function: Callable[..., tuple[OperatorCommand, Send]]) -> Command:
        def run(
            client: Client, preview: bool, idempotency_key: str | None, output: Format, **given: Any
        ) -> None:
            command, send = function(client, **given)
            if not preview:
                print_done(send(idempotency_key=idempotency_key), said, output, given)
                return
            if idempotency_key is not None:
                raise typer.BadParameter(
                    "expected either --preview or --idempotency-key, found both: a preview changes"
                    " nothing"
                )
            _print_preview(client.preview([command]), output)

        return client_command(function, run, PREVIEW, IDEMPOTENCY_KEY, OUTPUT)

    return decorate


def _print_preview(found: PreviewDone, output: Format) -> None:
    """Ends like the command itself if that would be refused."""
    if output is Format.JSON:
        show_json(found)
    elif not found.refused:
        _print_effects(found)
    for refused in found.refused if output is Format.TABLE else ():
        typer.echo(f"laissez: it would be refused: {refused.detail} ({refused.code})", err=True)
    if found.refused:
        raise typer.Exit(EXIT_FAILED)


def _print_effects(found: PreviewDone) -> None:
    typer.echo(
        f"{found.leases_ended:,} leases would end and {found.leases_started:,} start;"
        f" {found.transfers:,} GPUs would change hands\n"
        f"of the leases that continue, {found.dearer:,} would pay more and {found.cheaper:,} less\n"
        f"all together {money(found.rate_before)} -> {money(found.rate_after)} $/h; idle GPUs"
        f" {found.idle_before:,} -> {found.idle_after:,}"
    )
    show(found.tenants, TENANTS)
    show(found.ended, ENDED)
    if found.leases_ended > len(found.ended):
        typer.echo(f"and {found.leases_ended - len(found.ended):,} more")
