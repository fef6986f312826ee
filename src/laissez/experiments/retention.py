"""How much of their performance tenants keep when they share a cluster, by regime and by cloud (the paper's figure of performance retained)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from laissez.experiments.lab.boxes import boxes
from laissez.experiments.lab.cell import Cell
from laissez.experiments.lab.cloud_run import retentions, runs_of
from laissez.experiments.lab.experiment import Experiment, Results
from laissez.experiments.lab.findings import TOO_FEW, Claim, Findings, interval
from laissez.experiments.lab.plan import Plan
from laissez.experiments.lab.regimes import CONTRACTS, OTHERS, REGIMES, UNDERSUBSCRIBED, sized
from laissez.experiments.lab.retained import RETENTION_LABEL, degrades_less, means, panel, shown_kinds, shown_means, tenant_rows, tenants_of
from laissez.experiments.lab.tightness import quartile_range, wider_by
from laissez.sim.scenario import Scenario
from laissez.sim.statistics import Bootstrap

# by how much the market's degradation is below that of the others, in right-sized, slightly and heavily oversubscribed clusters
PAPER: Final[Mapping[str, tuple[float, ...]]] = {"fcfs": (0.17, 0.08, 0.23), "fcfs-p": (0.19, 0.12, 0.08)}
CLOSE: Final = 0.01  # of retention: clouds that differ by less have converged


class Retention(Experiment):
    name = "retention"
    title = "Performance retained under contention"

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return [cell for scenario, own in parts(plan) for cell in runs_of(scenario, CONTRACTS, own.all_seeds)]

    def findings(self, plan: Plan, results: Results) -> Findings:
        regimes = [scenario for scenario, _ in parts(plan)[:-1]]
        under, fewer = parts(plan)[-1]
        drawn = boxes([panel(scenario, own, results) for scenario, own in parts(plan)], RETENTION_LABEL)
        text = (
            f"{regimes[0].tenants.count} tenants, a third each of inference services, training jobs and batches, come to clusters of H100 and A100 "
            f"GPUs under each of {plan.seeds} seeds, the same tenants to every cloud. Retention is what a tenant achieves there over what it "
            f"achieves with the cluster to itself; degradation is what is missing to 1. {shown_means(regimes, plan, results)} "
            f"With room to spare ({under.name}, demand {under.demand:g}, {fewer.seeds} seeds): {means(under, fewer, results)}. "
            + shown_kinds(regimes, plan, results)
        )
        return Findings(
            claims=[
                *(degrades_less(self.name, cloud, regime, PAPER[cloud][at], plan, results) for cloud in OTHERS for at, regime in enumerate(regimes)),
                *(_tighter(cloud, regime, plan, results) for cloud in OTHERS for regime in regimes),
                *(_converged(cloud, under, fewer, results) for cloud in OTHERS),
            ],
            text=text,
            rows=[row for scenario, own in parts(plan) for row in tenant_rows(scenario, own, results)],
            draw=drawn.draw,
            tips=drawn.tips,
        )


def parts(plan: Plan) -> list[tuple[Scenario, Plan]]:
    """The regimes under all seeds; where there is no contention, half of them show it."""
    return [*((sized(regime, plan), plan) for regime in REGIMES), (sized(UNDERSUBSCRIBED, plan), plan.halved())]


def _tighter(cloud: str, regime: Scenario, plan: Plan, results: Results) -> Claim:
    ours, theirs = ([[one.retention for one in run] for run in tenants_of(regime, one, plan, results)] for one in ("market", cloud))
    found = wider_by(ours, theirs, quartile_range)
    return Claim(
        figure=Retention.name,
        claim=f"{regime.name}: tenants' retention is spread less on the market than on {cloud} (inter-quartile range)",
        paper="generally tighter",
        measured=found.value,
        interval=interval(found),
        holds=None if found.low is None else found.low > 0,
        unit="narrower",
        note=TOO_FEW if found.low is None else "",
    )


def _converged(cloud: str, under: Scenario, plan: Plan, results: Results) -> Claim:
    ours, theirs = (retentions(under, one, plan.all_seeds, results) for one in ("market", cloud))
    found = Bootstrap(plan.seeds).difference(ours, theirs)
    decided = found.low is not None and found.high is not None
    return Claim(
        figure=Retention.name,
        claim=f"at a demand of {under.demand:g} the market and {cloud} retain the same, within {CLOSE:g}",
        paper="converge",
        measured=found.value,
        interval=interval(found),
        holds=max(abs(found.low or 0), abs(found.high or 0)) < CLOSE if decided else None,
        unit="difference",
        note="" if decided else TOO_FEW,
    )
