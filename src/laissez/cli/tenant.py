"""`laissez tenant`: let a task trade for itself. `run` goes on until the task is done; `stop` gives
up all that it has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
import typer

from laissez.cli.connection import located, open_client
from laissez.cli.output import Format, FormatOption
from laissez.cli.profiles import Target
from laissez.cli.telling import stop_on_signals, teller
from laissez.exchange.commands import OPERATOR
from laissez.live.attending import Where
from laissez.live.memory import MemoryFile
from laissez.live.scripts import Scripts
from laissez.live.task_memory import TaskMemory
from laissez.live.task_runner import PACE_S, TaskRunner
from laissez.live.trader import wall_clock
from laissez.tenants.templates.task import Task, read_task
from laissez.units import format_price


class WrongKey(Exception):
    """The key belongs to somebody who cannot run a task."""


app = typer.Typer(help="Let a task trade for itself.", no_args_is_help=True, add_completion=False)

TaskArgument: TypeAlias = Annotated[
    Path, typer.Argument(metavar="TASK", help="The task, a YAML file (docs/tenants.md).")
]
StateOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--state", help="Where the task's memory is kept; beside the task unless given."),
]


@app.command()
@located
def run(
    where: Target,
    task: TaskArgument,
    state: StateOption = None,
    adopt: Annotated[
        bool,
        typer.Option(
            "--adopt", help="Take over the leases and orders that the tenant already has."
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be sent now.")
    ] = False,
    pace: Annotated[
        float,
        typer.Option(
            "--pace", min=0.1, max=30, help="Seconds between two looks, if nothing happens."
        ),
    ] = PACE_S,
    output: FormatOption = Format.TABLE,
) -> None:
    """Run a task until it is done. Ctrl-C leaves its leases and orders as they are; the same
    command goes on with them."""

    async def work(runner: TaskRunner) -> None:
        if dry_run:
            for command in await runner.dry_run():
                typer.echo(msgspec.json.encode(command).decode())
        else:
            stop_on_signals(runner.stop)
            await runner.run(adopt)

    with_runner(where, task, state, output, pace, work)


@app.command()
@located
def stop(
    where: Target,
    task: TaskArgument,
    state: StateOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Give up everything that the tenant of a task has, call the hooks for it, and forget the
    task."""
    with_runner(where, task, state, output, PACE_S, lambda runner: runner.release())


@app.command()
def check(task: TaskArgument, output: FormatOption = Format.TABLE) -> None:
    """Read a task and say what it comes to, without a server."""
    read = with_warnings(task)
    app = read.make(wall_clock())
    budget = "none" if read.settings.budget is None else format_price(read.settings.budget)
    facts = {
        "name": read.name,
        "template": read.template,
        "scopes": ",".join(read.scopes),
        "nodes_max": str(app.nodes_max),
        "budget": budget,
    }
    teller(output)("task", **facts, max_price=format_price(read.settings.price_max))


def with_runner(
    where: Target,
    path: Path,
    state: Path | None,
    output: Format,
    pace_s: float,
    work: Callable[[TaskRunner], Coroutine[Any, Any, None]],
) -> None:
    """Do `work` with the runner of a task."""
    task = with_warnings(path)
    with open_client(where) as client:
        tenant = client.me().holder
    if tenant == OPERATOR:
        raise WrongKey("this is an operator's key; a task needs the key of a tenant")
    file = MemoryFile(state or path.with_suffix(".state.json"), TaskMemory)
    try:
        scripts = Scripts(path.parent, task.hooks.timeout_s)
        runner = TaskRunner(
            task,
            tenant,
            Where(where.url, where.key, where.insecure),
            file,
            scripts,
            teller(output),
            pace_s=pace_s,
        )
        asyncio.run(work(runner))
    finally:
        file.close()


def with_warnings(path: Path) -> Task:
    task = read_task(path)
    for warning in task.warnings:
        typer.echo(f"laissez: {path}: {warning}", err=True)
    return task
