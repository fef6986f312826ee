"""The performance that tenants keep when they share a cluster, by regime and by cloud (the paper's
figure of performance retained)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final

from laissez.sim.scenario import Scenario
from laissez_experiments.lab.boxes import Boxes
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.cloud_run import Runs, runs_of
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import (
    TOO_FEW,
    Claim,
    Findings,
    estimated,
    interval,
    is_above_zero,
    shown,
)
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.regimes import CONTRACTS, OTHERS, REGIMES, UNDERSUBSCRIBED, sized
from laissez_experiments.lab.retained import (
    RETENTION_LABEL,
    degrades_less,
    means,
    panel,
    quartile_range,
    shown_means,
    tenant_rows,
    tighter_by,
)

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
        return [cell for one, own in parts(plan) for cell in runs_of(one, CONTRACTS, own)]

    def findings(self, plan: Plan, results: Results) -> Findings:
        shares = [(scenario, Runs(own, results)) for scenario, own in parts(plan)]
        *regimes, under = (scenario for scenario, _ in shares)
        runs, fewer = shares[0][1], shares[-1][1]
        boxes = Boxes([panel(*share) for share in shares], RETENTION_LABEL)
        text = (
            f"{regimes[0].tenants.count} tenants, a third each of inference services (with load"
            " drawn to fit the Azure traces), training jobs and batches, come to clusters of H100"
            f" and A100 GPUs under each of {plan.seeds} seeds, the same tenants to every cloud."
            " Retention is what a tenant achieves there over what it achieves with the cluster to"
            " itself (a service may exceed 1: alone, it has only what its planner asks for);"
            f" degradation is what is missing to 1. {shown_means(regimes, runs)} With"
            f" room to spare (demand {under.demand:g}, {fewer.plan.seeds} seeds):"
            f" {means(under, fewer)}. Degradation on fcfs-p is"
            f" {_times_fcfs(regimes, runs)} times that on fcfs; the paper's figures imply"
            f" {' / '.join(f'{each:.2f}' for each in _implied())}."
        )
        return Findings(
            claims=[
                *(
                    degrades_less(cloud, regime, PAPER[cloud][at], runs)
                    for cloud in OTHERS
                    for at, regime in enumerate(regimes)
                ),
                _tighter(regimes, runs),
                *(_converged(cloud, under, fewer) for cloud in OTHERS),
            ],
            text=text,
            rows=[row for share in shares for row in tenant_rows(*share)],
            draw=boxes.draw,
            tips=boxes.tips,
        )


def parts(plan: Plan) -> list[tuple[Scenario, Plan]]:
    """The regimes under all seeds; half of them are enough where there is no contention."""
    return [
        *((sized(regime, plan), plan) for regime in REGIMES),
        (sized(UNDERSUBSCRIBED, plan), plan.halved()),
    ]


def _times_fcfs(regimes: Sequence[Scenario], runs: Runs) -> str:
    lost = [[1 - fmean(runs.retentions(cloud, regime)) for regime in regimes] for cloud in OTHERS]
    pairs = zip(*lost, strict=True)
    return " / ".join(f"{theirs / fcfs:.2f}" if fcfs > 0 else "-" for fcfs, theirs in pairs)


def _implied() -> list[float]:
    """Both reductions are of the same degradation on the market."""
    pairs = zip(PAPER["fcfs"], PAPER["fcfs-p"], strict=True)
    return [(1 - fcfs) / (1 - preemptive) for fcfs, preemptive in pairs]


def _tighter(regimes: Sequence[Scenario], runs: Runs) -> Claim:
    """The paper's "generally" is taken for a certain difference in most comparisons."""
    found = {
        f"than {cloud}, {regime.name}": tighter_by(
            cloud, regime, runs, lambda one: one.retention, quartile_range
        )
        for cloud in OTHERS
        for regime in regimes
    }
    sure = sum(is_above_zero(one) or False for one in found.values())
    decided = all(map(interval, found.values()))
    each = [f"{comparison}: {shown(one) if one else '-'}" for comparison, one in found.items()]
    return Claim(
        claim=(
            "tenants' retention is spread less on the market: comparisons in which its"
            " inter-quartile range is smaller"
        ),
        paper="generally tighter",
        measured=f"{sure} of {len(found)}" if decided else None,
        holds=2 * sure > len(found) if decided else None,
        note=f"smaller by, {'; '.join(each)}" if decided else TOO_FEW,
    )


def _by_kind(cloud: str, scenario: Scenario, runs: Runs) -> str:
    """The kinds of tenants in which the clouds differ."""

    def kept(one: str, kind: str) -> float:
        tenants = (tenant for run in runs.on(one, scenario) for tenant in run.tenants)
        return fmean(tenant.retention for tenant in tenants if tenant.kind == kind)

    return "by kind: " + ", ".join(
        f"{kind} {kept('market', kind):.3f} and {kept(cloud, kind):.3f}"
        for kind in scenario.tenants.mix
    )


def _converged(cloud: str, under: Scenario, runs: Runs) -> Claim:
    ours, theirs = (runs.retentions(one, under) for one in ("market", cloud))
    found = runs.bootstrap.difference(ours, theirs)
    ends = interval(found)
    holds = max(map(abs, ends)) < CLOSE if ends else None
    return estimated(
        f"at a demand of {under.demand:g} the market and {cloud} retain the same, within {CLOSE:g}",
        "converge",
        found,
        holds,
        "difference",
        TOO_FEW if holds is None else "" if holds else _by_kind(cloud, under, runs),
    )
