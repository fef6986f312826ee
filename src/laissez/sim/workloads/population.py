"""All tenants of one run, and a cluster that fits them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Final

import msgspec

from laissez.sim.cluster import Cluster, Start, build, read_start
from laissez.sim.kernel import random_stream
from laissez.sim.scenario import Scenario, ScenarioError
from laissez.sim.tenant import Adaptive, Fixed
from laissez.sim.workloads.inference import draw_inference, read_bins
from laissez.sim.workloads.jobs import draw_batch, draw_training
from laissez.sim.workloads.spec import Makings, Need, Planners, Spec
from laissez.units import HOUR_US, MICRO_PER_DOLLAR

ON_DEMAND_TIMES: Final = 10.0  # the dearest list price: what is kept up to that is kept
DRAW: Final = {"inference": draw_inference, "training": draw_training, "batch": draw_batch}


class Population(msgspec.Struct, frozen=True):
    specs: tuple[Spec, ...]
    cluster: Cluster
    demand: float  # what all typically need together, over what there is
    value: float  # dollars, to each, for going from performance 0 to 1
    start: Start | None = None  # who and what is there before they come


def draw(
    scenario: Scenario,
    seed: int,
    planners: Planners,
    again: Mapping[int, int] | None = None,
    before: Population | None = None,
) -> Population:
    """`again` says which tenants (from 0) are drawn anew, and for the how-manieth time; the cluster
    and the value are those of `before`."""
    if scenario.start is not None:
        return _on_top(
            scenario,
            seed,
            read_start(
                scenario.start,
                scenario.prices.by_type,
            ),
            planners,
        )
    makings = _makings(scenario, shares_of(scenario), planners)
    specs = _tenants(makings, seed, again or {})
    needs = _needs(makings, specs)
    cluster = before.cluster if before else _cluster(makings, typical(needs))
    value = before.value if before else _value(makings, cluster, needs)
    return Population(
        _trading(scenario, seed, specs, needs, value, cluster),
        cluster,
        typical(needs) / cluster.gpus,
        value,
    )


def _on_top(scenario: Scenario, seed: int, start: Start, planners: Planners) -> Population:
    """The scenario's own tenants, over the types of the market that they can run on; what else is
    there is for others."""
    counts = {
        tree: start.cluster.topology.leaf_count(tree)
        for tree in start.cluster.topology.roots
        if tree in scenario.prices.by_type
    }
    if not scenario.tenants.count:
        return Population((), start.cluster, 0.0, 0.0, start)
    if not counts:
        found = ", ".join(start.cluster.topology.roots)
        raise ScenarioError(
            "start: expected a market with types that tenants can run on,"
            f" {', '.join(scenario.prices.by_type)}, found {found}"
        )
    makings = _makings(
        scenario, {tree: count / sum(counts.values()) for tree, count in counts.items()}, planners
    )
    specs = _tenants(makings, seed, {})
    for spec in specs:
        if spec.name in start.known:
            raise ScenarioError(
                f"start: expected a market that does not know {spec.name}, the name of a tenant of"
                " this scenario, found it there"
            )
    needs = _needs(makings, specs)
    value = _value(makings, start.cluster, needs)
    return Population(
        _trading(scenario, seed, specs, needs, value, start.cluster),
        start.cluster,
        typical(needs) / start.cluster.gpus,
        value,
        start,
    )


def _needs(makings: Makings, specs: tuple[Spec, ...]) -> list[Need]:
    return [spec.need(makings.scenario, makings.shares, makings.planners) for spec in specs]


def typical(needs: Sequence[Need]) -> float:
    """How many GPUs all tenants together need when one of them needs one: the mean over the
    GPU-hours that are needed, not over the clock.

    So hours in which hardly anyone is there, before most have come and after most are gone, count
    for little.
    """
    changes: list[tuple[int, float]] = []
    for need in needs:
        before = 0.0
        for at, gpus in need:
            changes.append((at, gpus - before))
            before = gpus
    changes.sort()
    totals = accumulate(change for _, change in changes)
    spans = [
        (later[0] - sooner[0], total)
        for (sooner, later), total in zip(pairwise(changes), totals, strict=False)
    ]
    return sum(span * total**2 for span, total in spans) / sum(
        span * total for span, total in spans
    )


def _value(makings: Makings, cluster: Cluster, needs: Sequence[Need]) -> float:
    """What going from performance 0 to 1 is worth: the same to each, and so many times what they
    need costs on demand in the mean."""
    hours = sum(map(node_hours, needs)) / len(needs)
    price = (
        sum(share * cluster.prices[tree] for tree, share in makings.shares.items())
        / MICRO_PER_DOLLAR
    )
    return makings.scenario.tenants.worth * hours * price


def _trading(
    scenario: Scenario,
    seed: int,
    specs: tuple[Spec, ...],
    needs: Sequence[Need],
    value: float,
    cluster: Cluster,
) -> tuple[Spec, ...]:
    """What it is worth to each, and how each trades."""
    adaptive = who_adapts(scenario, seed)
    dearest = max(cluster.prices.values()) / MICRO_PER_DOLLAR
    return tuple(
        msgspec.structs.replace(
            spec,
            value=value,
            trading=Adaptive() if number in adaptive else on_demand(need, dearest),
        )
        for number, (spec, need) in enumerate(zip(specs, needs, strict=True))
    )


def who_adapts(scenario: Scenario, seed: int) -> frozenset[int]:
    """The numbers, from 0, of those who trade through adapters. Those who adapt when few do are
    among those who adapt when more do."""
    count = scenario.tenants.count
    return frozenset(
        random_stream(seed, "adaptive").sample(range(count), count)[
            : round(scenario.tenants.adaptive * count)
        ]
    )


def on_demand(need: Need, dearest: float) -> Fixed:
    """As many GPUs as are needed in the mean, each at a limit so far above the dearest list price
    that hardly anybody ever bids more."""
    hours = (need[-1][0] - need[0][0]) / HOUR_US
    return Fixed(max(1, math.ceil(node_hours(need) / hours)), ON_DEMAND_TIMES * dearest)


def node_hours(need: Need) -> float:
    return sum(gpus * (later - at) for (at, gpus), (later, _) in pairwise(need)) / HOUR_US


def _cluster(makings: Makings, gpus: float) -> Cluster:
    scenario = makings.scenario
    counts = scenario.cluster.gpus or _sized(round(gpus / (scenario.demand or 1.0)), makings.shares)
    prices = {tree: float(getattr(scenario.prices, tree)) for tree in counts}
    return build(counts, prices, scenario.prices.floor, scenario.cluster.gpus_per_host)


def _makings(scenario: Scenario, shares: Mapping[str, float], planners: Planners) -> Makings:
    trace = scenario.inference.trace
    return Makings(scenario, shares, planners, read_bins(Path(trace)) if trace is not None else ())


def _tenants(makings: Makings, seed: int, again: Mapping[int, int]) -> tuple[Spec, ...]:
    tenants, digits = makings.scenario.tenants, len(str(makings.scenario.tenants.count))
    specs = []
    for number, kind in enumerate(_kinds(makings.scenario)):
        rng = random_stream(seed, "tenant", number, again.get(number, 0))
        start = round(rng.uniform(0, tenants.arrivals_hours) * HOUR_US)
        specs.append(DRAW[kind](rng, f"{kind}-{number + 1:0{digits}}", start, makings))
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


def shares_of(scenario: Scenario) -> dict[str, float]:
    """The types of its cluster, each with its part of all GPUs."""
    parts: Mapping[str, float] = scenario.cluster.gpus or scenario.cluster.shares
    return {tree: part / sum(parts.values()) for tree, part in parts.items()}


def _sized(gpus: int, shares: Mapping[str, float]) -> dict[str, int]:
    """So many in all, and at least one of each; those whose share is cut most get what rounding
    leaves over."""
    counts = {tree: max(1, int(gpus * share)) for tree, share in shares.items()}
    for tree in sorted(shares, key=lambda tree: counts[tree] - gpus * shares[tree])[
        : max(0, gpus - sum(counts.values()))
    ]:
        counts[tree] += 1
    return counts
