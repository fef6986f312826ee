"""`laissez operator`: let the maps of an operator price the market, and see what they do."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from laissez.cli.connection import located
from laissez.cli.operator_status import status
from laissez.cli.output import Format, FormatOption
from laissez.cli.profiles import Target
from laissez.cli.telling import stop_on_signals, teller
from laissez.client import AsyncClient, LaissezError
from laissez.live.memory import MemoryFile
from laissez.live.operator_runner import PACE_S, OperatorRunner, is_passing
from laissez.operators import Decision, Memory, Operator, read_maps
from laissez.units import format_price
from laissez.wire.inframaps import RUNNER_MAX

app = typer.Typer(no_args_is_help=True, add_completion=False)


def runner_name(text: str) -> str:
    if (
        not 1 <= len(text) <= RUNNER_MAX
        or not text.isprintable()
        or "/" in text
        or text in (".", "..")
    ):
        raise typer.BadParameter(
            f"expected 1 to {RUNNER_MAX} printable characters without /, found"
            f" {text[:RUNNER_MAX]!r}"
        )
    return text


@app.callback()
def operator() -> None:
    """Let maps of power, cooling, maintenance and more price the market."""


@app.command()
@located
def run(
    where: Target,
    maps: Annotated[
        Path, typer.Argument(metavar="MAPS", help="The maps, a TOML file (docs/operators.md).")
    ],
    state: Annotated[
        Path | None,
        typer.Option("--state", help="Where the maps' memory is kept; beside them unless given."),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Decide and send once, then end.")] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Only show what would be sent now, and how each floor comes about."
        ),
    ] = False,
    pace: Annotated[
        float, typer.Option("--pace", min=0.1, max=3600, help="Seconds between two decisions.")
    ] = PACE_S,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            parser=runner_name,
            metavar="NAME",
            help="What these maps are called where they are shown; the file's name unless given.",
        ),
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Price the market by its maps until Ctrl-C. Floors stay as they are when it ends."""
    sys.path.insert(0, str(maps.parent.resolve()))  # a function that a map calls may lie beside it
    operator = read_maps(maps)
    file = MemoryFile(state or maps.with_suffix(".state.json"), Memory)
    called = name or maps.stem[:RUNNER_MAX]
    try:
        work = (
            show(where, operator, file, output)
            if dry_run
            else price(where, operator, file, output, once, pace, called)
        )
        asyncio.run(work)
    finally:
        file.close()
        operator.close()


async def price(
    where: Target,
    operator: Operator,
    file: MemoryFile[Memory],
    output: Format,
    once: bool,
    pace_s: float,
    name: str,
) -> None:
    """Decide again and again. A server that is away is waited for."""
    tell, stopped = teller(output), asyncio.Event()
    stop_on_signals(stopped.set)
    async with AsyncClient(where.url, where.key, insecure=where.insecure) as client:
        runner = OperatorRunner(operator, client, tell, file.read(), name=name, pace_s=pace_s)
        while not stopped.is_set():
            try:
                await runner.turn()
                file.write(runner.memory)
            except LaissezError as error:
                if once or not is_passing(error):
                    raise
                tell("server_away", why=str(error))
            if once:
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pace_s):
                    await stopped.wait()


async def show(where: Target, operator: Operator, file: MemoryFile[Memory], output: Format) -> None:
    tell = teller(output)
    async with AsyncClient(where.url, where.key, insecure=where.insecure) as client:
        explain(await OperatorRunner(operator, client, tell, file.read()).plan(), tell)


def explain(decision: Decision, tell: Callable[..., None]) -> None:
    """How each floor comes about, what would be sent, and what is wrong."""
    for one in decision.priced:
        terms = {term.name: f"{term.weight:g}x{term.pressure:.3f}" for term in one.terms}
        tell(
            "floor",
            node=one.node,
            base=format_price(one.base),
            **terms,
            wanted=format_price(one.wanted),
            in_force=format_price(one.in_force),
        )
    for command in decision.commands:
        tell("would_send", command=msgspec.json.encode(command).decode())
    for alarm in decision.alarms:
        tell(
            "alarm", kind=alarm.kind.value, where=alarm.where, signal=alarm.signal, why=alarm.reason
        )


app.command()(status)
