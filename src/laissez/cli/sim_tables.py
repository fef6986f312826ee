"""The tables that `laissez sim` prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, TypeAlias, TypeVar

from msgspec.structs import replace
from rich.console import Console

from laissez.cli.tables import Column, console_for, number_column, rendered
from laissez.sim.boxplot import text_box
from laissez.sim.csv_files import run_row
from laissez.sim.results import ACCOUNTS, RunResult
from laissez.sim.statistics import SEEDS_MIN, WHISKERS, Estimate, Spread
from laissez.sim.summary import Against, CloudSummary, Summary

T = TypeVar("T")
BOX_WIDTH: Final = 61  # characters from 0 to 1: a tick at every fifth falls on one of them
DASH: Final = "-"  # where there is no such figure
PER_DOLLARS: Final = 100  # performance per dollar is too small a number to read


# the tenants of one kind in a run, or all of them: a name, and the run with these tenants alone
Group: TypeAlias = tuple[str, RunResult]


def groups(run: RunResult) -> list[Group]:
    """The tenants by kind, and all of them."""
    parts = [
        (kind, replace(run, tenants=tuple(one for one in run.tenants if one.kind == kind)))
        for kind in dict.fromkeys(tenant.kind for tenant in run.tenants)
    ]
    return [*parts, ("all", run)]


def _retention(run: RunResult) -> float | None:
    return run.retention if run.measured else None


def _total(field: str) -> Callable[[Group], float]:
    return lambda group: group[1].total(field)


def run_in_figures(run: RunResult) -> dict[str, Any]:
    """JSON of a run, without prices and leases over time, which are in the CSV files."""
    sums = ("cost", *ACCOUNTS, "moves", "revocations")
    by_kind = {
        name: {
            "tenants": len(part.tenants),
            "retention": _retention(part),
            **{field: part.total(field) for field in sums},
        }
        for name, part in groups(run)[:-1]
    }
    return {
        "scenario": run.scenario,
        "cloud": run.cloud,
        "seed": run.seed,
        **run_row(run),
        "by_kind": by_kind,
        "by_tenant": run.tenants,
    }


GROUP_NAME: Final[Column[Group]] = Column("tenants", lambda group: group[0])
GROUPS: Final[list[Column[Group]]] = [
    GROUP_NAME,
    Column("number", lambda group: len(group[1].tenants), right=True),
    number_column("retention", lambda group: _retention(group[1]), ".3f", missing=DASH),
    number_column("cost $", _total("cost"), ",.2f"),
    number_column("GPU-hours", _total("held_hours"), ",.1f"),
    number_column("moves", _total("moves"), ",.0f"),
    number_column("revocations", _total("revocations"), ",.0f"),
]
GROUP_HOURS: Final[list[Column[Group]]] = [
    GROUP_NAME,
    *(
        number_column(account.removesuffix("_hours"), _total(account), ",.1f")
        for account in ACCOUNTS
    ),
]

CLOUD_NAME: Final[Column[CloudSummary]] = Column("cloud", lambda one: one.cloud)
CLOUD_HOURS: Final[list[Column[CloudSummary]]] = [
    CLOUD_NAME,
    *(
        number_column(account.removesuffix("_hours"), attrgetter(account), ",.1f")
        for account in (*ACCOUNTS, "idle_hours")
    ),
]
PER_RUN: Final[list[Column[CloudSummary]]] = [
    CLOUD_NAME,
    number_column("revocations", lambda one: one.revocations, ",.1f"),
    number_column("moves", lambda one: one.moves, ",.1f"),
    number_column("cost $", lambda one: one.cost, ",.2f"),
    number_column(
        f"performance per {PER_DOLLARS} $",
        lambda one: one.performance_per_dollar and one.performance_per_dollar * PER_DOLLARS,
        ".2f",
    ),
]


def _retention_columns(summary: Summary) -> list[Column[CloudSummary]]:
    def kind_column(kind: str) -> Column[CloudSummary]:
        return number_column(kind, lambda one: one.retention_by_kind[kind].value, ".3f")

    return [
        CLOUD_NAME,
        Column("retention", lambda one: _with_interval(one.retention, ".3f"), right=True),
        *map(kind_column, summary.clouds[0].retention_by_kind),
        Column(
            "degradation",
            lambda one: DASH if one.degradation is None else f"{one.degradation.value:.3f}",
            right=True,
        ),
    ]


def _no_clear_difference(one: Against) -> str:
    is_unclear = one.difference.has_interval and not one.difference.excludes_zero
    return "no clear difference" if is_unclear else ""


AGAINST: Final[list[Column[Against]]] = [
    Column("cloud", lambda one: one.cloud),
    Column("retention", lambda one: _with_interval(one.difference, "+.3f"), right=True),
    Column(
        "degradation less by",
        lambda one: _with_interval(one.reduction, ".1%", "nothing to reduce"),
        right=True,
    ),
    Column(
        "of the way to ideal",
        lambda one: _with_interval(one.way_to_ideal, ".1%", ""),
        right=True,
        optional=True,
    ),
    Column("", _no_clear_difference, optional=True),
]


def _with_interval(figure: Estimate | None, spec: str, missing: str = DASH) -> str:
    if figure is None:
        return missing
    text = format(figure.value, spec)
    if figure.low is None or figure.high is None:
        return text
    return f"{text} [{figure.low:{spec}}, {figure.high:{spec}}]"


def show_run(run: RunResult) -> None:
    title = (
        f"{run.scenario} on {run.cloud}, seed {run.seed}: {run.gpus} GPUs for {run.hours:.2f} h,"
        f" demand {run.demand:.2f}"
    )
    console = _table(title, groups(run), GROUPS)
    _note(console, f"revenue {run.revenue:,.2f} $, {run.requests:,} requests of the cloud")
    console = _table("GPU-hours", groups(run), GROUP_HOURS)
    _note(
        console,
        f"{run.idle_hours:,.1f} more were idle: {run.utilisation:.0%} of"
        f" {run.gpus * run.hours:,.1f} were leased",
    )


def show_summary(summary: Summary) -> None:
    seeds = len(summary.seeds)
    title = (
        f"{summary.scenario}: {seeds} seed{'s' if seeds > 1 else ''} from {summary.seeds[0]},"
        f" {summary.gpus:,.0f} GPUs, demand {summary.demand:.2f}"
    )
    console = _table(title, summary.clouds, _retention_columns(summary))
    with_intervals = "mean retention over seeds, with 95 % bootstrap intervals"
    _note(console, with_intervals if seeds >= SEEDS_MIN else "too few seeds for an interval")
    _table("GPU-hours per run", summary.clouds, CLOUD_HOURS)
    _table("per run", summary.clouds, PER_RUN)
    if boxes := {one.cloud: one.tenants for one in summary.clouds if one.tenants is not None}:
        _boxes(boxes)
    if summary.market_against:
        _table("market against", summary.market_against, AGAINST)


def _boxes(spreads: Mapping[str, Spread]) -> None:
    """The spread of the tenants' retention, one line per cloud, over a common axis."""
    margin = max(map(len, spreads))
    ticks = [" "] * (BOX_WIDTH + 2)
    for fifth in range(6):
        at = fifth * (BOX_WIDTH - 1) // 5
        ticks[at : at + 3] = f"{fifth / 5:.1f}"
    console = Console(highlight=False, soft_wrap=True)
    console.print("\n[bold]tenants' retention[/bold]", f"{'':{margin}}  {''.join(ticks)}", sep="\n")
    for cloud, spread in spreads.items():
        console.print(f"{cloud:{margin}}  {text_box(spread, BOX_WIDTH)}", markup=False)
    _note(
        console,
        f"┃ median, ◆ mean, ▒ quartiles, ─ {WHISKERS[0]}th to {WHISKERS[1]}th percentile of"
        f" {spread.count:,} tenants",
    )


def _table(title: str, rows: Sequence[T], columns: Sequence[Column[T]]) -> Console:
    console = console_for(rows, columns)
    console.print(f"\n{title}", style="bold", markup=False)
    console.print(rendered(rows, columns, console.width))
    return console


def _note(console: Console, text: str) -> None:
    console.print(text, style="dim", markup=False)
