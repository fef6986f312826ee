"""The commands `laissez bench ...`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Annotated, Any, TypeVar

import msgspec
import typer

from laissez.cli.output import Format, FormatOption
from laissez.cli.progress import steps
from laissez.server.settings import read_settings
from laissez_bench import console as consoles
from laissez_bench import market as markets
from laissez_bench import noisy as noises
from laissez_bench import overload as overloads
from laissez_bench import service as services
from laissez_bench import simulation, tables
from laissez_bench import soak as soaks
from laissez_bench.crowd import PLACES
from laissez_bench.noise import ANY_REQUEST, KINDS
from laissez_bench.verdict import Judged

app = typer.Typer(
    help="Measure how fast it is, here and now.", no_args_is_help=True, add_completion=False
)

RESTING = 10_000
FEW_RESTING = 100
ROWS = (*services.LOADS, services.RECOVERY)
F = TypeVar("F")


def _option(what: str, least: float, most: float | None = None) -> Any:
    return typer.Option(min=least, max=most, help=what)


def _some_of(what: str, known: Collection[str]) -> Any:
    return typer.Option(help=f"{what} ({', '.join(known)}); all unless given.")


@app.callback()
def bench() -> None:
    """Measure how fast it is, here and now."""


@app.command()
def market(
    leaves: Annotated[
        str, typer.Option(help="Sizes of the tree to measure, with commas between.")
    ] = "1000,10000,100000",
    calls: Annotated[int, _option("Calls to time per operation and size.", 100)] = 20_000,
    places: Annotated[
        int,
        _option(
            "Leaves that the load names; as many as the tree has shows what cold caches cost.", 100
        ),
    ] = PLACES,
    output: FormatOption = Format.TABLE,
) -> None:
    """Time every operation of the market on a tree full of leases with 10,000 orders waiting at its
    root."""
    sizes = _sizes(leaves)
    few_at = 10_000 if 10_000 in sizes else sizes[0]
    cells = [(size, RESTING) for size in sizes] + [(few_at, FEW_RESTING)]
    with steps("bench market", len(cells) + markets.turns(calls) + 1) as step:
        rows = markets.measure(cells, places, calls, step)
        step("the naive oracle, 1,000 leaves")
        ratio = round(markets.times_oracle())
    few = {row.operation: row.per_second for row in rows if row.resting == FEW_RESTING}
    rows = [row for row in rows if row.resting == RESTING]
    for row in rows:
        if row.leaves == few_at:
            row.crowding = round(few[row.operation] / row.per_second, 2)
        if row.leaves == 1_000 and row.operation in ("place_anywhere", "cancel_anywhere"):
            row.times_oracle = ratio

    def show(rows: list[markets.Row]) -> None:
        tables.show_market(rows, sizes, few_at, (RESTING, FEW_RESTING), ratio)

    _report(rows, show, output)


def _sizes(text: str) -> list[int]:
    sizes = sorted({int(part) if part.strip().isdecimal() else 0 for part in text.split(",")})
    if not all(100 <= size <= 1_000_000 for size in sizes):
        raise typer.BadParameter(
            f"expected numbers of leaves from 100 to 1,000,000 with commas between, found {text!r}"
        )
    return sizes


@app.command()
def service(
    load: Annotated[list[str] | None, _some_of("A row to measure", ROWS)] = None,
    seconds: Annotated[
        float, _option("How long each row is measured, after a warm-up.", 1, 3600)
    ] = 10,
    ceiling: Annotated[
        bool, typer.Option(help="Also measure a server with an empty exchange, by turns.")
    ] = True,
    recovery_commands: Annotated[
        int, _option("Commands in the journal to recover.", 100, 100_000_000)
    ] = 20_000,
    output: FormatOption = Format.TABLE,
) -> None:
    """Time durable requests to a real server (10,000 leaves, 1,000 tenants), and a start after a
    crash."""
    named = load or list(ROWS)
    _check_known("loads", named, ROWS)
    loads = [one for one in named if one != services.RECOVERY]
    recovers = services.RECOVERY in named
    rows: list[services.Row | services.Recovery] = []
    with steps("bench service", len(loads) + 1 + 3 * recovers) as step:
        if loads:
            rows += services.measure(loads, seconds, step, ceiling=ceiling)
        if recovers:
            rows.append(services.measure_recovery(recovery_commands, step))
    _report(rows, tables.show_service, output)


@app.command()
def console(
    seconds: Annotated[float, _option("How long each number of consoles is measured.", 1, 600)] = 5,
    output: FormatOption = Format.TABLE,
) -> None:
    """Measure what open consoles cost the server while the prices of 10,000 leaves move five times
    a second, and previews of a floor."""
    with steps("bench console", len(consoles.FOLLOWERS) + 2) as step:
        found = consoles.measure(seconds, step)
    _report(found, tables.show_console, output)


@app.command()
def sim(
    minutes: Annotated[
        float,
        _option("Minutes of virtual time to measure, after all tenants have settled.", 0.1, 60),
    ] = simulation.MINUTES,
    output: FormatOption = Format.TABLE,
) -> None:
    """Time the simulator: 100, 1,000 and 10,000 nodes with a tenant for every ten, on one core."""
    with steps("bench sim", len(simulation.SIZES) + 1) as step:
        rows = simulation.measure(minutes=minutes, step=step)
    _report(rows, partial(tables.show_simulation, minutes=minutes), output)


@app.command()
def soak(
    minutes: Annotated[float, _option("How long.", 0.1, 600)] = 10,
    per_second: Annotated[
        float,
        _option(
            "Commands per second. Choose a sustainable rate; above it you measure queueing.", 100
        ),
    ] = 3_000,
    output: FormatOption = Format.TABLE,
) -> None:
    """Watch memory, files, threads and drift under a steady load; audit events, record and bills.
    Exit status 1 if anything is wrong."""
    with steps("bench soak", 4) as step:
        found = soaks.measure(minutes, per_second, step)
    _report(found, tables.show_soak, output)


@app.command()
def overload(
    load: Annotated[list[str] | None, _some_of("A load to measure", overloads.LOADS)] = None,
    seconds: Annotated[
        float, _option("How long each level is measured, in turns.", 0.1, 3600)
    ] = 10,
    output: FormatOption = Format.TABLE,
) -> None:
    """Offer 50, 80, 100 and 150 % of the server's capacity, open loop. Exit status 1 if it sheds
    too little, or admitted requests wait too long."""
    loads = load or list(overloads.LOADS)
    _check_known("loads", loads, overloads.LOADS)
    with steps("bench overload", len(loads) + 1) as step:
        rows = overloads.measure(loads, seconds, step)
    found = overloads.judge(rows, read_settings().limits.wait_s_max)
    _report(found, tables.show_overload, output)


@app.command()
def noisy(
    kind: Annotated[
        list[str] | None, _some_of("A kind of noise, or any request, like 'GET /v1/leases'", KINDS)
    ] = None,
    seconds: Annotated[
        float, _option("How long each kind is measured, by turns with silence.", 0.1, 3600)
    ] = 10,
    output: FormatOption = Format.TABLE,
) -> None:
    """Measure how much one noisy tenant slows the others down, in the server's processor time. Exit
    status 1 if certainly by more than a tenth."""
    kinds = kind or list(KINDS)
    _check_known("kinds of noise", [one for one in kinds if not ANY_REQUEST.fullmatch(one)], KINDS)
    with steps("bench noisy", 2) as step:
        found = noises.judge(noises.measure(kinds, seconds, step))
    _report(found, tables.show_noisy, output)


def _report(found: F, show: Callable[[F], None], output: Format) -> None:
    if output is Format.JSON:
        print(msgspec.json.encode(found).decode())
    else:
        show(found)
    if isinstance(found, Judged) and found.failures:
        raise typer.Exit(1)


def _check_known(what: str, named: list[str], known: Collection[str]) -> None:
    unknown = [name for name in named if name not in known]
    if unknown:
        raise typer.BadParameter(f"expected {what} from {', '.join(known)}, found {unknown[0]!r}")
