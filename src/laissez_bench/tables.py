"""The tables that the benchmarks print."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TypeVar

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from laissez_bench.console import Looked
from laissez_bench.market import OPERATIONS
from laissez_bench.market import Row as MarketRow
from laissez_bench.noisy import LEVEL, Noisy
from laissez_bench.overload import Level
from laissez_bench.service import Recovery, Row
from laissez_bench.simulation import Row as SimulationRow
from laissez_bench.soak import SLOW_S, Soak
from laissez_bench.verdict import Judged, Verdict

FILE_WIDTH = 120
LONG = "noise"  # may be a request of any length
NAMES = ("load", LONG, "operation")
NAME_MAX = 24  # characters of a load or a noise

R = TypeVar("R")


def _show(
    title: str, rows: Sequence[R], columns: dict[str, str | Callable[[R], str]], *notes: str
) -> None:
    """A column is a format for a row (`{0.load}`) or a function of it. Without enough room, long
    names are cut and not figures. In a file, nothing is cut."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(name, justify="left" if name in NAMES else "right", no_wrap=name != LONG)
    for row in rows:
        cells = [
            column.format(row) if isinstance(column, str) else column(row)
            for column in columns.values()
        ]
        table.add_row(*map(Text, cells))  # brackets in a request are no markup
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=FILE_WIDTH)
    console.print(table)
    for note in notes:
        console.print(note)


def _ms(name: str) -> Callable[[object], str]:
    def cell(row: object) -> str:
        ms = getattr(row, name)
        return f"{ms:,.0f}" if ms >= 100 else f"{ms:.1f}"

    return cell


def _percent(name: str, digits: int = 0) -> Callable[[object], str]:
    return lambda row: f"{getattr(row, name) * 100:.{digits}f} %"


def show_service(rows: Sequence[Row | Recovery]) -> None:
    served = [row for row in rows if isinstance(row, Row)]
    if served:
        _show(
            "The service: durable answers per second",
            served,
            {
                "load": "{0.load}",
                "per s": "{0.per_second:,.0f}",
                "of ceiling": lambda row: (
                    "" if row.share_of_ceiling is None else f"{row.share_of_ceiling * 100:.0f} %"
                ),
                "p50 ms": _ms("p50_ms"),
                "p99 ms": _ms("p99_ms"),
                "in flight": lambda row: (
                    f"{row.connections:,} x {row.in_flight}" if row.in_flight else "open"
                ),
                "us": "{0.us_per_command:.1f}",
                "main us": "{0.us_per_command_main:.1f}",
                "gen us": "{0.generator_us_per_command:.1f}",
                "pause ms": _ms("pause_ms_max"),
                "bytes": "{0.bytes_per_command:,.0f}",
                "refused": lambda row: f"{sum(row.problems.values()):,}",
            },
            f"{max(row.leaves for row in served):,} leaves, {served[0].tenants:,} tenants; servers"
            " and generator share this machine's cores",
            "us: processor time per command, of the server, its main thread and the generator",
        )
    for row in rows:
        if isinstance(row, Recovery):
            print(
                f"recovery: {row.commands:,} commands ({row.megabytes:,.0f} MB), {row.replayed:,}"
                f" replayed, in {row.seconds:.1f} s; a million replayed would take"
                f" {row.seconds_per_million_extrapolated:,.0f} s (extrapolated)"
            )


def show_console(found: Looked) -> None:
    _show(
        "The service with open consoles, while every price moves",
        found.rows,
        {
            "followers": "{0.followers}",
            "CPU of a core": _percent("cpu_share", 1),
            "messages/s each": "{0.messages_per_second:.1f}",
            "MB/s each": "{0.megabytes_per_second:.2f}",
            "longest answer ms": "{0.longest_ms:.0f}",
        },
        f"a preview of a floor that would end {found.preview_ends:,} leases takes"
        f" {found.preview_ms:,.0f} ms (median)",
    )


def show_simulation(rows: list[SimulationRow], minutes: float) -> None:
    _show(
        "The simulator, one core",
        rows,
        {
            "nodes": "{0.nodes:,}",
            "tenants": "{0.tenants:,}",
            "speed": "{0.speed:,.0f}",
            "requests/s": "{0.requests_per_second:,.0f}",
            "market": _percent("market_share"),
            "adapters": _percent("adapter_share"),
            "worlds": _percent("world_share"),
            "itself": _percent("simulator_share"),
        },
        f"speed is simulated over real time, for {minutes:g} virtual minutes after all tenants have"
        " arrived and settled",
    )


