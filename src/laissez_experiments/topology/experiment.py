"""The worth to training jobs of bidding for a GPU beside one they have (the paper's figure of
topology-sensitive placements)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Final

from laissez.sim.scenario import Scenario, TenantsTable
from laissez.sim.statistics import Estimate
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import (
    TOO_FEW,
    Claim,
    Findings,
    Row,
    estimated,
    holds_at_least,
)
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.regimes import sized
from laissez_experiments.topology.figure import draw, tips
from laissez_experiments.topology.ratio import Ratio, ratio_of
from laissez_experiments.topology.run import Bound, Spreading, TopologyRun

SCENARIO: Final = Scenario(
    name="training only", demand=1.5, tenants=TenantsTable(count=20, mix={"training": 1.0})
)
MODELS: Final = SCENARIO.training.models
GPUS: Final = tuple(SCENARIO.cluster.shares)
GPUS_PER_HOST: Final = SCENARIO.cluster.gpus_per_host
# where hosts matter most: the fewer samples an iteration has, the more of its time goes into the
# all-reduce
SMALL_BATCH: Final = 64
BATCHES: Final[tuple[int | None, ...]] = (None, SMALL_BATCH)
NEARLY_DOUBLE: Final = 1.9


class Topology(Experiment):
    name = "topology"
    title = "Topology-aware bidding"
    takes_half = True

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return [
            _bound(),
            *(_run(plan, seed, batch) for seed in plan.all_seeds for batch in BATCHES),
        ]

    def findings(self, plan: Plan, results: Results) -> Findings:
        speeds: list[Spreading] = results[_bound()]
        ratios = [
            ratio_of(batch, [results[_run(plan, seed, batch)] for seed in plan.all_seeds], speeds)
            for batch in BATCHES
        ]
        return Findings(
            claims=[*map(_all_double, ratios), *map(_one_doubles, ratios), *map(_gathers, ratios)],
            text=_text(plan, ratios),
            rows=_rows(plan, ratios),
            draw=lambda: draw(ratios, speeds),
            tips=tips(ratios),
        )


def _bound() -> Bound:
    return Bound(models=MODELS, gpus=GPUS, gpus_per_host=GPUS_PER_HOST, global_batches=BATCHES)


def _run(plan: Plan, seed: int, global_batch: int | None) -> TopologyRun:
    return TopologyRun(scenario=sized(SCENARIO, plan), seed=seed, global_batch=global_batch)


def _all_double(ratio: Ratio) -> Claim:
    claim = "topology-aware bidding nearly doubles the performance of training jobs"
    return _doubles(ratio, ratio.performance, claim)


def _one_doubles(ratio: Ratio) -> Claim:
    claim = (
        "one training job that alone turns to topology-aware bidding nearly doubles its performance"
    )
    return _doubles(ratio, ratio.lone, claim)


def _doubles(ratio: Ratio, found: Estimate | None, claim: str) -> Claim:
    holds = holds_at_least(found, NEARLY_DOUBLE, above=1.0)
    note = {None: TOO_FEW, False: _room(ratio), True: ""}[holds]
    return estimated(f"{claim} ({ratio.name})", "nearly 2", found, holds, "x", note)


def _room(ratio: Ratio) -> str:
    """The possible gain from placement, computed."""
    no_room = (
        ", which leaves no room for a doubling by faster iterations alone"
        if ratio.bound < NEARLY_DOUBLE
        else ""
    )
    return (
        f"in Sailor's model {GPUS_PER_HOST} GPUs in one host are at most {ratio.bound:.2f} times as"
        f" fast as one in each of {GPUS_PER_HOST} hosts{no_room}; {_usual(ratio)}"
    )


def _usual(ratio: Ratio) -> str:
    """The possible gain where GPUs are spread as usual."""
    return (
        f"{GPUS_PER_HOST} GPUs in one host are at most {ratio.usual_bound:.2f} times as fast as in"
        f" {ratio.hosts} hosts, as jobs that bid for any have about"
        f" ({ratio.mean('gpus_per_host', False):.2f} per host)"
    )


def _gathers(ratio: Ratio) -> Claim:
    found = ratio.gpus_per_host
    holds = holds_at_least(found, 0.0, above=1.0)
    little = f"there is little in it: in Sailor's model {_usual(ratio)}"
    return estimated(
        f"jobs that bid by place have more GPUs in each host that they use ({ratio.name})",
        "a GPU in the same scale-up domain can be targeted",
        found,
        holds,
        "x",
        {None: TOO_FEW, False: little, True: ""}[holds],
    )


def _text(plan: Plan, ratios: Sequence[Ratio]) -> str:
    first = ratios[0].seeds[0].aware.run
    found = " ".join(
        f"With {ratio.name} they achieve {ratio.mean('performance', True):.3f} of their work when"
        f" they bid by place and {ratio.mean('performance', False):.3f} when they do not:"
        f" {ratio.performance.value:.2f} times as much, with"
        f" {ratio.mean('gpus_per_host', True):.2f} GPUs in each host that they use instead of"
        f" {ratio.mean('gpus_per_host', False):.2f}, and leave {ratio.mean('idle', True):.0f} % of"
        f" all GPU-hours idle instead of {ratio.mean('idle', False):.0f} %. {_lone(ratio)}"
        for ratio in ratios
    )
    worth = " and ".join(
        f"{ratio.bound:.2f} times as fast as one in each of {GPUS_PER_HOST} with {ratio.name}"
        f" ({ratio.usual_bound:.2f} times as in {ratio.hosts} hosts, as jobs that bid for any have"
        " about)"
        for ratio in ratios
    )
    no_room = (
        " So faster iterations alone leave no room for a doubling."
        if max(ratio.bound for ratio in ratios) < NEARLY_DOUBLE
        else ""
    )
    return (
        f"{len(first.tenants)} training jobs come to a market of {first.gpus} GPUs under seed 0,"
        f" H100 and A100 in hosts of {GPUS_PER_HOST} (demand {SCENARIO.demand:g}), {plan.seeds}"
        " seeds; once they bid more for a GPU in a host where they have one, once the same for any"
        f" GPU of a type, and once the first job alone bids by place. {found} In Sailor's model"
        f" {GPUS_PER_HOST} GPUs in one host are at most {worth}.{no_room}"
    )


def _lone(ratio: Ratio) -> str:
    if ratio.lone is None:
        return "The first job gets nothing done."
    aware = fmean(one.lone.aware.gpus_per_host for one in ratio.seeds)
    oblivious = fmean(one.lone.oblivious.gpus_per_host for one in ratio.seeds)
    return (
        f"The first job, bidding by place alone, achieves {ratio.lone.value:.2f} times as much"
        f" ({aware:.2f} GPUs in each host, not {oblivious:.2f})."
    )


def _rows(plan: Plan, ratios: Sequence[Ratio]) -> list[Row]:
    return [
        {
            "batch": ratio.name,
            "seed": seed,
            "topology_aware": str(is_aware).lower(),
            "tenant": tenant.tenant,
            "performance": tenant.performance,
            "alone": tenant.alone,
            "cost": tenant.cost,
            "gpu_hours": tenant.held_hours,
            "gpus_per_host_of_all": side.gpus_per_host,
        }
        for ratio in ratios
        for is_aware in (True, False)
        for seed, side in zip(plan.all_seeds, ratio.sides(is_aware), strict=True)
        for tenant in side.run.tenants
    ]
