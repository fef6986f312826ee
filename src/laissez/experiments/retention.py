"""How much of their performance tenants keep when they share a cluster, by regime and by cloud (the paper's figure of performance retained)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from laissez.experiments.boxes import Panel, boxes
from laissez.experiments.cell import Cell
from laissez.experiments.cloud_run import came_to, retentions, runs_of
from laissez.experiments.experiment import Experiment, Results
from laissez.experiments.findings import TOO_FEW, Claim, Findings, holds_at_least, interval
from laissez.experiments.plan import Plan
from laissez.experiments.regimes import CONTRACTS, REGIMES, UNDERSUBSCRIBED, sized
from laissez.sim.results import TenantResult
from laissez.sim.scenario import Scenario
from laissez.sim.statistics import Bootstrap, Estimate, spread

PERCENT: Final = 100.0
# by how much the market's degradation is below that of the others, in right-sized, slightly and heavily oversubscribed clusters
PAPER: Final[Mapping[str, tuple[float, ...]]] = {"fcfs": (0.17, 0.08, 0.23), "fcfs-p": (0.19, 0.12, 0.08)}
CLOSE: Final = 0.01  # of retention: clouds that differ by less have converged


class Retention(Experiment):
    name = "retention"
    title = "Performance retained under contention"

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return [cell for scenario in scenarios(plan) for cell in runs_of(scenario, CONTRACTS, plan.all_seeds)]

    def findings(self, plan: Plan, results: Results) -> Findings:
        *regimes, under = scenarios(plan)
        claims = [
            *(_less(cloud, regime, PAPER[cloud][at], plan, results) for cloud in PAPER for at, regime in enumerate(regimes)),
            *(_tighter(regime, plan, results) for regime in regimes),
            _converged(under, plan, results),
        ]
        means = {(regime.name, cloud): _mean(regime, cloud, plan, results) for regime in scenarios(plan) for cloud in CONTRACTS}
        text = (
            f"{_first(regimes[0], plan, results)} tenants, a third each of inference services, training jobs and batches, come to clusters of H100 "
            f"and A100 GPUs under {plan.seeds} seeds; the same tenants to every cloud. Retention is what a tenant achieves there over what it "
            "achieves with the cluster to itself. "
            + " ".join(
                f"{regime.name.capitalize()} (demand {regime.demand:g}), tenants keep {means[regime.name, 'market']:.3f} on the market, "
                f"{means[regime.name, 'fcfs']:.3f} on fcfs and {means[regime.name, 'fcfs-p']:.3f} on fcfs-p in the mean."
                for regime in scenarios(plan)
            )
        )
        panels = [
            Panel(f"{regime.name} (demand {regime.demand:g})", {cloud: _tenants(regime, cloud, plan, results) for cloud in CONTRACTS})
            for regime in scenarios(plan)
        ]
        drawn = boxes(panels, "retention: a tenant's performance over what it achieves alone")
        return Findings(claims=claims, text=text, rows=_rows(plan, results), draw=drawn.draw, tips=drawn.tips)


def scenarios(plan: Plan) -> list[Scenario]:
    return [sized(scenario, plan) for scenario in (*REGIMES, UNDERSUBSCRIBED)]


def _tenants(scenario: Scenario, cloud: str, plan: Plan, results: Results) -> list[tuple[int, TenantResult, float]]:
    return [(run.seed, tenant, tenant.retention) for run in came_to(scenario, cloud, plan.all_seeds, results) for tenant in run.tenants]


def _mean(scenario: Scenario, cloud: str, plan: Plan, results: Results) -> float:
    return Bootstrap(plan.seeds, 0).mean(retentions(scenario, cloud, plan.all_seeds, results)).value


def _first(scenario: Scenario, plan: Plan, results: Results) -> int:
    return len(came_to(scenario, "market", plan.all_seeds, results)[0].tenants)


def _less(cloud: str, regime: Scenario, paper: float, plan: Plan, results: Results) -> Claim:
    seeds = plan.all_seeds
    found = Bootstrap(plan.seeds).reduction(retentions(regime, "market", seeds, results), retentions(regime, cloud, seeds, results))
    holds = holds_at_least(found, paper)
    return Claim(
        figure=Retention.name,
        claim=f"{regime.name}: the market's degradation is below that of {cloud}",
        paper=paper * PERCENT,
        measured=None if found is None else found.value * PERCENT,
        interval=interval(found, PERCENT),
        holds=holds,
        unit="%",
        note=TOO_FEW if holds is None else "",
    )


def _tighter(regime: Scenario, plan: Plan, results: Results) -> Claim:
    """Boxes are compared by their inter-quartile range over all tenants of all seeds; seeds are drawn again for the interval."""
    ranges = {cloud: spread([value for _, _, value in _tenants(regime, cloud, plan, results)]).quartile_range for cloud in CONTRACTS}
    holds = all(ranges["market"] < ranges[cloud] for cloud in CONTRACTS if cloud != "market")
    return Claim(
        figure=Retention.name,
        claim=f"{regime.name}: the market's box is tighter than both others",
        paper="generally tighter",
        measured=", ".join(f"{cloud} {ranges[cloud]:.3f}" for cloud in CONTRACTS),
        holds=holds,
        unit="inter-quartile range",
    )


def _converged(under: Scenario, plan: Plan, results: Results) -> Claim:
    seeds, bootstrap = plan.all_seeds, Bootstrap(plan.seeds)
    ours = retentions(under, "market", seeds, results)
    apart = {cloud: bootstrap.difference(ours, retentions(under, cloud, seeds, results)) for cloud in CONTRACTS if cloud != "market"}
    worst: Estimate = max(apart.values(), key=lambda one: abs(one.value))
    within = None if worst.low is None or worst.high is None else max(abs(worst.low), abs(worst.high)) < CLOSE
    return Claim(
        figure=Retention.name,
        claim=f"at demand {under.demand:g} all clouds retain the same (within {CLOSE:g})",
        paper="converge",
        measured=worst.value,
        interval=interval(worst),
        holds=within,
        unit="largest difference of mean retention",
        note=TOO_FEW if within is None else "",
    )


def _rows(plan: Plan, results: Results) -> list[dict[str, float | str | None]]:
    return [
        {
            "scenario": scenario.name,
            "cloud": cloud,
            "seed": seed,
            "tenant": tenant.tenant,
            "kind": tenant.kind,
            "performance": tenant.performance,
            "alone": tenant.alone,
            "retention": retention,
            "cost": tenant.cost,
        }
        for scenario in scenarios(plan)
        for cloud in CONTRACTS
        for seed, tenant, retention in _tenants(scenario, cloud, plan, results)
    ]
