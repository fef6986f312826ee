"""The commands `laissez bench ...`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Annotated, Any, TypeVar

import msgspec
import typer

from laissez.cli.output import Format, FormatOption, JsonFlag
from laissez.cli.progress import steps
from laissez.server.settings import read_settings
from laissez_bench import tables
from laissez_bench.console import FOLLOWERS
from laissez_bench.console import measure as measure_console
from laissez_bench.crowd import PLACES
from laissez_bench.market import Row as MarketRow
from laissez_bench.market import measure, times_oracle, turns
from laissez_bench.noise import ANY_REQUEST
from laissez_bench.noise import KINDS as NOISES
from laissez_bench.noisy import measure as measure_noisy
from laissez_bench.overload import LOADS as OVERLOADS
from laissez_bench.overload import measure as measure_overload
from laissez_bench.recovery import RECOVERY, Recovery
from laissez_bench.recovery import measure as measure_recovery
from laissez_bench.service import LOADS
from laissez_bench.service import Row as ServiceRow
from laissez_bench.service import measure as measure_service
from laissez_bench.simulation import MINUTES, SIZES
from laissez_bench.simulation import measure as measure_simulation
from laissez_bench.soak import measure as measure_soak
from laissez_bench.verdicts import judge_noisy, judge_overload

app = typer.Typer(
    help="Measure how fast it is, here and now.", no_args_is_help=True, add_completion=False
)

RESTING = 10_000
FEW_RESTING = 100
ROWS = (*LOADS, RECOVERY)
F = TypeVar("F")


def _between(least: float, most: float, what: str) -> Any:
    return typer.Option(min=least, max=most, help=what)


def _some_of(what: str, known: Collection[str]) -> Any:
    return typer.Option(help=f"{what} ({', '.join(known)}); all unless given.")


@app.callback()
def bench() -> None:
    """Measure how fast it is, here and now."""


def _sizes(text: str) -> list[int]:
    sizes = sorted({int(part) if part.strip().isdecimal() else 0 for part in text.split(",")})
    if not all(100 <= size <= 1_000_000 for size in sizes):
        raise typer.BadParameter(
            f"expected numbers of leaves from 100 to 1,000,000 with commas between, found {text!r}"
        )
    return sizes


@app.command()
def market(
    leaves: Annotated[
        str, typer.Option(help="Sizes of the tree to measure, with commas between.")
    ] = "1000,10000,100000",
    calls: Annotated[
        int, typer.Option(min=100, help="Calls to time per operation and size.")
    ] = 20_000,
    places: Annotated[
        int,
        typer.Option(
            min=100,
            help="Leaves that the load names; as many as the tree has shows what cold caches cost.",
        ),
    ] = PLACES,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
) -> None:
    """Time every operation of the market on a tree full of leases with 10,000 orders waiting at its
    root."""
    sizes = _sizes(leaves)
    few_at = 10_000 if 10_000 in sizes else sizes[0]
    cells = [(size, RESTING) for size in sizes] + [(few_at, FEW_RESTING)]
    with steps("bench market", len(cells) + turns(calls) + 1) as step:
        rows = measure(cells, places, calls, step)
        step("the naive oracle, 1,000 leaves")
        ratio = round(times_oracle())
    few = {row.operation: row.per_second for row in rows if row.resting == FEW_RESTING}
    rows = [row for row in rows if row.resting == RESTING]
    for row in rows:
        if row.leaves == few_at:
            row.crowding = round(few[row.operation] / row.per_second, 2)
        if row.leaves == 1_000 and row.operation in ("place_anywhere", "cancel_anywhere"):
            row.times_oracle = ratio

    def show(rows: list[MarketRow]) -> None:
        tables.show_market(rows, sizes, few_at, (RESTING, FEW_RESTING), ratio)

    _report(rows, show, output, as_json)


@app.command()
def service(
    load: Annotated[list[str] | None, _some_of("A row to measure", ROWS)] = None,
    seconds: Annotated[
        float, _between(1, 3600, "How long each row is measured, after a warm-up.")
    ] = 10,
    ceiling: Annotated[
        bool, typer.Option(help="Also measure a server with an empty exchange, by turns.")
    ] = True,
    recovery_commands: Annotated[
        int, typer.Option(min=100, max=100_000_000, help="Commands in the journal to recover.")
    ] = 20_000,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
) -> None:
    """Time durable requests to a real server (10,000 leaves, 1,000 tenants), and a start after a
    crash. The load generator runs on this machine, too."""
    named = load or list(ROWS)
    _check_known("loads", named, ROWS)
    loads = [one for one in named if one != RECOVERY]
    rows: list[ServiceRow | Recovery] = []
    with steps("bench service", len(loads) + 1 + 3 * (RECOVERY in named)) as step:
        if loads:
            rows += measure_service(loads, seconds, step, ceiling=ceiling)
        if RECOVERY in named:
            rows.append(measure_recovery(recovery_commands, step))
    _report(rows, tables.show_service, output, as_json)


@app.command()
def console(
    seconds: Annotated[
        float, _between(1, 600, "How long it is looked at by each number of consoles.")
    ] = 5,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
) -> None:
    """Measure what it costs the server to be looked at: 10,000 leaves whose prices all move five
    times a second, and previews of a floor."""
    with steps("bench console", len(FOLLOWERS) + 2) as step:
        found = measure_console(seconds, step)
    _report(found, tables.show_console, output, as_json)


@app.command()
def sim(
    minutes: Annotated[
        float,
        _between(
            0.1, 60, "Minutes of virtual time to measure, after everybody has come and settled."
        ),
    ] = MINUTES,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
) -> None:
    """Time the simulator: 100, 1,000 and 10,000 nodes with a tenant for every ten, on one core."""
    with steps("bench sim", len(SIZES) + 1) as step:
        rows = measure_simulation(minutes=minutes, step=step)
    _report(rows, partial(tables.show_simulation, minutes=minutes), output, as_json)


@app.command()
def soak(
    minutes: Annotated[float, _between(0.1, 600, "How long.")] = 10,
    per_second: Annotated[
        float,
        typer.Option(
            min=100,
            help="Commands per second. Choose a sustainable rate; above it you measure queueing.",
        ),
    ] = 3_000,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
) -> None:
    """Watch the server under a steady load: memory, files, threads, drift; and audit events, record
    and bills. Exit status 1 if anything is wrong."""
    with steps("bench soak", 4) as step:
        found = measure_soak(minutes, per_second, step)
    _report(found, tables.show_soak, output, as_json, found.failures)


@app.command()
def overload(
    load: Annotated[list[str] | None, _some_of("A load to measure", OVERLOADS)] = None,
    seconds: Annotated[
        float, _between(0.1, 3600, "How long each level is measured, in turns.")
    ] = 10,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
) -> None:
    """Ask for 50, 80, 100 and 150 % of what the server can do, at given moments whether or not it
    has answered, and see what it sheds. Exit status 1 if it sheds nothing of what is too much, or
    those it admits wait for too long."""
    loads = load or list(OVERLOADS)
    _check_known("loads", loads, OVERLOADS)
    with steps("bench overload", len(loads) + 1) as step:
        rows = measure_overload(loads, seconds, step)
    found = judge_overload(rows, read_settings().limits.wait_s_max)
    _report(found, tables.show_overload, output, as_json, found.failures)


@app.command()
def noisy(
    kind: Annotated[
        list[str] | None, _some_of("A kind of noise, or any request, like 'GET /v1/leases'", NOISES)
    ] = None,
    seconds: Annotated[
        float, _between(0.1, 3600, "How long each kind is measured, by turns with silence.")
    ] = 10,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
) -> None:
    """See how much one tenant that asks as fast as it can slows the others down, in the server's
    processor time. Exit status 1 if that is certainly by more than a tenth."""
    kinds = kind or list(NOISES)
    _check_known("kinds of noise", [one for one in kinds if not ANY_REQUEST.fullmatch(one)], NOISES)
    with steps("bench noisy", 2) as step:
        found = judge_noisy(measure_noisy(kinds, seconds, step))
    _report(found, tables.show_noisy, output, as_json, found.failures)


def _report(
    found: F,
    show: Callable[[F], None],
    output: Format,
    as_json: bool,
    failures: Collection[str] = (),
) -> None:
    if as_json or output is Format.JSON:
        print(msgspec.json.encode(found).decode())
    else:
        show(found)
    if failures:
        raise typer.Exit(1)


def _check_known(what: str, named: list[str], known: Collection[str]) -> None:
    unknown = [name for name in named if name not in known]
    if unknown:
        raise typer.BadParameter(f"expected {what} from {', '.join(known)}, found {unknown[0]!r}")
