"""`laissez operator`: let maps of power, cooling and more price the market; see their effect."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import typer

from laissez.cli.commands import add, located
from laissez.cli.kinds import answers
from laissez.cli.output import Format, FormatOption, arg, group, opt
from laissez.cli.profiles import Target
from laissez.cli.progress import event_printer, stop_on_signals
from laissez.cli.tables import Column, format_second, money, price_column, show, time_column
from laissez.client import AsyncClient, LaissezError
from laissez.live.memory import MemoryFile
from laissez.live.operator_runner import PACE_S, OperatorRunner, is_passing
from laissez.operators import Decision, Memory, read_maps
from laissez.units import format_price
from laissez.wire.inframaps import (
    RUNNER_MAX,
    AlarmReport,
    FloorReport,
    InfraMaps,
    MapReport,
    RunnerShown,
    SignalRead,
)

app = group("Let maps of power, cooling, maintenance and more price the market.")


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


@app.command()
@located
def run(
    target: Target,
    maps: Annotated[Path, arg("The maps, a TOML file.", metavar="MAPS")],
    state: Annotated[Path | None, opt("The maps' memory. Default: beside the maps.")] = None,
    once: Annotated[bool, opt("Decide and send once, then end.", "--once")] = False,
    dry_run: Annotated[bool, opt("Only show the commands and the floors.", "--dry-run")] = False,
    pace: Annotated[float, opt("Seconds between two decisions.", min=0.1, max=3600)] = PACE_S,
    name: Annotated[
        str | None,
        opt(
            "The name under which these maps are shown. Default: the file's name.",
            parser=runner_name,
            metavar="NAME",
        ),
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Price the market by its maps until Ctrl-C. Floors stay as they are when it ends."""
    sys.path.insert(0, str(maps.parent.resolve()))  # for functions that the maps call
    operator = read_maps(maps)
    file = MemoryFile(state or maps.with_suffix(".state.json"), Memory)

    async def work() -> None:
        print_event = event_printer(output)
        async with AsyncClient(target.url, target.key, insecure=target.insecure) as client:
            runner = OperatorRunner(
                operator,
                client,
                print_event,
                file.read() or Memory(),
                name=name or maps.stem[:RUNNER_MAX],
                pace_s=pace,
            )
            if dry_run:
                explain(await runner.plan(), print_event)
            else:
                await keep_pricing(runner, file, print_event, once, pace)

    try:
        asyncio.run(work())
    finally:
        file.close()
        operator.close()


async def keep_pricing(
    runner: OperatorRunner,
    file: MemoryFile[Memory],
    print_event: Callable[..., None],
    once: bool,
    pace_s: float,
) -> None:
    """Decide again and again, and wait for a server that is away."""
    stopped = asyncio.Event()
    stop_on_signals(stopped.set)
    while not stopped.is_set():
        try:
            await runner.turn()
            file.write(runner.memory)
        except LaissezError as error:
            if once or not is_passing(error):
                raise
            print_event("server_away", why=str(error))
        if once:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pace_s):
                await stopped.wait()


def explain(decision: Decision, print_event: Callable[..., None]) -> None:
    """Print the terms of each floor, the commands and the alarms of a decision."""
    for one in decision.priced:
        print_event(
            "floor",
            node=one.node,
            base=format_price(one.base),
            **{term.name: f"{term.weight:g}x{term.pressure:.3f}" for term in one.terms},
            wanted=format_price(one.wanted),
            in_force=format_price(one.in_force),
        )
    for command in decision.commands:
        print_event("would_send", command=msgspec.json.encode(command).decode())
    for alarm in decision.alarms:
        print_event(
            "alarm", kind=alarm.kind.value, where=alarm.where, signal=alarm.signal, why=alarm.reason
        )


class MapRow(NamedTuple):
    """A map and one of its signals; a map without signals has one row too."""

    map: MapReport
    signal: SignalRead | None

    @property
    def nodes(self) -> str:
        first, *others = self.map.nodes
        return f"{first} and {len(others)} more" if len(others) > 1 else " ".join(self.map.nodes)

    @property
    def value(self) -> str | None:
        if self.signal is None:
            return None
        return "none" if self.signal.value is None else f"{self.signal.value:g}"

    @property
    def pressure(self) -> float:
        return max((one.pressure for one in self.map.pressures), default=0.0)


def floor_formula(floor: FloorReport) -> str:
    """The formula of a floor, such as 2.00 x (1 + 2 x 0.5 row1), without maps at rest."""
    terms = "".join(
        f" + {term.weight:g} x {term.pressure:.3g} {term.map}"
        for term in floor.terms
        if term.pressure
    )
    return f"{money(floor.base)} x (1{terms})" if terms else money(floor.base)


MAPS: list[Column[MapRow]] = [
    Column("MAP", lambda row: row.map.name),
    Column("KIND", lambda row: row.map.kind),
    Column("NODES", lambda row: row.nodes),
    Column("SIGNAL", lambda row: row.signal and row.signal.signal, optional=True),
    Column("VALUE", lambda row: row.value, right=True, optional=True),
    Column("WEIGHT", lambda row: f"{row.map.weight:g}", right=True),
    Column("PRESSURE", lambda row: f"{row.pressure:.3f}", right=True),
    time_column("STARTS", lambda row: row.map.start, optional=True),
    time_column("ENDS", lambda row: row.map.end, optional=True),
]
FLOORS: list[Column[FloorReport]] = [
    Column("FLOOR", lambda floor: floor.node),
    price_column("IN FORCE $/h", lambda floor: floor.in_force),
    price_column("ASKED $/h", lambda floor: floor.asked, missing="", optional=True),
    price_column("WANTED $/h", lambda floor: floor.wanted),
    Column("FROM", floor_formula),
]
ALARMS: list[Column[AlarmReport]] = [
    Column("ALARM", lambda alarm: alarm.kind),
    Column("WHERE", lambda alarm: alarm.where),
    Column("SIGNAL", lambda alarm: alarm.signal, optional=True),
    time_column("SINCE", lambda alarm: alarm.since),
    Column("REASON", lambda alarm: alarm.reason),
]


def print_runners(found: InfraMaps) -> None:
    if not found.runners:
        typer.echo("no maps have reported lately; `laissez operator run` starts them", err=True)
    for number, runner in enumerate(found.runners):
        if number:
            typer.echo()
        _show_runner(runner)


def _show_runner(runner: RunnerShown) -> None:
    late = ": LATE, it has not reported since" if runner.late else ""
    typer.echo(f"{runner.runner}: {format_second(runner.at)}, every {runner.pace_s:g} s{late}")
    rows = [MapRow(each, signal) for each in runner.maps for signal in each.signals or (None,)]
    show(rows, MAPS, empty="no maps")
    if runner.floors:
        typer.echo()
        show(runner.floors, FLOORS)
    if runner.alarms:
        typer.echo()
        show(runner.alarms, ALARMS)


add(app, "status", "Show the maps' pressures and floors.", answers(print_runners), "inframaps")