def show_market(
    rows: list[MarketRow], sizes: list[int], few_at: int, resting: tuple[int, int], ratio: int
) -> None:
    cells = {(row.operation, row.leaves): row for row in rows}
    small, large = min(sizes), max(sizes)

    def rate(size: int) -> Callable[[str], str]:
        return lambda operation: f"{cells[operation, size].per_second:,.0f}"

    def growth(operation: str) -> str:
        first, last = cells[operation, small], cells[operation, large]
        return f"x{first.per_second / last.per_second:.2f}"

    notes = [
        f"p99 at {large:,} leaves; the load names {rows[0].places:,} leaves (--places)",
        f"growth: time at {large:,} over time at {small:,} leaves; * per lease",
        f"crowding: time with {resting[0]:,} over time with {resting[1]} orders at the root",
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
    _show(
        f"The market, {'compiled' if rows[0].compiled else 'interpreted'}, {resting[0]:,} orders at"
        " the root: per second",
        OPERATIONS,
        {
            "operation": lambda operation: operation + ("*" if operation == "bill" else ""),
            **{f"{size:,}\nleaves": rate(size) for size in sizes},
            "p99 us": lambda operation: f"{cells[operation, large].p99_us:.1f}",
            "growth": growth,
            "crowding": lambda operation: f"x{cells[operation, few_at].crowding:.2f}",
        },
        *notes,
    )


def show_overload(found: Verdict[Level]) -> None:
    behind: list[str] = []
    for load, rows in groupby(found.rows, lambda row: row.load):
        levels = list(rows)
        behind.append(
            f"{load}: capacity {levels[0].capacity:,.0f}/s; the generator itself was up to"
            f" {max(row.late_p99_ms for row in levels):,.1f} ms behind (p99)"
        )
    _show(
        "The service under overload: per second",
        found.rows,
        {
            "load": "{0.load}",
            "level": _percent("level"),
            "offered": "{0.offered:,.0f}",
            "done": "{0.admitted:,.0f}",
            "shed": "{0.shed:,.0f}",
            "p50 ms": _ms("p50_ms"),
            "p99": _ms("p99_ms"),
            "p99.9": _ms("p999_ms"),
            "shed p50": _ms("refused_p50_ms"),
            "shed p99": _ms("refused_p99_ms"),
        },
        *behind,
        "times run from when a request was due; a request without an answer counts with its wait",
    )
    _conclude(found)


def show_noisy(found: Verdict[Noisy]) -> None:
    _show(
        "The others beside one noisy tenant",
        found.rows,
        {
            LONG: lambda row: (
                row.kind if len(row.kind) <= NAME_MAX else f"{row.kind[: NAME_MAX - 1]}…"
            ),
            "p50": "{0.slowdown_p50!s}",
            "p99": "{0.slowdown_p99!s}",
            "done": _percent("done", 1),
            "p50 ms": _ms("p50_ms"),
            "p99 ms": _ms("p99_ms"),
            "CPU": lambda row: f"{row.server_cpu - row.server_cpu_without:+.2f}",
        },
        f"the others ask for {LEVEL * 100:.0f} % of the capacity ({found.rows[0].offered:,.0f}/s);"
        " the noise counts after its first burst",
        "p50, p99: their times over those in the silence before and after; the median round, with"
        " its 95 % interval",
        "CPU: what the noise takes of the server's core",
    )
    _conclude(found)


def show_soak(found: Soak) -> None:
    def by_quarter(name: str, digits: int = 1) -> str:
        return " ".join(f"{getattr(quarter, name):.{digits}f}" for quarter in found.quarters)

    first, second = found.slow_shares
    audited = found.audited
    print(
        f"{found.minutes:g} minutes at {found.per_second:,.0f} commands/s, p50 {found.p50_ms:.1f}"
        f" ms, p99 {found.p99_ms:.1f} ms"
    )
    print("memory in MB:", *(f"{reading:,.0f}" for reading in found.megabytes))
    if found.full_from is not None and found.growth is not None:
        print(
            f"the history was full from reading {found.full_from + 1} on; since then the later half"
            f" over the earlier: x{found.growth:.3f}"
        )
    print(
        f"files {min(found.files)} to {max(found.files)}, threads {min(found.threads)} to"
        f" {max(found.threads)}\n"
        f"by quarter: p50 ms {by_quarter('p50_ms')}; p99 ms {by_quarter('p99_ms')}; processor us"
        f" for a command {by_quarter('cpu_us', 0)}\n"
        f"answers above {SLOW_S * 1_000:g} ms: {first:.2%} in the first half, {second:.2%} in the"
        " second\n"
        f"audited: {audited.events:,} events of the operator, owners and rates of {audited.leaves}"
        f" leaves by the {audited.concerned:,} about them; the record of {audited.entries:,}"
        f" entries; the charges of {audited.bills:,} leases\n"
        "judged: memory once it is full, files, threads, throughput, the median, the share above"
        " that, processor time, problems, and the audits"
    )
    _conclude(found)


def _conclude(found: Judged) -> None:
    for words in found.not_judged:
        print(f"not judged: {words}")
    for words in found.failures:
        print(f"FAILED: {words}")
    if not found.failures:
        print("passed, as far as it was judged" if found.not_judged else "passed")
