"""`laissez audit`: what was done and refused, whether the record of it is whole, and whether bills
follow from it. Works beside a running server."""

from __future__ import annotations

from collections import deque
from dataclasses import asdict
from pathlib import Path
from time import time_ns
from typing import Annotated, TypeAlias

import typer

from laissez.cli.arguments import MANY, SinceOption, UntilOption
from laissez.cli.exits import EXIT_FAILED
from laissez.cli.output import Format, FormatOption
from laissez.cli.progress import progress
from laissez.cli.tables import Column, show, show_json
from laissez.journal import Reader
from laissez.server.audit.log import rows
from laissez.server.audit.verify import verify as verify_folder
from laissez.server.audit.view import Filter, Record, records
from laissez.server.beside import FILE, reading
from laissez.server.settings import read_settings
from laissez.units import parse_time

app = typer.Typer(
    help="What was done and refused, and whether bills follow from it.",
    no_args_is_help=True,
    add_completion=False,
)

DataOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--data", metavar="FOLDER", help="The data folder; else that of the settings."),
]
KeepDaysOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--keep-days",
        envvar="LAISSEZ_AUDIT__KEEP_DAYS",
        min=1,
        max=36_500,
        help=(
            "How long refusals are kept. Days that are gone and were younger, somebody took away;"
            " else the log itself is asked."
        ),
    ),
]
OneTenantOption: TypeAlias = Annotated[
    str | None, typer.Option("--tenant", help="Only this tenant's.")
]


class CannotAudit(Exception):
    """It cannot be done as asked; the message says what was expected and what was found."""


def folder_of(data: Path | None) -> Path:
    return Path(read_settings().data.folder) if data is None else data


@app.command()
def verify(
    data: DataOption = None,
    digests: Annotated[
        Path | None,
        typer.Option(
            "--digests", metavar="FILE", help="Digests that were kept elsewhere, one to a line."
        ),
    ] = None,
    keep_days: KeepDaysOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Check the journal and its snapshots, by carrying all of it out again, the log of refusals and
    digests. Exit status 1 if anything is wrong."""
    with progress() as bar:
        task = bar.add_task("entries", total=None)

        def on_progress(what: str, done: int, of: int) -> None:
            bar.update(task, description=what, completed=done, total=of)

        verdict = verify_folder(
            folder_of(data), digests, keep_days, time_ns() // 1_000, on_progress
        )
    if output is Format.JSON:
        show_json({**asdict(verdict), "ok": verdict.ok})
    else:
        print(
            "\n".join(
                f"{name:19} {value}"
                for name, value in asdict(verdict).items()
                if name != "problems"
            )
        )
        print(
            "\n".join(f"problem             {problem}" for problem in verdict.problems)
            or "all is well"
        )
    if not verdict.ok:
        raise typer.Exit(EXIT_FAILED)


RECORD_COLUMNS: list[Column[Record]] = [
    Column("AT", lambda one: one.at),
    Column("WHO", lambda one: one.holder),
    Column("KEY", lambda one: one.key or (f"{one.claimed}?" if one.claimed else "")),
    Column("ADDRESS", lambda one: one.address, optional=True),
    Column("OPERATION", lambda one: one.operation),
    Column("OUTCOME", lambda one: one.outcome),
    Column("TIMES", lambda one: "" if one.times == 1 else one.times, right=True, optional=True),
    Column("ID", lambda one: one.id, optional=True),
]


@app.command("log")
def log_command(
    data: DataOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    tenant: OneTenantOption = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="ID", help="Only what was asked for with this key."),
    ] = None,
    code: Annotated[
        str | None,
        typer.Option("--code", help='Only with this outcome: "done", or the code of a refusal.'),
    ] = None,
    refused_only: Annotated[
        bool, typer.Option("--refused-only", help="Only what was refused.")
    ] = False,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=MANY, help="At most so many, the latest.")
    ] = 100,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show who did what and with which outcome: what was carried out; and what was refused, and
    from where."""
    wanted = Filter(
        0 if since is None else parse_time(since),
        None if until is None else parse_time(until),
        tenant,
        key,
        code,
        refused_only,
    )
    with progress() as bar:
        task = bar.add_task("entries", total=None)
        found = deque(
            records(
                folder_of(data), wanted, lambda done, of: bar.update(task, completed=done, total=of)
            ),
            maxlen=limit,
        )
    show(list(found), RECORD_COLUMNS, output, "nothing that matches")


@app.command()
def digest(
    data: DataOption = None,
    all_days: Annotated[
        bool, typer.Option("--all", help="Of every day, not only the latest.")
    ] = False,
) -> None:
    """Print the digest of the last day that is over, as it is stored: keep it where nobody who can
    write to this machine can."""
    folder = folder_of(data)
    with Reader.of(folder) as reader, reading(folder / FILE, reader.identity) as beside:
        stored = [line or b"" for _, line in rows(beside, "digests")]
    if not stored:
        typer.echo("no day is over yet", err=True)
    for line in stored if all_days else stored[-1:]:
        typer.echo(line)
