"""`laissez bench ...`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from laissez.cli.output import Format, FormatOption, JsonFlag
from laissez.cli.progress import steps
from laissez.server.settings import read_settings
from laissez_bench.console import FOLLOWERS, Looked
from laissez_bench.console import measure as measure_console
from laissez_bench.crowd import PLACES
from laissez_bench.load_tables import show_noisy, show_overload, show_soak
from laissez_bench.market import OPERATIONS, Row, measure, times_oracle, turns
from laissez_bench.noise import ANY_REQUEST
from laissez_bench.noise import KINDS as NOISES
from laissez_bench.noisy import measure as measure_noisy
from laissez_bench.overload import LOADS as OPEN_LOADS
from laissez_bench.overload import measure as measure_overload
from laissez_bench.recovery import measure as measure_recovery
from laissez_bench.service import LOADS
from laissez_bench.service import Row as ServiceRow
from laissez_bench.service import measure as measure_service
from laissez_bench.simulation import MINUTES, SIZES
from laissez_bench.simulation import Row as SimulationRow
from laissez_bench.simulation import measure as measure_simulation
from laissez_bench.soak import measure as measure_soak
from laissez_bench.verdicts import judge_noisy, judge_overload

app = typer.Typer(
    help="Measure how fast it is, here and now.", no_args_is_help=True, add_completion=False
)

RESTING = 10_000
FEW_RESTING = 100


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
    if not _told_machines(rows, output, as_json):
        _print_table(rows, sizes, few_at, ratio)


@app.command()
def service(
    load: Annotated[
        list[str] | None,
        typer.Option(help=f"A load to measure ({', '.join(LOADS)}); all unless given."),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(min=1, max=3600, help="How long each load is measured, after a warm-up."),
    ] = 10,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
) -> None:
    """Time durable requests to a real server: 10,000 leaves, 1,000 tenants, the load in processes
    of its own on this machine."""
    loads = load or list(LOADS)
    _check_known("loads", loads, LOADS)
    with steps("bench service", len(loads) + 1) as step:
        rows = measure_service(loads, seconds, step)
    if not _told_machines(rows, output, as_json):
        _print_service_table(rows)


@app.command()
def console(
    seconds: Annotated[
        float,
        typer.Option(min=1, max=600, help="How long it is looked at by each number of consoles."),
    ] = 5,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
) -> None:
    """Measure what it costs the server to be looked at: 10,000 leaves whose prices all move five
    times a second, and previews of a floor."""
    with steps("bench console", len(FOLLOWERS) + 2) as step:
        found = measure_console(seconds, step)
    if not _told_machines(found, output, as_json):
        _print_console_table(found)


@app.command()
def recovery(
    commands: Annotated[int, typer.Option(min=1_000, help="Commands in the journal.")] = 1_000_000,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
) -> None:
    """Time a start after a crash: the newest snapshot is 100,000 commands old, the rest is
    replayed, everything is checked."""
    with steps("bench recovery", 3) as step:
        found = measure_recovery(commands, step)
    if not _told_machines(found, output, as_json):
        print(
            f"{found.commands:,} commands ({found.megabytes:,.0f} MB), {found.replayed:,} of them"
            f" replayed: recovered in {found.seconds:.1f} s"
        )


@app.command()
def sim(
    minutes: Annotated[
        float,
        typer.Option(
            min=0.1,
            max=60,
            help="Minutes of virtual time to measure, after everybody has come and settled.",
        ),
    ] = MINUTES,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
) -> None:
    """Time the simulator: 100, 1,000 and 10,000 nodes with a tenant for every ten, on one core."""
    with steps("bench sim", len(SIZES) + 1) as step:
        rows = measure_simulation(minutes=minutes, step=step)
    if not _told_machines(rows, output, as_json):
        _print_simulation_table(rows, minutes)


@app.command()
def soak(
    minutes: Annotated[float, typer.Option(min=0.1, max=600, help="How long.")] = 10,
    per_second: Annotated[
        float,
        typer.Option(
            min=100, help="Commands per second: so many that it keeps up, or it measures a queue."
        ),
    ] = 3_000,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
) -> None:
    """Watch the server under a steady load: memory, files, threads, drift; and audit events, record
    and bills. Exit status 1 if anything is wrong."""
    with steps("bench soak", 4) as step:
        found = measure_soak(minutes, per_second, step)
    if not _told_machines(found, output, as_json):
        show_soak(found)
    _exit(found.failures)


@app.command()
def overload(
    load: Annotated[
        list[str] | None,
        typer.Option(help=f"A load to measure ({', '.join(OPEN_LOADS)}); all unless given."),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.1, max=3600, help="How long each level is measured, in turns.")
    ] = 10,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
) -> None:
    """Ask for 50, 80, 100 and 150 % of what the server can do, at given moments whether or not it
    has answered, and see what it sheds. Exit status 1 if it sheds nothing of what is too much, or
    those it admits wait for too long."""
    loads = load or list(OPEN_LOADS)
    _check_known("loads", loads, OPEN_LOADS)
    with steps("bench overload", len(loads) + 1) as step:
        found = judge_overload(
            measure_overload(loads, seconds, step), read_settings().limits.wait_s_max
        )
    if not _told_machines(found, output, as_json):
        show_overload(found)
    _exit(found.failures)


@app.command()
def noisy(
    kind: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                f"A kind of noise ({', '.join(NOISES)}), or any request, like 'GET /v1/leases'; all"
                " kinds unless given."
            )
        ),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(
            min=0.1, max=3600, help="How long each kind is measured, by turns with silence."
        ),
    ] = 10,
    real: Annotated[
        bool,
        typer.Option(
            help="By the clock, with a server process and real sockets: where nothing else runs."
        ),
    ] = False,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
) -> None:
    """See how much one tenant that asks as fast as it can slows the others down, in the server's
    processor time. Exit status 1 if that is certainly by more than a tenth."""
    kinds = kind or list(NOISES)
    _check_known("kinds of noise", [one for one in kinds if not ANY_REQUEST.fullmatch(one)], NOISES)
    with steps("bench noisy", 2) as step:
        found = judge_noisy(measure_noisy(kinds, seconds, step, real), real)
    if not _told_machines(found, output, as_json):
        show_noisy(found)
    _exit(found.failures)


def _told_machines(found: object, output: Format, as_json: bool) -> bool:
    """Print it as JSON if that was asked for; says whether it was."""
    if not as_json and output is not Format.JSON:
        return False
    print(msgspec.json.encode(found).decode())
    return True


def _exit(failures: list[str]) -> None:
    if failures:
        raise typer.Exit(1)


def _check_known(what: str, named: list[str], known: Collection[str]) -> None:
    unknown = [name for name in named if name not in known]
    if unknown:
        raise typer.BadParameter(f"expected {what} from {', '.join(known)}, found {unknown[0]!r}")


def _print_service_table(rows: list[ServiceRow]) -> None:
    table = Table(
        title="The service: durable answers per second",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for title in (
        "load",
        "per second",
        "p50 ms",
        "p99 ms",
        "connections",
        "in flight each",
        "refused",
    ):
        table.add_column(title, justify="left" if title == "load" else "right", no_wrap=True)
    for row in rows:
        refused = f"{sum(row.problems.values()):,}"
        figures = (
            f"{row.per_second:,.0f}",
            f"{row.p50_ms:.1f}",
            f"{row.p99_ms:.1f}",
            f"{row.connections:,}",
            f"{row.in_flight}",
            refused,
        )
        table.add_row(row.load, *figures)
    console = Console()
    console.print(table)
    console.print(
        f"{rows[0].leaves:,} leaves, {rows[0].tenants:,} tenants; server and load share this"
        " machine's cores",
        highlight=False,
    )


def _print_console_table(found: Looked) -> None:
    table = Table(
        title="The service, looked at while every price moves",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for title in (
        "followers",
        "CPU of a core",
        "messages/s each",
        "MB/s each",
        "longest answer ms",
    ):
        table.add_column(title, justify="right", no_wrap=True)
    for row in found.rows:
        cpu = f"{row.cpu_share:.1%}".replace("%", " %")
        table.add_row(
            f"{row.followers}",
            cpu,
            f"{row.messages_per_second:.1f}",
            f"{row.megabytes_per_second:.2f}",
            f"{row.longest_ms:.0f}",
        )
    console = Console()
    console.print(table)
    console.print(
        f"a preview of a floor that would end {found.preview_ends:,} leases takes"
        f" {found.preview_ms:,.0f} ms (median)",
        highlight=False,
    )


def _print_simulation_table(rows: list[SimulationRow], minutes: float) -> None:
    table = Table(
        title="The simulator, one core", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    for title in (
        "nodes",
        "tenants",
        "speed",
        "requests/s",
        "market",
        "adapters",
        "worlds",
        "itself",
    ):
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        shares = (row.market_share, row.adapter_share, row.world_share, row.simulator_share)
        figures = (
            f"{row.nodes:,}",
            f"{row.tenants:,}",
            f"{row.speed:,.0f}",
            f"{row.requests_per_second:,.0f}",
        )
        table.add_row(*figures, *(f"{share:.0%}".replace("%", " %") for share in shares))
    console = Console()
    console.print(table)
    console.print(
        f"speed is simulated over real time, for {minutes:g} virtual minutes after everybody has"
        " come and settled",
        highlight=False,
    )


def _print_table(rows: list[Row], sizes: list[int], few_at: int, ratio: int) -> None:
    cells = {(row.operation, row.leaves): row for row in rows}
    small, large = min(sizes), max(sizes)
    console = Console()
    title = (
        f"The market, {'compiled' if rows[0].compiled else 'interpreted'}, {RESTING:,} orders at"
        " the root: per second"
    )
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("operation", no_wrap=True)
    for size in sizes:
        table.add_column(f"{size:,}\nleaves", justify="right", no_wrap=True)
    table.add_column("p99 us", justify="right", no_wrap=True)
    table.add_column("growth", justify="right", no_wrap=True)
    table.add_column("crowding", justify="right", no_wrap=True)
    for operation in OPERATIONS:
        shown = [f"{cells[operation, size].per_second:,.0f}" for size in sizes]
        growth = (
            f"x{cells[operation, small].per_second / cells[operation, large].per_second:.2f}"
            if small < large
            else "-"
        )
        last = cells[operation, large]
        table.add_row(
            operation + ("*" if operation == "bill" else ""),
            *shown,
            f"{last.p99_us:.1f}",
            growth,
            f"x{cells[operation, few_at].crowding:.2f}",
        )
    console.print(table)
    notes = [f"growth: time at {large:,} over time at {small:,} leaves"] if small < large else []
    notes += [
        (
            f"crowding: time with {RESTING:,} over time with {FEW_RESTING} orders resting, at"
            f" {few_at:,} leaves"
        ),
        (
            f"p99 at {large:,} leaves; the load names {rows[0].places:,} leaves (--places); * per"
            " lease"
        ),
    ]
    for size in sizes:
        place, cancel = cells["place_anywhere", size], cells["cancel_anywhere", size]
        both = 2 / (1 / place.per_second + 1 / cancel.per_second)
        notes.append(
            f"{size:,} leaves: place + cancel anywhere {both:,.0f}/s, {place.bytes_per_leaf:,.0f}"
            " bytes per leaf"
        )
    notes.append(
        f"1,000 leaves, 10 resting: place + cancel anywhere {ratio:,} times the naive oracle"
    )
    for note in notes:
        console.print(note, highlight=False)
