"""How much of their performance tenants keep when they share a cluster, by regime and by cloud (the
paper's figure of performance retained)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final

from laissez.sim.scenario import Scenario
from laissez.sim.statistics import Bootstrap, Estimate
from laissez_experiments.lab.boxes import boxes
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.cloud_run import retentions, runs_of
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import TOO_FEW, Claim, Findings, interval
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.regimes import CONTRACTS, OTHERS, REGIMES, UNDERSUBSCRIBED, sized
from laissez_experiments.lab.retained import (
    RETENTION_LABEL,
    degrades_less,
    means,
    panel,
    shown_means,
    tenant_rows,
    tenants_of,
)
from laissez_experiments.lab.sweeps import shown
from laissez_experiments.lab.tightness import quartile_range, wider_by

# by how much the market's degradation is below that of the others, in right-sized, slightly and
# heavily oversubscribed clusters
PAPER: Final[Mapping[str, tuple[float, ...]]] = {
    "fcfs": (0.17, 0.08, 0.23),
    "fcfs-p": (0.19, 0.12, 0.08),
}
CLOSE: Final = 0.01  # of retention: clouds that differ by less have converged


class Retention(Experiment):
    name = "retention"
    title = "Performance retained under contention"

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return [
            cell
            for scenario, own in parts(plan)
            for cell in runs_of(scenario, CONTRACTS, own.all_seeds)
        ]

    def findings(self, plan: Plan, results: Results) -> Findings:
        regimes = [scenario for scenario, _ in parts(plan)[:-1]]
        under, fewer = parts(plan)[-1]
        drawn = boxes(
            [panel(scenario, own, results) for scenario, own in parts(plan)], RETENTION_LABEL
        )
        text = (
            f"{regimes[0].tenants.count} tenants, a third each of inference services (with load"
            " drawn to fit the Azure traces), training jobs and batches, come to clusters of H100"
            f" and A100 GPUs under each of {plan.seeds} seeds, the same tenants to every cloud."
            " Retention is what a tenant achieves there over what it achieves with the cluster to"
            " itself (a service may exceed 1: alone, it has only what its planner asks for);"
            f" degradation is what is missing to 1. {shown_means(regimes, plan, results)} With"
            f" room to spare (demand {under.demand:g}, {fewer.seeds} seeds):"
            f" {means(under, fewer, results)}. Degradation on fcfs-p is"
            f" {_times_fcfs(regimes, plan, results)} times that on fcfs; the paper's figures imply"
            f" {' / '.join(f'{each:.2f}' for each in _implied())}."
        )
        return Findings(
            claims=[
                *(
                    degrades_less(self.name, cloud, regime, PAPER[cloud][at], plan, results)
                    for cloud in OTHERS
                    for at, regime in enumerate(regimes)
                ),
                _tighter(regimes, plan, results),
                *(_converged(cloud, under, fewer, results) for cloud in OTHERS),
            ],
            text=text,
            rows=[
                row for scenario, own in parts(plan) for row in tenant_rows(scenario, own, results)
            ],
            draw=drawn.draw,
            tips=drawn.tips,
        )


def parts(plan: Plan) -> list[tuple[Scenario, Plan]]:
    """The regimes under all seeds; where there is no contention, half of them show it."""
    return [
        *((sized(regime, plan), plan) for regime in REGIMES),
        (sized(UNDERSUBSCRIBED, plan), plan.halved()),
    ]


def _times_fcfs(regimes: Sequence[Scenario], plan: Plan, results: Results) -> str:
    lost = {
        cloud: [1 - fmean(retentions(regime, cloud, plan.all_seeds, results)) for regime in regimes]
        for cloud in OTHERS
    }
    return " / ".join(
        f"{theirs / fcfs:.2f}" if fcfs > 0 else "-"
        for fcfs, theirs in zip(lost["fcfs"], lost["fcfs-p"], strict=True)
    )


def _implied() -> list[float]:
    """Both reductions are of the same degradation on the market."""
    return [
        (1 - fcfs) / (1 - preemptive)
        for fcfs, preemptive in zip(PAPER["fcfs"], PAPER["fcfs-p"], strict=True)
    ]


def _tighter(regimes: Sequence[Scenario], plan: Plan, results: Results) -> Claim:
    """In most comparisons, surely: that is what "generally" is taken for."""
    found = {
        (cloud, regime.name): _wider(cloud, regime, plan, results)
        for cloud in OTHERS
        for regime in regimes
    }
    sure = sum(one is not None and one.low is not None and one.low > 0 for one in found.values())
    decided = all(one is not None and one.low is not None for one in found.values())
    each = [
        f"than {cloud}, {regime}: {shown(one) if one else '-'}"
        for (cloud, regime), one in found.items()
    ]
    return Claim(
        figure=Retention.name,
        claim=(
            "tenants' retention is spread less on the market: comparisons in which its"
            " inter-quartile range is smaller"
        ),
        paper="generally tighter",
        measured=f"{sure} of {len(found)}" if decided else None,
        holds=2 * sure > len(found) if decided else None,
        note=f"smaller by, {'; '.join(each)}" if decided else TOO_FEW,
    )


def _wider(cloud: str, regime: Scenario, plan: Plan, results: Results) -> Estimate | None:
    ours, theirs = (
        [[one.retention for one in run] for run in tenants_of(regime, one, plan, results)]
        for one in ("market", cloud)
    )
    return wider_by(ours, theirs, quartile_range)


def _by_kind(cloud: str, scenario: Scenario, plan: Plan, results: Results) -> str:
    """Who it is that the clouds differ in."""

    def kept(one: str, kind: str) -> float:
        return fmean(
            tenant.retention
            for each in tenants_of(scenario, one, plan, results)
            for tenant in each
            if tenant.kind == kind
        )

    return "by kind: " + ", ".join(
        f"{kind} {kept('market', kind):.3f} and {kept(cloud, kind):.3f}"
        for kind in scenario.tenants.mix
    )


def _converged(cloud: str, under: Scenario, plan: Plan, results: Results) -> Claim:
    ours, theirs = (retentions(under, one, plan.all_seeds, results) for one in ("market", cloud))
    found = Bootstrap(plan.seeds).difference(ours, theirs)
    decided = found.low is not None and found.high is not None
    holds = max(abs(found.low or 0), abs(found.high or 0)) < CLOSE if decided else None
    return Claim(
        figure=Retention.name,
        claim=(
            f"at a demand of {under.demand:g} the market and {cloud} retain the same, within"
            f" {CLOSE:g}"
        ),
        paper="converge",
        measured=found.value,
        interval=interval(found),
        holds=holds,
        unit="difference",
        note=TOO_FEW if holds is None else "" if holds else _by_kind(cloud, under, plan, results),
    )
