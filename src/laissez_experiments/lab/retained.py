"""Retention by regime and cloud, as every experiment about it shows and judges it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Final

from laissez.sim.results import TenantResult
from laissez.sim.scenario import Scenario
from laissez.sim.statistics import Bootstrap, Estimate
from laissez_experiments.lab.boxes import Panel
from laissez_experiments.lab.cloud_run import came_to, retentions
from laissez_experiments.lab.experiment import Results
from laissez_experiments.lab.findings import TOO_FEW, Claim, Rows, holds_at_least, interval
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.regimes import CONTRACTS, OTHERS

NOTHING_LOST: Final = "there is hardly any degradation to reduce"
RETENTION_LABEL: Final = "retention: a tenant's performance over what it achieves alone"


def tenants_of(
    scenario: Scenario, cloud: str, plan: Plan, results: Results
) -> list[tuple[TenantResult, ...]]:
    """Seed by seed."""
    return [run.tenants for run in came_to(scenario, cloud, plan.all_seeds, results)]


def panel(scenario: Scenario, plan: Plan, results: Results) -> Panel:
    seeds = plan.all_seeds
    shown = {
        cloud: [
            (seed, one, one.retention)
            for seed, each in zip(seeds, tenants_of(scenario, cloud, plan, results), strict=True)
            for one in each
        ]
        for cloud in CONTRACTS
    }
    notes = {
        cloud: _less_by(found)
        for cloud in OTHERS
        if (found := reduction(cloud, scenario, plan, results)) is not None
    }
    return Panel(f"{scenario.name} (demand {scenario.demand:g})", shown, notes)


def _less_by(found: Estimate) -> str:
    """By how much the market degrades less."""
    width = (
        ""
        if found.low is None or found.high is None
        else f" [{found.low * 100:.0f}, {found.high * 100:.0f}]"
    )
    return f"market \N{MINUS SIGN}{found.value * 100:.0f} %{width}"


def reduction(cloud: str, scenario: Scenario, plan: Plan, results: Results) -> Estimate | None:
    """Of the market's mean degradation against that of the cloud."""
    ours, theirs = (retentions(scenario, one, plan.all_seeds, results) for one in ("market", cloud))
    return Bootstrap(plan.seeds).reduction(ours, theirs)


def shown_means(scenarios: Sequence[Scenario], plan: Plan, results: Results) -> str:
    """A sentence: what tenants keep in the mean."""
    parts = [f"{means(scenario, plan, results)} ({scenario.name})" for scenario in scenarios]
    return f"In the mean tenants keep, on {' / '.join(CONTRACTS)}: {'; '.join(parts)}."


def means(scenario: Scenario, plan: Plan, results: Results) -> str:
    return " / ".join(
        f"{fmean(retentions(scenario, cloud, plan.all_seeds, results)):.3f}" for cloud in CONTRACTS
    )


def degrades_less(
    figure: str, cloud: str, regime: Scenario, paper: float | None, plan: Plan, results: Results
) -> Claim:
    """That the market's mean degradation is below the other cloud's, by as much as the paper says
    if it says anything."""
    found = reduction(cloud, regime, plan, results)
    holds = holds_at_least(found, paper or 0.0)
    return Claim(
        figure=figure,
        claim=f"{regime.name}: the market's degradation is below that of {cloud}",
        paper=None if paper is None else paper * 100,
        measured=None if found is None else found.value * 100,
        interval=interval(found, 100),
        holds=None if paper is None else holds,
        unit="%",
        note=NOTHING_LOST if found is None else TOO_FEW if holds is None else "",
    )


def tenant_rows(scenario: Scenario, plan: Plan, results: Results) -> Rows:
    return [
        {
            "scenario": scenario.name,
            "cloud": cloud,
            "seed": seed,
            "tenant": one.tenant,
            "kind": one.kind,
            "performance": one.performance,
            "alone": one.alone,
            "retention": one.retention,
            "cost": one.cost,
            "performance_per_cost": one.performance_per_cost,
            "useful_hours": one.useful_hours,
            "reconfiguring_hours": one.reconfiguring_hours,
            "lost_hours": one.lost_hours,
            "surplus_hours": one.surplus_hours,
            "moves": one.moves,
            "revocations": one.revocations,
        }
        for cloud in CONTRACTS
        for seed, each in zip(
            plan.all_seeds, tenants_of(scenario, cloud, plan, results), strict=True
        )
        for one in each
    ]
