"""What simulations came to, as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, Final, TypeVar

import msgspec
from rich.console import Console

from laissez.cli.tables import Column, console_for, rendered
from laissez.sim.boxplot import text_box
from laissez.sim.csv_files import run_row
from laissez.sim.results import ACCOUNTS, RunResult, TenantResult
from laissez.sim.statistics import SEEDS_MIN, WHISKERS, Estimate, Spread
from laissez.sim.summary import Against, CloudSummary, Summary

T = TypeVar("T")
BOX_WIDTH: Final = 61  # characters from 0 to 1: a tick at every fifth falls on one of them
DASH: Final = "-"  # where there is no such figure
PER_DOLLARS: Final = 100  # performance per dollar is too small a number to read


class Group(msgspec.Struct, frozen=True):
    """Some tenants of a run, together."""

    name: str
    tenants: tuple[TenantResult, ...]

    @property
    def retention(self) -> float | None:
        """The mean; none if nobody's performance is known."""
        known = [tenant.retention for tenant in self.tenants if tenant.is_measured]
        return sum(known) / len(known) if known else None

    def sum(self, field: str) -> float:
        found: float = sum(getattr(tenant, field) for tenant in self.tenants)
        return found


def groups(run: RunResult) -> list[Group]:
    """The tenants by kind, and all of them."""
    by_kind = [
        Group(kind, tuple(tenant for tenant in run.tenants if tenant.kind == kind))
        for kind in dict.fromkeys(tenant.kind for tenant in run.tenants)
    ]
    return [*by_kind, Group("all", run.tenants)]


def run_in_figures(run: RunResult) -> dict[str, Any]:
    """For programs: the run, its kinds of tenants, its tenants. Prices and leases over time are in
    the CSV files."""
    sums = ("cost", *ACCOUNTS, "moves", "revocations")
    by_kind = {
        group.name: {
            "tenants": len(group.tenants),
            "retention": group.retention,
            **{field: group.sum(field) for field in sums},
        }
        for group in groups(run)[:-1]
    }
    return {
        "scenario": run.scenario,
        "cloud": run.cloud,
        "seed": run.seed,
        **run_row(run),
        "by_kind": by_kind,
        "by_tenant": run.tenants,
    }


GROUP_COLUMNS: Final[list[Column[Group]]] = [
    Column("tenants", lambda group: group.name),
    Column("number", lambda group: len(group.tenants), right=True),
    Column(
        "retention",
        lambda group: DASH if group.retention is None else f"{group.retention:.3f}",
        right=True,
    ),
    Column("cost $", lambda group: f"{group.sum('cost'):,.2f}", right=True),
    Column("GPU-hours", lambda group: f"{group.sum('held_hours'):,.1f}", right=True),
    Column("moves", lambda group: f"{group.sum('moves'):,.0f}", right=True),
    Column("revocations", lambda group: f"{group.sum('revocations'):,.0f}", right=True),
]


def _hours_column(account: str, figure: Callable[[T], float]) -> Column[T]:
    return Column(account.removesuffix("_hours"), lambda one: f"{figure(one):,.1f}", right=True)


GROUP_HOURS_COLUMNS: Final[list[Column[Group]]] = [
    Column("tenants", lambda group: group.name),
    *(_hours_column(account, partial(Group.sum, field=account)) for account in ACCOUNTS),
]


def show_run(run: RunResult) -> None:
    where = (
        f"{run.scenario} on {run.cloud}, seed {run.seed}: {run.gpus} GPUs for {run.hours:.2f} h,"
        f" demand {run.demand:.2f}"
    )
    console = _table(where, groups(run), GROUP_COLUMNS)
    _note(console, f"revenue {run.revenue:,.2f} $, {run.requests:,} requests of the cloud")
    console = _table("GPU-hours", groups(run), GROUP_HOURS_COLUMNS)
    _note(
        console,
        f"{run.idle_hours:,.1f} more were idle: {run.utilisation:.0%} of"
        f" {run.gpus * run.hours:,.1f} were leased",
    )


