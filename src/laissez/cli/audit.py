"""`laissez audit`: show requests and refusals; verify the record, even of a running server."""

from __future__ import annotations

from collections import deque
from dataclasses import asdict
from pathlib import Path
from time import time_ns
from typing import Annotated, TypeAlias

import typer

from laissez.cli.arguments import MANY, SinceOption, TenantOption, UntilOption
from laissez.cli.journal import show_report
from laissez.cli.output import Format, FormatOption, group, opt
from laissez.cli.progress import counting
from laissez.cli.tables import Column, show
from laissez.journal import Reader
from laissez.server.audit.log import rows
from laissez.server.audit.verify import verify as verify_folder
from laissez.server.audit.view import Filter, Record, records
from laissez.server.beside import FILE, reading
from laissez.server.settings import read_settings
from laissez.units import parse_time

app = group("Show requests and refusals, and verify the record and the bills.")

DataOption: TypeAlias = Annotated[
    Path | None, opt("The data folder. Default: from the settings.", metavar="FOLDER")
]


class CannotAudit(Exception):
    """The data cannot be audited. The message has the expectation and the value."""


def folder_of(data: Path | None) -> Path:
    return Path(read_settings().data.folder) if data is None else data


@app.command()
def verify(
    data: DataOption = None,
    digests: Annotated[Path | None, opt("Kept digests, one per line.", metavar="FILE")] = None,
    keep_days: Annotated[
        int | None,
        opt(
            "The retention of refusals: a missing day that was younger is a problem. Default:"
            " what the log says.",
            envvar="LAISSEZ_AUDIT__KEEP_DAYS",
            min=1,
            max=36_500,
        ),
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Verify journal, refusals and digests. Exit status 1 if anything is wrong."""
    with counting("entries") as on_progress:
        now = time_ns() // 1_000
        verdict = verify_folder(folder_of(data), digests, keep_days, now, on_progress)
    facts = asdict(verdict)
    problems = facts.pop("problems")
    show_report(facts, problems, {"ok": verdict.ok}, output)


RECORDS: list[Column[Record]] = [
    Column("AT", lambda one: one.at),
    Column("WHO", lambda one: one.holder),
    Column("KEY", lambda one: one.key or (f"{one.claimed}?" if one.claimed else "")),
    Column("ADDRESS", lambda one: one.address, optional=True),
    Column("OPERATION", lambda one: one.operation),
    Column("OUTCOME", lambda one: one.outcome),
    Column("TIMES", lambda one: "" if one.times == 1 else one.times, right=True, optional=True),
    Column("ID", lambda one: one.id, optional=True),
]


@app.command()
def log(
    data: DataOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    tenant: TenantOption = None,
    key: Annotated[str | None, opt("Only requests with this key.", metavar="ID")] = None,
    code: Annotated[str | None, opt('Only this outcome: "done", or the code of a refusal.')] = None,
    refused_only: Annotated[bool, opt("Only refusals.", "--refused-only")] = False,
    limit: Annotated[int, opt("Only the latest of them.", min=1, max=MANY)] = 100,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show requests in order of time, each with its holder, address and outcome."""
    wanted = Filter(
        0 if since is None else parse_time(since),
        None if until is None else parse_time(until),
        tenant,
        key,
        code,
        refused_only,
    )
    with counting("entries") as on_progress:
        found = deque(records(folder_of(data), wanted, on_progress), maxlen=limit)
    show(found, RECORDS, output, "no matching requests")


@app.command()
def digest(
    data: DataOption = None,
    all_days: Annotated[bool, opt("Print the digest of every day.", "--all")] = False,
) -> None:
    """Print the stored digest of the last complete day. Keep it on another machine, safe from the
    administrators of this one."""
    folder = folder_of(data)
    with Reader.of(folder) as reader, reading(folder / FILE, reader.identity) as beside:
        stored = [line or b"" for _, line in rows(beside, "digests")]
    if not stored:
        typer.echo("no day is over yet", err=True)
    for line in stored if all_days else stored[-1:]:
        typer.echo(line)
