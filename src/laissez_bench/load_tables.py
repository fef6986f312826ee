"""What the benchmarks of the service under load print."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from laissez_bench.load import SLOW_S
from laissez_bench.noisy import LEVEL
from laissez_bench.soak_verdict import Soak, cpu_us, slow_share
from laissez_bench.verdicts import NoisyVerdict, OverloadVerdict

FILE_WIDTH = 120
NAME_MAX = 24  # characters of a load or a noise: a request may be of any length


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in columns:
        is_name = column in ("load", "noise")
        table.add_column(
            column, justify="left" if is_name else "right", no_wrap=not is_name
        )  # where there is no room, names give way and not figures
    return table


def _name(name: str) -> Text:
    """As it is: what stands in brackets in a request is no markup."""
    return Text(name if len(name) <= NAME_MAX else f"{name[: NAME_MAX - 1]}…")


def _ms(time: float) -> str:
    return f"{time:,.0f}" if time >= 100 else f"{time:.1f}"


def _console() -> Console:
    """Into a file, nothing is cut off."""
    wide = Console(highlight=False)
    return wide if wide.is_terminal else Console(highlight=False, width=FILE_WIDTH)


def show_overload(found: OverloadVerdict) -> None:
    rows = found.rows
    table = _table(
        "The service, asked for more than it can do: per second",
        *("load", "level", "offered", "done", "shed", "p50 ms", "p99", "p99.9", "shed p50", "p99"),
    )
    for row in rows:
        counts = (f"{row.offered:,.0f}", f"{row.admitted:,.0f}", f"{row.shed:,.0f}")
        times = (row.p50_ms, row.p99_ms, row.p999_ms, row.refused_p50_ms, row.refused_p99_ms)
        table.add_row(row.load, f"{row.level:.0%}".replace("%", " %"), *counts, *map(_ms, times))
    console = _console()
    console.print(table)
    for load in dict.fromkeys(row.load for row in rows):
        capacity = next(row.capacity for row in rows if row.load == load)
        worst = max(row.late_p99_ms for row in rows if row.load == load)
        console.print(
            f"{load}: capacity {capacity:,.0f}/s; the load itself was up to {worst:,.1f} ms behind"
            " (p99)"
        )
    console.print(
        "times run from when a request was due; what was never answered counts, with its wait"
    )
    _conclude(found.failures, found.not_judged)


def show_noisy(found: NoisyVerdict) -> None:
    rows = found.rows
    table = _table(
        "The others beside one noisy tenant",
        "noise",
        "p50",
        "p99",
        "done",
        "p50 ms",
        "p99 ms",
        "CPU",
    )
    for row in rows:
        done = f"{row.done:.1%}".replace("%", " %")
        cpu = f"{row.server_cpu - row.server_cpu_without:+.2f}"
        table.add_row(
            _name(row.kind),
            str(row.slowdown_p50),
            str(row.slowdown_p99),
            done,
            _ms(row.p50_ms),
            _ms(row.p99_ms),
            cpu,
        )
    console = _console()
    console.print(table)
    share = f"{LEVEL:.0%}".replace("%", " %")
    notes = [
        (
            f"the others ask for {share} of the capacity ({rows[0].offered:,.0f}/s); the noise"
            " counts after its first burst"
        ),
        (
            "p50, p99: their times over those in the silence before and after; the median round,"
            " and where it lies with 95 % certainty"
        ),
        "CPU: what the noise takes of the server's core",
    ]
    for note in notes:
        console.print(note)
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