def show_summary(summary: Summary) -> None:
    seeds = len(summary.seeds)
    where = (
        f"{summary.scenario}: {seeds} seed{'s' if seeds > 1 else ''} from {summary.seeds[0]},"
        f" {summary.gpus:,.0f} GPUs, demand {summary.demand:.2f}"
    )
    console = _table(where, summary.clouds, _retention_columns(summary))
    _note(
        console,
        (
            "mean retention over seeds, with 95 % bootstrap intervals"
            if seeds >= SEEDS_MIN
            else "too few seeds for an interval"
        ),
    )
    _table("GPU-hours per run", summary.clouds, HOURS_COLUMNS)
    _table("per run", summary.clouds, PER_RUN_COLUMNS)
    if boxes := {one.cloud: one.tenants for one in summary.clouds if one.tenants is not None}:
        _boxes(boxes)
    if summary.market_against:
        _table("market against", summary.market_against, AGAINST_COLUMNS)


def _retention_columns(summary: Summary) -> list[Column[CloudSummary]]:
    return [
        Column("cloud", lambda one: one.cloud),
        Column("retention", lambda one: _with_interval(one.retention), right=True),
        *(_kind_column(kind) for kind in summary.clouds[0].retention_by_kind),
        Column(
            "degradation",
            lambda one: DASH if one.degradation is None else f"{one.degradation.value:.3f}",
            right=True,
        ),
    ]


def _kind_column(kind: str) -> Column[CloudSummary]:
    return Column(kind, lambda one: f"{one.retention_by_kind[kind].value:.3f}", right=True)


def _per_dollars(one: CloudSummary) -> str:
    return (
        ""
        if one.performance_per_dollar is None
        else f"{one.performance_per_dollar * PER_DOLLARS:.2f}"
    )


HOURS_COLUMNS: Final[list[Column[CloudSummary]]] = [
    Column("cloud", lambda one: one.cloud),
    *(_hours_column(account, attrgetter(account)) for account in (*ACCOUNTS, "idle_hours")),
]

PER_RUN_COLUMNS: Final[list[Column[CloudSummary]]] = [
    Column("cloud", lambda one: one.cloud),
    Column("revocations", lambda one: f"{one.revocations:,.1f}", right=True),
    Column("moves", lambda one: f"{one.moves:,.1f}", right=True),
    Column("cost $", lambda one: f"{one.cost:,.2f}", right=True),
    Column(f"performance per {PER_DOLLARS} $", _per_dollars, right=True),
]

AGAINST_COLUMNS: Final[list[Column[Against]]] = [
    Column("cloud", lambda one: one.cloud),
    Column("retention", lambda one: _with_interval(one.difference, sign="+"), right=True),
    Column(
        "degradation less by",
        lambda one: "nothing to reduce" if one.reduction is None else _percent(one.reduction),
        right=True,
    ),
    Column(
        "of the way to ideal",
        lambda one: "" if one.way_to_ideal is None else _percent(one.way_to_ideal),
        right=True,
        optional=True,
    ),
    Column(
        "",
        lambda one: (
            "no clear difference"
            if one.difference.has_interval and not one.difference.excludes_zero
            else ""
        ),
        optional=True,
    ),
]


def _with_interval(figure: Estimate | None, sign: str = "") -> str:
    if figure is None:
        return DASH
    text = f"{figure.value:{sign}.3f}"
    return (
        text if figure.low is None else f"{text} [{figure.low:{sign}.3f}, {figure.high:{sign}.3f}]"
    )


def _percent(figure: Estimate) -> str:
    text = f"{figure.value:.1%}"
    return text if figure.low is None else f"{text} [{figure.low:.1%}, {figure.high:.1%}]"


def _boxes(spreads: Mapping[str, Spread]) -> None:
    """How the tenants are spread, one line a cloud, over a common axis."""
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
