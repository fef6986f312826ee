"""All tenants of a run, and a cluster that fits them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from laissez.sim.cluster import Cluster, Start, build, read_start
from laissez.sim.kernel import random_stream
from laissez.sim.scenario import Scenario, ScenarioError
from laissez.sim.tenant import Adaptive, Fixed
from laissez.sim.workloads.inference import draw_inference, read_bins
from laissez.sim.workloads.jobs import draw_batch, draw_training
from laissez.sim.workloads.spec import DrawContext, Need, Planners, Spec
from laissez.units import HOUR_US, MICRO_PER_DOLLAR

ON_DEMAND_TIMES: Final = 10.0  # the highest list price: no tenant outbids such a limit
DRAW: Final = {"inference": draw_inference, "training": draw_training, "batch": draw_batch}


class Population(msgspec.Struct, frozen=True):
    specs: tuple[Spec, ...]
    cluster: Cluster
    demand: float  # GPUs that all typically need over GPUs that exist
    value: float  # dollars, to each tenant, of performance 1 over 0
    start: Start | None = None


def draw(
    scenario: Scenario,
    seed: int,
    planners: Planners,
    redraws: Mapping[int, int] | None = None,
    before: Population | None = None,
) -> Population:
    """Draw all tenants. `redraws` counts the repeated draws of tenants (from 0); the cluster and
    the value are then those of `before`."""
    if scenario.start is not None:
        return _on_top(
            scenario, seed, read_start(scenario.start, scenario.prices.by_type), planners
        )
    context = _context(scenario, shares_of(scenario), planners)
    specs = _tenants(context, seed, redraws or {})
    needs = _needs(context, specs)
    cluster = before.cluster if before else _cluster(context, typical_gpus(needs))
    return _population(context, seed, specs, needs, cluster, before.value if before else None)


def _on_top(scenario: Scenario, seed: int, start: Start, planners: Planners) -> Population:
    """Tenants beside the incumbents of a start, on those of its types that they can use."""
    topology, usable = start.cluster.topology, scenario.prices.by_type
    counts = {tree: topology.leaf_count(tree) for tree in topology.roots if tree in usable}
    if not scenario.tenants.count:
        return Population((), start.cluster, 0.0, 0.0, start)
    if not counts:
        raise ScenarioError(
            "start: expected a market with types that tenants can run on,"
            f" {', '.join(usable)}, found {', '.join(topology.roots)}"
        )
    context = _context(scenario, _shares(counts), planners)
    specs = _tenants(context, seed, {})
    for spec in specs:
        if spec.name in start.known:
            raise ScenarioError(
                f"start: expected a market that does not know {spec.name}, the name of a tenant of"
                " this scenario, found it there"
            )
    needs = _needs(context, specs)
    return _population(context, seed, specs, needs, start.cluster, start=start)


def _population(
    context: DrawContext,
    seed: int,
    specs: tuple[Spec, ...],
    needs: Sequence[Need],
    cluster: Cluster,
    value: float | None = None,
    start: Start | None = None,
) -> Population:
    """Give every tenant its value and its way of trading."""
    if value is None:
        value = _value(context, cluster, needs)
    adaptive = who_adapts(context.scenario, seed)
    highest = max(cluster.prices.values()) / MICRO_PER_DOLLAR
    trading = [
        Adaptive() if number in adaptive else on_demand(need, highest)
        for number, need in enumerate(needs)
    ]
    valued = tuple(
        replace(spec, value=value, trading=one) for spec, one in zip(specs, trading, strict=True)
    )
    return Population(valued, cluster, typical_gpus(needs) / cluster.gpus, value, start)


def _needs(context: DrawContext, specs: tuple[Spec, ...]) -> list[Need]:
    return [spec.need(context.scenario, context.shares, context.planners) for spec in specs]


def typical_gpus(needs: Sequence[Need]) -> float:
    """The mean number of GPUs that all tenants need together, over needed GPU-hours and not over
    time, so that hours with few tenants count little."""
    changes: list[tuple[int, float]] = []
    for need in needs:
        before = 0.0
        for at, gpus in need:
            changes.append((at, gpus - before))
            before = gpus
    changes.sort()
    totals = accumulate(change for _, change in changes)
    spans = [
        (later - sooner, total)
        for ((sooner, _), (later, _)), total in zip(pairwise(changes), totals, strict=False)
    ]
    weighted = sum(span * total**2 for span, total in spans)
    return weighted / sum(span * total for span, total in spans)


def _value(context: DrawContext, cluster: Cluster, needs: Sequence[Need]) -> float:
    """`worth` times the mean cost of the need on demand."""
    hours = sum(map(node_hours, needs)) / len(needs)
    price = sum(share * cluster.prices[tree] for tree, share in context.shares.items())
    return context.scenario.tenants.worth * hours * (price / MICRO_PER_DOLLAR)


def who_adapts(scenario: Scenario, seed: int) -> frozenset[int]:
    """The numbers, from 0, of the tenants that trade through adapters. A larger share includes the
    tenants of every smaller share."""
    count = scenario.tenants.count
    shuffled = random_stream(seed, "adaptive").sample(range(count), count)
    return frozenset(shuffled[: round(scenario.tenants.adaptive * count)])


def on_demand(need: Need, highest: float) -> Fixed:
    """The mean need, at a limit far above the highest list price."""
    hours = (need[-1][0] - need[0][0]) / HOUR_US
    return Fixed(max(1, math.ceil(node_hours(need) / hours)), ON_DEMAND_TIMES * highest)


def node_hours(need: Need) -> float:
    return sum(gpus * (later - at) for (at, gpus), (later, _) in pairwise(need)) / HOUR_US


def _cluster(context: DrawContext, gpus: float) -> Cluster:
    scenario = context.scenario
    counts = scenario.cluster.gpus or _counts(
        round(gpus / (scenario.demand or 1.0)), context.shares
    )
    prices = scenario.prices
    return build(counts, prices.by_type, prices.floor, scenario.cluster.gpus_per_host)


def _context(scenario: Scenario, shares: Mapping[str, float], planners: Planners) -> DrawContext:
    trace = scenario.inference.trace
    recorded = () if trace is None else read_bins(Path(trace))
    return DrawContext(scenario, shares, planners, recorded)


def _tenants(context: DrawContext, seed: int, redraws: Mapping[int, int]) -> tuple[Spec, ...]:
    tenants, digits = context.scenario.tenants, len(str(context.scenario.tenants.count))
    specs = []
    for number, kind in enumerate(_kinds(context.scenario)):
        rng = random_stream(seed, "tenant", number, redraws.get(number, 0))
        start = round(rng.uniform(0, tenants.arrivals_hours) * HOUR_US)
        specs.append(DRAW[kind](rng, f"{kind}-{number + 1:0{digits}}", start, context))
    return tuple(specs)


def _kinds(scenario: Scenario) -> list[str]:
    """The kinds in turn, in the proportions of the mix."""
    mix, total = scenario.tenants.mix, sum(scenario.tenants.mix.values())
    given = dict.fromkeys(mix, 0.0)
    kinds = []
    for number in range(1, scenario.tenants.count + 1):
        kind = max(mix, key=lambda one: mix[one] / total * number - given[one])
        given[kind] += 1
        kinds.append(kind)
    return kinds


def shares_of(scenario: Scenario) -> dict[str, float]:
    """The types of its cluster, each with its share of all GPUs."""
    return _shares(scenario.cluster.types)


def _shares(parts: Mapping[str, float]) -> dict[str, float]:
    total = sum(parts.values())
    return {tree: part / total for tree, part in parts.items()}


def _counts(gpus: int, shares: Mapping[str, float]) -> dict[str, int]:
    """Whole GPUs of each type, at least one. The rest goes to the types that rounding cut most."""
    counts = {tree: max(1, int(gpus * share)) for tree, share in shares.items()}
    most_cut = sorted(shares, key=lambda tree: counts[tree] - gpus * shares[tree])
    for tree in most_cut[: max(0, gpus - sum(counts.values()))]:
        counts[tree] += 1
    return counts
