"""The tables that the benchmarks print."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from laissez_bench.console import Looked
from laissez_bench.market import OPERATIONS
from laissez_bench.market import Row as MarketRow
from laissez_bench.noisy import LEVEL
from laissez_bench.recovery import Recovery
from laissez_bench.service import Row
from laissez_bench.simulation import Row as SimulationRow
from laissez_bench.soak_verdict import SLOW_S, Soak, cpu_us, slow_share
from laissez_bench.verdicts import NoisyVerdict, OverloadVerdict

FILE_WIDTH = 120
LONG = "noise"  # may be a request of any length
NAMES = ("load", LONG, "operation")
NAME_MAX = 24  # characters of a load or a noise: a request may be of any length


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> Table:
    """Where there is no room, long names give way and not figures."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in columns:
        justify: JustifyMethod = "left" if column in NAMES else "right"
        table.add_column(column, justify=justify, no_wrap=column != LONG)
    for row in rows:
        table.add_row(*row)
    return table


def _show(table: Table, *notes: str) -> None:
    console = _console()
    console.print(table)
    for note in notes:
        console.print(note)


def _percent(share: float, digits: int = 0) -> str:
    return f"{share * 100:.{digits}f} %"


def _name(name: str) -> Text:
    """As it is: what stands in brackets in a request is no markup."""
    return Text(name if len(name) <= NAME_MAX else f"{name[: NAME_MAX - 1]}…")


def _ms(time: float) -> str:
    return f"{time:,.0f}" if time >= 100 else f"{time:.1f}"


def _console() -> Console:
    """Into a file, nothing is cut off."""
    wide = Console(highlight=False)
    return wide if wide.is_terminal else Console(highlight=False, width=FILE_WIDTH)


