"""`laissez tenant`: run a task that trades for itself, stop it, or check its file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
import typer

from laissez.cli.commands import located, open_client
from laissez.cli.output import Format, FormatOption, arg, group, opt
from laissez.cli.profiles import Target
from laissez.cli.progress import event_printer, stop_on_signals
from laissez.exchange.commands import OPERATOR
from laissez.live.attending import Where
from laissez.live.memory import MemoryFile, TaskMemory
from laissez.live.scripts import Scripts
from laissez.live.task_runner import PACE_S, TaskRunner
from laissez.live.trader import wall_clock
from laissez.tenants.templates.task import Task, read_task
from laissez.units import format_price


class WrongKey(Exception):
    """The key is an operator's, who cannot run a task."""


app = group("Run a task that trades for itself.")

TaskArgument: TypeAlias = Annotated[Path, arg("The task, a YAML file.", metavar="TASK")]
StateOption: TypeAlias = Annotated[Path | None, opt("The task's memory. Default: beside the task.")]


@app.command()
@located
def run(
    target: Target,
    task: TaskArgument,
    state: StateOption = None,
    adopt: Annotated[bool, opt("Take over existing leases and orders.", "--adopt")] = False,
    dry_run: Annotated[bool, opt("Only show what would be sent now.", "--dry-run")] = False,
    pace: Annotated[float, opt("Seconds between idle decisions.", min=0.1, max=30)] = PACE_S,
    output: FormatOption = Format.TABLE,
) -> None:
    """Run a task until it is done. Ctrl-C keeps its leases; running it again continues."""

    async def work(runner: TaskRunner) -> None:
        if dry_run:
            for command in await runner.dry_run():
                typer.echo(msgspec.json.encode(command).decode())
        else:
            stop_on_signals(runner.stop)
            await runner.run(adopt)

    with_runner(target, task, state, output, pace, work)


@app.command()
@located
def stop(
    target: Target,
    task: TaskArgument,
    state: StateOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Give up everything that the task's tenant has, run the hooks, and forget the task."""
    with_runner(target, task, state, output, PACE_S, lambda runner: runner.release())


@app.command()
def check(task: TaskArgument, output: FormatOption = Format.TABLE) -> None:
    """Check a task's file without a server, and show its settings."""
    read = read_with_warnings(task)
    settings = read.settings
    event_printer(output)(
        "task",
        name=read.name,
        template=read.template,
        scopes=",".join(read.scopes),
        nodes_max=str(read.make(wall_clock()).nodes_max),
        budget="none" if settings.budget is None else format_price(settings.budget),
        max_price=format_price(settings.price_max),
    )


def with_runner(
    target: Target,
    path: Path,
    state: Path | None,
    output: Format,
    pace_s: float,
    work: Callable[[TaskRunner], Coroutine[Any, Any, None]],
) -> None:
    task = read_with_warnings(path)
    with open_client(target) as client:
        tenant = client.me().holder
    if tenant == OPERATOR:
        raise WrongKey("this is an operator's key; a task needs the key of a tenant")
    file = MemoryFile(state or path.with_suffix(".state.json"), TaskMemory)
    try:
        runner = TaskRunner(
            task,
            tenant,
            Where(target.url, target.key, target.insecure),
            file,
            Scripts(path.parent, task.hooks.timeout_s),
            event_printer(output),
            pace_s=pace_s,
        )
        asyncio.run(work(runner))
    finally:
        file.close()


def read_with_warnings(path: Path) -> Task:
    task = read_task(path)
    for warning in task.warnings:
        typer.echo(f"laissez: {path}: {warning}", err=True)
    return task
