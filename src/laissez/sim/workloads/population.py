"""All tenants of one run, and a cluster that fits them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Final

import msgspec

from laissez.sim.chance import stream
from laissez.sim.cluster import Cluster, build
from laissez.sim.errors import ScenarioError
from laissez.sim.scenario import Scenario
from laissez.sim.start import Start, read_start
from laissez.sim.workloads.inference import draw_inference
from laissez.sim.workloads.jobs import draw_batch, draw_training
from laissez.sim.workloads.recorded import read_bins
from laissez.sim.workloads.spec import Makings, Planners, Spec
from laissez.tenants.units import HOUR_US

DRAW: Final = {"inference": draw_inference, "training": draw_training, "batch": draw_batch}


class Population(msgspec.Struct, frozen=True):
    specs: tuple[Spec, ...]
    cluster: Cluster
    demand: float  # what all typically need together, over what there is
    start: Start | None = None  # who and what is there before they come


def draw(scenario: Scenario, seed: int, planners: Planners, again: Mapping[int, int] | None = None, cluster: Cluster | None = None) -> Population:
    """`again` says which tenants (from 0) are drawn anew, and for the how-manieth time; `cluster`, which one they come to, if that is settled."""
    if scenario.start is not None:
        return _on_top(scenario, seed, read_start(scenario.start, {tree: getattr(scenario.prices, tree) for tree in scenario.prices.types}), planners)
    shares = _shares(scenario)
    specs = _tenants(_makings(scenario, shares, planners), seed, again or {})
    need = typical_need(scenario, specs, shares, planners)
    if cluster is None:
        counts = scenario.cluster.gpus or _sized(need / (scenario.demand or 1.0), shares)
        prices = {tree: float(getattr(scenario.prices, tree)) for tree in counts}
        cluster = build(counts, prices, scenario.prices.floor, scenario.cluster.gpus_per_host)
    return Population(specs, cluster, need / cluster.gpus)


def _on_top(scenario: Scenario, seed: int, start: Start, planners: Planners) -> Population:
    """The scenario's own tenants, over the types of the market that they can run on; what else is there is for others."""
    counts = {tree: start.cluster.topology.leaf_count(tree) for tree in start.cluster.topology.roots if tree in scenario.prices.types}
    if scenario.tenants.count and not counts:
        found = ", ".join(start.cluster.topology.roots)
        raise ScenarioError(f"start: expected a market with types that tenants can run on, {', '.join(scenario.prices.types)}, found {found}")
    shares = {tree: count / sum(counts.values()) for tree, count in counts.items()}
    specs = _tenants(_makings(scenario, shares, planners), seed, {})
    for spec in specs:
        if spec.name in start.known:
            raise ScenarioError(f"start: expected a market that does not know {spec.name}, the name of a tenant of this scenario, found it there")
    return Population(specs, start.cluster, typical_need(scenario, specs, shares, planners) / start.cluster.gpus if specs else 0.0, start)


def typical_need(scenario: Scenario, specs: tuple[Spec, ...], shares: Mapping[str, float], planners: Planners) -> float:
    """How many GPUs all tenants together need when one of them needs one: the mean over the GPU-hours that are needed, not over the clock.

    So hours in which hardly anyone is there, before most have come and after most are gone, count for little.
    """
    changes: list[tuple[int, float]] = []
    for spec in specs:
        before = 0.0
        for at, gpus in spec.need(scenario, shares, planners):
            changes.append((at, gpus - before))
            before = gpus
    changes.sort()
    totals = accumulate(change for _, change in changes)
    spans = [(later[0] - sooner[0], total) for (sooner, later), total in zip(pairwise(changes), totals, strict=False)]
    return sum(span * total**2 for span, total in spans) / sum(span * total for span, total in spans)


def _makings(scenario: Scenario, shares: Mapping[str, float], planners: Planners) -> Makings:
    trace = scenario.inference.trace
    return Makings(scenario, shares, planners, read_bins(Path(trace)) if trace is not None else ())


def _tenants(makings: Makings, seed: int, again: Mapping[int, int]) -> tuple[Spec, ...]:
    tenants, digits = makings.scenario.tenants, len(str(makings.scenario.tenants.count))
    specs = []
    for number, kind in enumerate(_kinds(makings.scenario)):
        chance = stream(seed, "tenant", number, again.get(number, 0))
        start = round(chance.uniform(0, tenants.arrivals_hours) * HOUR_US)
        specs.append(DRAW[kind](chance, f"{kind}-{number + 1:0{digits}}", start, makings))
    return tuple(specs)


def _kinds(scenario: Scenario) -> list[str]:
    """The kinds in turn, as often as the mix says."""
    mix, total = scenario.tenants.mix, sum(scenario.tenants.mix.values())
    given = dict.fromkeys(mix, 0.0)
    kinds = []
    for number in range(1, scenario.tenants.count + 1):
        kind = max(mix, key=lambda one: mix[one] / total * number - given[one])
        given[kind] += 1
        kinds.append(kind)
    return kinds


def _shares(scenario: Scenario) -> dict[str, float]:
    parts: Mapping[str, float] = scenario.cluster.gpus or scenario.cluster.shares
    return {tree: part / sum(parts.values()) for tree, part in parts.items()}


def _sized(gpus: float, shares: Mapping[str, float]) -> dict[str, int]:
    return {tree: max(1, round(gpus * share)) for tree, share in shares.items()}
