"""How tenants fare by regime and cloud, as every experiment about it shows and judges it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Final

from laissez.sim.results import TenantResult
from laissez.sim.scenario import Scenario
from laissez.sim.statistics import Bootstrap, Estimate, quantile
from laissez_experiments.lab.boxes import Panel
from laissez_experiments.lab.cloud_run import Runs
from laissez_experiments.lab.findings import (
    PERCENT,
    TOO_FEW,
    Claim,
    Row,
    estimated,
    holds_at_least,
    interval,
)
from laissez_experiments.lab.regimes import CONTRACTS, OTHERS

NOTHING_LOST: Final = "there is hardly any degradation to reduce"
RETENTION_LABEL: Final = "retention: a tenant's performance over what it achieves alone"
RESAMPLES: Final = 2_000  # of the spread over tenants: each sorts all of them
TENANT_FIELDS: Final = (
    "tenant",
    "kind",
    "performance",
    "alone",
    "retention",
    "cost",
    "performance_per_cost",
    "useful_hours",
    "reconfiguring_hours",
    "lost_hours",
    "surplus_hours",
    "moves",
    "revocations",
)

Figure = Callable[[TenantResult], float]
Tenants = Sequence[float]  # a figure of each tenant of one seed


def panel(
    scenario: Scenario, runs: Runs, figure: Figure = lambda one: one.retention, noted: bool = True
) -> Panel:
    """With `noted`, the reduction of degradation stands beside the other clouds."""
    shown = {
        cloud: [
            (run.seed, one, figure(one)) for run in runs.on(cloud, scenario) for one in run.tenants
        ]
        for cloud in CONTRACTS
    }
    notes = {cloud: _less_by(runs.reduction(cloud, scenario)) for cloud in OTHERS if noted}
    title = f"{scenario.name} (demand {scenario.demand:g})"
    return Panel(title, shown, {cloud: note for cloud, note in notes.items() if note})


def _less_by(found: Estimate | None) -> str:
    """The reduction of degradation, for the figure."""
    if found is None:
        return ""
    ends = interval(found, PERCENT)
    width = "" if ends is None else f" [{ends[0]:.0f}, {ends[1]:.0f}]"
    return f"market \N{MINUS SIGN}{found.value * PERCENT:.0f} %{width}"


def shown_means(scenarios: Sequence[Scenario], runs: Runs) -> str:
    """A sentence with the mean retention by cloud and regime."""
    parts = [f"{means(scenario, runs)} ({scenario.name})" for scenario in scenarios]
    return f"In the mean tenants keep, on {' / '.join(CONTRACTS)}: {'; '.join(parts)}."


def means(scenario: Scenario, runs: Runs) -> str:
    return " / ".join(f"{fmean(runs.retentions(cloud, scenario)):.3f}" for cloud in CONTRACTS)


def degrades_less(cloud: str, regime: Scenario, paper: float | None, runs: Runs) -> Claim:
    """The market's mean degradation is below the other cloud's, by the paper's share if the paper
    states one."""
    found = runs.reduction(cloud, regime)
    holds = holds_at_least(found, paper or 0.0)
    return estimated(
        f"{regime.name}: the market's degradation is below that of {cloud}",
        None if paper is None else paper * PERCENT,
        found,
        None if paper is None else holds,
        "%",
        NOTHING_LOST if found is None else TOO_FEW if holds is None else "",
    )


def tenant_rows(scenario: Scenario, runs: Runs) -> list[Row]:
    return [
        {
            "scenario": scenario.name,
            "cloud": cloud,
            "seed": run.seed,
            **{field: getattr(one, field) for field in TENANT_FIELDS},
        }
        for cloud in CONTRACTS
        for run in runs.on(cloud, scenario)
        for one in run.tenants
    ]


def quartile_range(tenants: Tenants) -> float:
    ordered = sorted(tenants)
    return quantile(ordered, 0.75) - quantile(ordered, 0.25)


def relative_range(tenants: Tenants) -> float:
    """The inter-quartile range over the median, which stays the same when everybody pays twice as
    much."""
    return quartile_range(tenants) / quantile(sorted(tenants), 0.5)


def wider_by(
    ours: Sequence[Tenants], theirs: Sequence[Tenants], width: Callable[[Tenants], float]
) -> Estimate | None:
    """Their width less ours: above zero, ours are the tighter. Each seed is one entry in both, and
    seeds are drawn again with all their tenants. None if a draw has no width."""

    def difference(seeds: Sequence[tuple[Tenants, Tenants]]) -> float:
        our_all, their_all = (
            [one for seed in side for one in seed] for side in zip(*seeds, strict=True)
        )
        return width(their_all) - width(our_all)

    try:
        return Bootstrap(len(ours), RESAMPLES).of(list(zip(ours, theirs, strict=True)), difference)
    except ZeroDivisionError:  # half of the tenants have nothing
        return None


def tighter_by(
    cloud: str, scenario: Scenario, runs: Runs, figure: Figure, width: Callable[[Tenants], float]
) -> Estimate | None:
    """By how much a figure of the tenants is spread less on the market than on the cloud."""
    ours, theirs = (
        [[figure(tenant) for tenant in run.tenants] for run in runs.on(one, scenario)]
        for one in ("market", cloud)
    )
    return wider_by(ours, theirs, width)