def show_service(rows: Sequence[Row | Recovery]) -> None:
    served = [row for row in rows if isinstance(row, Row)]
    columns = ("load", "per s", "of ceiling", "p50 ms", "p99 ms", "in flight", "us")
    cells = [
        (
            row.load,
            f"{row.per_second:,.0f}",
            "" if row.share_of_ceiling is None else _percent(row.share_of_ceiling),
            _ms(row.p50_ms),
            _ms(row.p99_ms),
            f"{row.connections:,} x {row.in_flight}" if row.in_flight else "open",
            f"{row.us_per_command:.1f}",
            f"{row.us_per_command_main:.1f}",
            f"{row.generator_us_per_command:.1f}",
            _ms(row.pause_ms_max),
            f"{row.bytes_per_command:,.0f}",
            f"{sum(row.problems.values()):,}",
        )
        for row in served
    ]
    more = ("main us", "gen us", "pause ms", "bytes", "refused")
    if served:
        _show(
            _table("The service: durable answers per second", (*columns, *more), cells),
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
    columns = ("followers", "CPU of a core", "messages/s each", "MB/s each", "longest answer ms")
    cells = [
        (
            f"{row.followers}",
            _percent(row.cpu_share, 1),
            f"{row.messages_per_second:.1f}",
            f"{row.megabytes_per_second:.2f}",
            f"{row.longest_ms:.0f}",
        )
        for row in found.rows
    ]
    _show(
        _table("The service, looked at while every price moves", columns, cells),
        f"a preview of a floor that would end {found.preview_ends:,} leases takes"
        f" {found.preview_ms:,.0f} ms (median)",
    )


def show_simulation(rows: list[SimulationRow], minutes: float) -> None:
    columns = ("nodes", "tenants", "speed", "requests/s", "market", "adapters", "worlds", "itself")
    cells = [
        (
            f"{row.nodes:,}",
            f"{row.tenants:,}",
            f"{row.speed:,.0f}",
            f"{row.requests_per_second:,.0f}",
            *map(
                _percent,
                (row.market_share, row.adapter_share, row.world_share, row.simulator_share),
            ),
        )
        for row in rows
    ]
    _show(
        _table("The simulator, one core", columns, cells),
        f"speed is simulated over real time, for {minutes:g} virtual minutes after everybody has"
        " come and settled",
    )


def show_market(
    rows: list[MarketRow], sizes: list[int], few_at: int, resting: tuple[int, int], ratio: int
) -> None:
    cells = {(row.operation, row.leaves): row for row in rows}
    small, large = min(sizes), max(sizes)
    shown = [
        (
            operation + ("*" if operation == "bill" else ""),
            *(f"{cells[operation, size].per_second:,.0f}" for size in sizes),
            f"{cells[operation, large].p99_us:.1f}",
            f"x{cells[operation, small].per_second / cells[operation, large].per_second:.2f}"
            if small < large
            else "-",
            f"x{cells[operation, few_at].crowding:.2f}",
        )
        for operation in OPERATIONS
    ]
    notes = [f"growth: time at {large:,} over time at {small:,} leaves"] if small < large else []
    notes += [
        (
            f"crowding: time with {resting[0]:,} over time with {resting[1]} orders resting, at"
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
    title = (
        f"The market, {'compiled' if rows[0].compiled else 'interpreted'}, {resting[0]:,} orders at"
        " the root: per second"
    )
    columns = (
        "operation",
        *(f"{size:,}\nleaves" for size in sizes),
        "p99 us",
        "growth",
        "crowding",
    )
    _show(_table(title, columns, shown), *notes)


def show_overload(found: OverloadVerdict) -> None:
    rows = found.rows
    columns = ("load", "level", "offered", "done", "shed", "p50 ms", "p99", "p99.9")
    cells = [
        (
            row.load,
            _percent(row.level),
            *(f"{rate:,.0f}" for rate in (row.offered, row.admitted, row.shed)),
            *map(_ms, (row.p50_ms, row.p99_ms, row.p999_ms)),
            *map(_ms, (row.refused_p50_ms, row.refused_p99_ms)),
        )
        for row in rows
    ]
    notes = []
    for load in dict.fromkeys(row.load for row in rows):
        capacity = next(row.capacity for row in rows if row.load == load)
        worst = max(row.late_p99_ms for row in rows if row.load == load)
        notes.append(
            f"{load}: capacity {capacity:,.0f}/s; the generator itself was up to {worst:,.1f} ms"
            " behind (p99)"
        )
    _show(
        _table(
            "The service, asked for more than it can do: per second",
            (*columns, "shed p50", "p99"),
            cells,
        ),
        *notes,
        "times run from when a request was due; a request without an answer counts with its wait",
    )
    _conclude(found.failures, found.not_judged)


def show_noisy(found: NoisyVerdict) -> None:
    rows = found.rows
    cells = [
        (
            _name(row.kind),
            str(row.slowdown_p50),
            str(row.slowdown_p99),
            _percent(row.done, 1),
            _ms(row.p50_ms),
            _ms(row.p99_ms),
            f"{row.server_cpu - row.server_cpu_without:+.2f}",
        )
        for row in rows
    ]
    columns = ("noise", "p50", "p99", "done", "p50 ms", "p99 ms", "CPU")
    _show(
        _table("The others beside one noisy tenant", columns, cells),
        f"the others ask for {_percent(LEVEL)} of the capacity ({rows[0].offered:,.0f}/s); the"
        " noise counts after its first burst",
        "p50, p99: their times over those in the silence before and after; the median round, and"
        " where it lies with 95 % certainty",
        "CPU: what the noise takes of the server's core",
    )
    _conclude(found.failures, found.not_judged)


def show_soak(found: Soak) -> None:
    print(
        f"{found.minutes:g} minutes at {found.per_second:,.0f} commands/s, p50 {found.p50_ms:.1f}"
        f" ms, p99 {found.p99_ms:.1f} ms"
    )
    print("memory in MB:", *(f"{reading:,.0f}" for reading in found.megabytes))
    if found.full_from is not None and found.growth is not None:
        print(
            f"as much was remembered as may be from reading {found.full_from + 1} on; since then"
            f" the later half over the earlier: x{found.growth:.3f}"
        )
    print(
        f"files {min(found.files)} to {max(found.files)}, threads {min(found.threads)} to"
        f" {max(found.threads)}"
    )
    print("by quarter: p50 ms", *(f"{quarter.p50_ms:.1f}" for quarter in found.quarters), end="; ")
    print("p99 ms", *(f"{quarter.p99_ms:.1f}" for quarter in found.quarters), end="; ")
    print("processor us for a command", *(f"{cpu_us(quarter):.0f}" for quarter in found.quarters))
    slow = [f"{slow_share(half):.2%}" for half in (found.quarters[:2], found.quarters[2:])]
    print(
        f"answers above {SLOW_S * 1_000:g} ms: {slow[0]} in the first half, {slow[1]} in the second"
    )
    audited = found.audited
    print(
        f"audited: {audited.events:,} events of the operator, owners and rates of {audited.leaves}"
        f" leaves by the {audited.concerned:,} about them; the record of {audited.entries:,}"
        f" entries; the charges of {audited.bills:,} leases"
    )
    print(
        "judged: memory once it is full, files, threads, throughput, the median, the share above"
        " that, processor time, problems, and the audits"
    )
    _conclude(found.failures, found.not_judged)


def _conclude(failures: list[str], not_judged: list[str]) -> None:
    for words in not_judged:
        print(f"not judged: {words}")
    for words in failures:
        print(f"FAILED: {words}")
    if not failures:
        print("passed, as far as it was judged" if not_judged else "passed")
