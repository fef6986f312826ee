"""`laissez events`: what happened, one line each; `-f` goes on as it happens. In JSON, one object
per line."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import msgspec
import typer

from laissez.cli.arguments import MANY, TenantOption
from laissez.cli.connection import connected
from laissez.cli.orders import written
from laissez.cli.output import Format, FormatOption
from laissez.cli.tables import moment, show_json
from laissez.client import Client
from laissez.wire.events import Band, InForce, Notice, Numbered
from laissez.wire.requests import Caps

KIND_WIDTH = 18


@connected
def events(
    client: Client,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            "-f",
            help="Go on with what happens until Ctrl-C, with the rates of your leases.",
        ),
    ] = False,
    after: Annotated[
        int | None,
        typer.Option("--after", min=0, metavar="N", help="Only what came after event N."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, max=MANY, help="At most so many.")
    ] = None,
    tenant: TenantOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show what happened to you, as far back as the server keeps it; with -f, what happens from now
    on, or after event N."""
    if follow and tenant is not None:
        raise typer.BadParameter("expected either --follow or --tenant, found both")
    happened = client.follow(after) if follow else client.events(after, limit, tenant=tenant)
    for told in islice(happened, limit):
        if output is Format.JSON:
            show_json(told)
        else:
            typer.echo(line(told))


def line(told: Numbered | Notice) -> str:
    """Number, time, kind and what there is to say about it. A notice has no number."""
    number, event, tenant = (
        (str(told.n), told.event, told.tenant) if isinstance(told, Numbered) else ("-", told, None)
    )
    kind = str(event.__struct_config__.tag)
    facts = [f"tenant={tenant}"] if tenant is not None else []
    facts += [
        f"{field}={_shown(getattr(event, field))}"
        for field in event.__struct_fields__
        if field != "at"
    ]
    return f"{number:>8}  {moment(event.at)}  {kind:<{KIND_WIDTH}}  {' '.join(facts)}"


def _shown(value: object) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case InForce():
            return written(value)
        case Band():
            return f"{value.fraction}/{value.seconds:g}s"
        case Caps():
            return (
                ",".join(
                    f"{name}:{cap}"
                    for name, cap in msgspec.structs.asdict(value).items()
                    if cap is not None
                )
                or "default"
            )
        case tuple():
            return ",".join(map(_shown, value))
        case _:
            return str(value)
