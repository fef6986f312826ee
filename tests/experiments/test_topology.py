"""Topology-aware bidding: the two ways of bidding, the spread of GPUs over hosts, and claims that
follow from the runs."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from laissez.sim import ScenarioError
from laissez.sim.clouds.cloud import Lease
from laissez.sim.scenario import TrainingTable
from laissez.sim.setting import Setting, baseline_of
from laissez.sim.workloads.jobs import TrainingSpec
from laissez.sim.workloads.population import draw
from laissez.sim.workloads.spec import Planners
from laissez.sim.worlds.jobs import TrainingWorld
from laissez.tenants.sailor import HostLayout
from laissez_experiments.lab.cloud_run import CloudRun
from laissez_experiments.lab.experiment import Results
from laissez_experiments.lab.findings import TOO_FEW, Claim
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.regimes import sized
from laissez_experiments.lab.writing import write_findings
from laissez_experiments.topology.experiment import BATCHES, GPUS_PER_HOST, SCENARIO, Topology
from laissez_experiments.topology.ratio import gains
from laissez_experiments.topology.run import (
    Bound,
    Job,
    Lone,
    Side,
    Sides,
    Spreading,
    TopologyRun,
    bidding,
    first_aware,
    gpus_per_host,
)
from support.experiment_world import made_up

pytestmark = pytest.mark.once

PLAN = Plan(seeds=5)  # the fewest that give an interval
# over 8 hosts 1.7 times as slow as in one, over 4 hosts 1.3 times
SPEEDS = {hosts: 80.0 / (1 + (hosts - 1) / 10) for hosts in range(1, 9)}
QUICK = sized(SCENARIO, Plan(quick=True))


def side(seed: int, performance: float, spread: float) -> Side:
    """A made-up run. Seeds differ by more than both sides do: only a comparison seed by seed can
    tell them apart."""
    cell = CloudRun(scenario=SCENARIO, cloud="market", seed=seed)
    run = made_up([cell], lambda run, at: performance * (1 + seed / 10))[cell]
    return Side(run=run, gpus_per_host=spread)


def lone(seed: int, aware: float, oblivious: float) -> Lone:
    return Lone(
        *(
            Job(performance=performance * (1 + seed / 10), gpus_per_host=2.0)
            for performance in (aware, oblivious)
        )
    )


def results(
    aware: float,
    oblivious: float,
    plan: Plan = PLAN,
    together: float = 4.0,
    alone: float = 0.5,
    slower: float = 1.0,
) -> Results:
    """`alone` is what one job achieves that alone bids by place, instead of 0.25; `slower` are
    spread GPUs than in `SPEEDS`."""
    found: dict[object, object] = {}
    for cell in Topology().cells(plan):
        if isinstance(cell, TopologyRun):
            sides = (
                side(cell.seed, aware, together),
                side(cell.seed, oblivious, 2.0 + cell.seed / 100),
            )
            found[cell] = Sides(*sides, lone(cell.seed, alone, 0.25))
        elif isinstance(cell, Bound):
            names = [
                (model, gpu, batch)
                for batch in cell.global_batches
                for model in cell.models
                for gpu in cell.gpus
            ]
            found[cell] = [
                Spreading(
                    model=model,
                    gpu=gpu,
                    global_batch=batch,
                    hosts=hosts,
                    samples_per_s=speed / (slower if hosts > 1 else 1),
                )
                for model, gpu, batch in names
                for hosts, speed in SPEEDS.items()
            ]
    return found  # type: ignore[return-value]


def claims(
    aware: float, oblivious: float, together: float = 4.0, alone: float = 0.5
) -> list[Claim]:
    return list(
        Topology().findings(PLAN, results(aware, oblivious, together=together, alone=alone)).claims
    )


def test_training_alone_comes_to_a_cluster_half_again_oversubscribed_of_hosts_of_eight() -> None:
    assert (SCENARIO.demand, dict(SCENARIO.tenants.mix), GPUS_PER_HOST) == (
        1.5,
        {"training": 1.0},
        8,
    )
    cluster = draw(SCENARIO, 1000, Planners()).cluster.topology
    hosts = [
        {leaf.rpartition("/")[0] for leaf in cluster.leaves if leaf.startswith(tree)}
        for tree in cluster.roots
    ]
    assert all(len(of_type) >= 3 for of_type in hosts)  # else there is hardly a choice
    runs = [cell for cell in Topology().cells(PLAN) if isinstance(cell, TopologyRun)]
    assert [(cell.seed, cell.global_batch) for cell in runs] == [
        (seed, batch) for seed in PLAN.all_seeds for batch in BATCHES
    ]


@pytest.mark.parametrize("is_aware", [True, False])
def test_the_scenario_says_whether_jobs_bid_by_place(is_aware: bool) -> None:
    planners = Planners()
    scenario = bidding(QUICK, by_place=is_aware)
    spec = draw(scenario, 0, planners).specs[0]
    assert isinstance(spec, TrainingSpec)
    world = spec.make(scenario, HostLayout(), planners)
    assert isinstance(world, TrainingWorld)
    assert world.app.what_if.topology_aware is is_aware


def test_bidding_by_place_or_not_is_a_variation_of_one_setting() -> None:
    aware, oblivious = (bidding(QUICK, by_place=is_aware) for is_aware in (True, False))
    assert baseline_of(aware) == baseline_of(oblivious)
    first, second = Setting(aware, 0), Setting(oblivious, 0)
    assert first.alone == second.alone  # alone, everybody looks at the topology
    assert first.varied(oblivious).population.specs == second.population.specs
    with pytest.raises(
        ScenarioError,
        match=r"tenants\.believed_overhead and training\.topology_aware alone, found another",
    ):
        first.varied(msgspec.structs.replace(aware, training=TrainingTable()))


def test_one_job_alone_bids_by_place_among_others_that_do_not() -> None:
    nobody = Setting(bidding(QUICK, by_place=False), 0)
    specs = first_aware(nobody).population.specs
    worlds = [spec.make(nobody.scenario, HostLayout(), nobody.planners) for spec in specs]
    assert [
        world.app.what_if.topology_aware for world in worlds if isinstance(world, TrainingWorld)
    ] == [True] + [False] * (len(specs) - 1)
    assert [msgspec.structs.asdict(spec) for spec in specs] == [
        msgspec.structs.asdict(spec) for spec in nobody.population.specs
    ]


def test_a_batch_that_is_given_takes_the_place_of_the_models_own() -> None:
    assert Planners(64).get("OPT-350").profile.global_batch == 64
    assert Planners().get("OPT-350").profile.global_batch == 1024


def test_gpus_per_host_are_gpu_time_over_host_time() -> None:
    def lease(leaf: str, tenant: str, start: int, end: int) -> Lease:
        return Lease(f"h100/zone1/row1/rack1/{leaf}", tenant, start, end, "relinquished", 0, ())

    assert gpus_per_host([]) == 0
    # of one job each
    assert gpus_per_host([lease("host1/gpu0", "a", 0, 10), lease("host1/gpu1", "b", 0, 10)]) == 1.0
    together = [lease("host1/gpu0", "a", 0, 10), lease("host1/gpu1", "a", 0, 10)]
    assert gpus_per_host(together) == 2.0
    assert gpus_per_host([*together, lease("host2/gpu0", "a", 5, 10)]) == 25 / 15


def test_spreading_gpus_over_hosts_never_speeds_a_job_up() -> None:
    bound = Bound(
        models=SCENARIO.training.models, gpus=("a100",), gpus_per_host=8, global_batches=(None, 64)
    )
    speeds = bound.run()
    assert all(gain >= 1 for hosts in range(1, 9) for _, gain in gains(speeds, hosts))
    found = gains(speeds, 8)
    assert [(one.model, one.global_batch) for one, _ in found] == [
        (model, batch) for batch in (None, 64) for model in bound.models
    ]
    assert all(1 <= gain < 2 for _, gain in found)
    own, small = (
        [gain for one, gain in found if one.global_batch == batch] for batch in (None, 64)
    )
    assert max(own) < min(small)  # the smaller the batch, the more a host is worth


@pytest.mark.parametrize(("aware", "holds"), [(0.4, True), (0.385, True), (0.3, False)])
def test_performance_doubles_nearly_or_not(aware: float, holds: bool) -> None:
    doubles = claims(aware, 0.2)[: len(BATCHES)]
    assert [round(float(claim.measured or 0), 9) for claim in doubles] == [
        round(aware / 0.2, 9)
    ] * len(BATCHES)
    assert [claim.holds for claim in doubles] == [holds] * len(BATCHES)
    assert [("at most 1.70 times as fast" in claim.note) for claim in doubles] == [not holds] * len(
        BATCHES
    )
    assert [("at most 1.30 times as fast as in 4 hosts" in claim.note) for claim in doubles] == [
        not holds
    ] * len(BATCHES)


def test_a_wide_interval_that_reaches_twice_but_not_once_is_no_doubling() -> None:
    found = dict(results(0.2, 0.2))
    for cell, sides in found.items():
        if isinstance(cell, TopologyRun) and cell.seed == 0:
            found[cell] = Sides(side(0, 2.0, 4.0), sides.oblivious, sides.lone)
        elif isinstance(cell, TopologyRun):
            found[cell] = Sides(side(cell.seed, 0.1, 4.0), sides.oblivious, sides.lone)
    doubles = Topology().findings(PLAN, found).claims[0]
    assert doubles.interval is not None
    assert doubles.interval[0] < 1
    assert doubles.interval[1] > 1.9
    assert doubles.holds is False


@pytest.mark.parametrize(("alone", "holds"), [(0.5, True), (0.3, False)])
def test_one_job_that_bids_by_place_alone_is_judged_by_what_it_achieves_itself(
    alone: float, holds: bool
) -> None:
    ones = claims(0.2, 0.2, alone=alone)[len(BATCHES) : 2 * len(BATCHES)]
    assert [(round(float(claim.measured or 0), 9), claim.holds) for claim in ones] == [
        (round(alone / 0.25, 9), holds)
    ] * len(BATCHES)


@pytest.mark.parametrize(("slower", "is_room"), [(1.0, False), (1.5, True)])
def test_that_there_is_no_room_for_a_doubling_is_told_only_where_it_is_so(
    slower: float, is_room: bool
) -> None:
    findings = Topology().findings(PLAN, results(0.3, 0.2, slower=slower))
    assert ("no room" in findings.claims[0].note) is not is_room
    assert ("no room" in findings.text) is not is_room


@pytest.mark.parametrize(("together", "holds"), [(4.0, True), (2.0, False)])
def test_jobs_gather_their_gpus_or_not(together: float, holds: bool) -> None:
    assert [claim.holds for claim in claims(0.4, 0.2, together=together)[2 * len(BATCHES) :]] == [
        holds
    ] * len(BATCHES)


def test_two_seeds_decide_nothing_and_can_be_drawn(tmp_path: Path) -> None:
    plan = Plan(seeds=2, quick=True)
    findings = Topology().findings(plan, results(0.4, 0.2, plan))
    assert {(claim.holds, claim.note) for claim in findings.claims} == {(None, TOO_FEW)}
    assert "2.00 times as much" in findings.text
    write_findings(Topology.name, findings, tmp_path)
    assert (tmp_path / "topology.svg").stat().st_size > 0
    assert len((tmp_path / "topology.csv").read_text().splitlines()) == 1 + 2 * 2 * len(BATCHES) * 3


def test_both_sides_of_a_run_have_the_same_jobs() -> None:
    both = TopologyRun(scenario=QUICK, seed=1000).run()
    aware, oblivious = (
        [(one.tenant, one.start_s, one.alone) for one in side.run.tenants]
        for side in (both.aware, both.oblivious)
    )
    assert aware == oblivious
    assert all(
        one.gpus_per_host >= 1 and 0 < one.performance <= 1
        for one in (both.aware, both.oblivious, both.lone.aware, both.lone.oblivious)
    )
    assert both.lone.oblivious.performance == both.oblivious.run.tenants[0].performance
