"""Whole simulations with a known outcome: one tenant, two equal ones, no contention; and the sums
that hold in every run."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
import pytest

from laissez.market import Command, Event, Market
from laissez.sim.clouds.market_cloud import MarketCloud
from laissez.sim.results import RunResult, dollars, hours
from laissez.sim.scenario import BatchTable, Scenario, ScenarioError
from laissez.sim.setting import Setting
from laissez.sim.simulation import Simulation
from laissez.sim.simulation import alone as run_alone
from laissez.sim.workloads.population import Population, draw
from laissez.sim.workloads.spec import Spec
from laissez.sim.worlds.inference import InferenceWorld
from laissez.sim.worlds.jobs import BatchWorld, TrainingWorld
from laissez.tenants import EconAdapter
from laissez.tenants.dynamo import Dynamo, built_in
from laissez.tenants.parabricks import RUN_TIMES, Parabricks
from laissez.tenants.paths import tree_of
from laissez.tenants.sailor import Planner, Sailor, builtin_profile
from laissez.units import HOUR_US, SECOND_US
from laissez_check.invariants import violations
from support.sim_world import PLANNERS, leaf, tiny

pytestmark = pytest.mark.once

CLOUDS = ("market", "fcfs", "fcfs-p")
KINDS = ("inference", "training", "batch")
ROOM = {"h100": 16, "a100": 16}
every_cloud = pytest.mark.parametrize("cloud", CLOUDS)
every_kind = pytest.mark.parametrize("kind", KINDS)


@cache
def alone(kind: str) -> Setting:
    """One tenant with more than it can use."""
    return Setting(tiny(1, None, ROOM, mix={kind: 1.0}), 5, PLANNERS)


@cache
def contended() -> Setting:
    """Twice as much is wanted as there is."""
    return Setting(tiny(5, 2.0), 7, PLANNERS)


@cache
def contended_again() -> Setting:
    """The same, drawn anew, with planners that remember nothing of it."""
    return Setting(tiny(5, 2.0), 7)


@cache
def crowded(cloud: str) -> RunResult:
    return contended().run(cloud)


# -- known answers


@every_cloud
@every_kind
def test_one_tenant_alone_retains_everything(cloud: str, kind: str) -> None:
    result = alone(kind).run(cloud)
    (tenant,) = result.tenants
    assert tenant.alone > 0.9
    assert tenant.retention == pytest.approx(1.0, abs=2e-3)
    assert (0, 0.0) == (tenant.revocations, tenant.lost_hours)


def test_every_tenant_meets_its_objective_alone_on_a_large_cluster() -> None:
    """As first drawn. A job in full; a service but for the start of its first engines and for
    bursts."""
    for name, performance in drawn_alone(tiny(6, None, ROOM), 1).items():
        assert performance > (0.85 if name.startswith("inference") else 0.999), name


def test_only_tenants_that_cannot_meet_their_objectives_are_drawn_again() -> None:
    """Jobs that need up to three GPUs, on a cluster of two."""
    scenario = tiny(3, None, {"h100": 1, "a100": 1}, mix={"training": 1.0})
    short = {name for name, performance in drawn_alone(scenario, 1).items() if performance < 0.999}
    assert 0 < len(short) < 3
    setting, first = Setting(scenario, 1, PLANNERS), draw(scenario, 1, PLANNERS)
    assert first.cluster == setting.population.cluster
    assert short == {
        old.name
        for old, new in zip(first.specs, setting.population.specs, strict=True)
        if old != new
    }
    assert all(
        1.0 == pytest.approx(alone_on(setting.population, spec, scenario), abs=1e-3)
        for spec in setting.population.specs
    )


def test_impossible_objectives_are_refused_with_their_place() -> None:
    scenario = msgspec.structs.replace(
        tiny(1, None, {"h100": 1}, mix={"batch": 1.0}),
        batch=BatchTable(gpus=(4.0, 4.0), hours=(0.1, 0.1), cold_seconds=(60.0, 60.0)),
    )
    with pytest.raises(
        ScenarioError,
        match=(
            r"^batch: expected objectives .* the cluster of 1 GPUs .*, found 0\.\d+ by batch-1,"
            r" drawn 20 times in vain"
        ),
    ):
        Setting(scenario, 1, PLANNERS)


def drawn_alone(scenario: Scenario, seed: int) -> dict[str, float]:
    """The performance of tenants alone as first drawn."""
    population = draw(scenario, seed, PLANNERS)
    return {spec.name: alone_on(population, spec, scenario) for spec in population.specs}


def alone_on(population: Population, spec: Spec, scenario: Scenario) -> float:
    return run_alone(scenario, population, spec, PLANNERS)


@every_cloud
@every_kind
def test_equal_tenants_perform_equally_on_a_large_cluster(cloud: str, kind: str) -> None:
    setting = alone(kind)
    (spec,) = setting.population.specs
    twins = tuple(msgspec.structs.replace(spec, name=name) for name in ("castor", "pollux"))
    simulation = Simulation(
        setting.scenario,
        Population(twins, setting.population.cluster, 1.0, spec.value),
        cloud,
        1,
        setting.planners,
    )
    simulation.run()
    castor, pollux = (tenant.world.performance() for tenant in simulation.tenants)
    assert castor == pytest.approx(pollux, rel=0.02)
    assert castor == pytest.approx(setting.alone[spec.name], rel=0.02)


def test_an_uncontested_market_always_charges_the_floor() -> None:
    setting = Setting(tiny(3, None, {"h100": 24, "a100": 24}, moves_max=0), 2, PLANNERS)
    result = setting.run("market")
    floors = setting.population.cluster.floors
    assert len(result.leases) >= 3
    for lease in result.leases:
        floor = floors[tree_of(lease.leaf)]
        assert ((lease.start, floor),) == lease.prices
        assert floor * (lease.end - lease.start) == lease.charge
    for tenant in result.tenants:
        owed = sum(
            floors[tree_of(one.leaf)] * (one.end - one.start)
            for one in result.leases
            if one.tenant == tenant.tenant
        )
        assert dollars(owed) == tenant.cost > 0
    assert {point.price for point in result.prices} == {floor / 1e6 for floor in floors.values()}


def test_without_contention_all_clouds_are_alike() -> None:
    """At a quarter of what there is: jobs take more than they need while it is there, so that half
    is not little enough in a cluster so small."""
    setting = Setting(tiny(3, 0.25), 2, PLANNERS)
    market, fcfs, preemptive = (setting.run(cloud).retention for cloud in CLOUDS)
    assert market == pytest.approx(fcfs, rel=0.01)
    assert preemptive == pytest.approx(fcfs, rel=0.01)


# -- what adds up


@every_cloud
def test_gpu_hours_add_up(cloud: str) -> None:
    """A node is idle or leased, and leased time is in one account of one tenant: to the
    microsecond, which is 3e-10 h."""
    result = crowded(cloud)
    for tenant in result.tenants:
        leased = sum(
            lease.end - lease.start for lease in result.leases if lease.tenant == tenant.tenant
        )
        assert tenant.held_hours == pytest.approx(hours(leased), abs=1e-10)
    held = sum(tenant.held_hours for tenant in result.tenants)
    assert held + result.idle_hours == pytest.approx(result.gpus * result.hours, abs=1e-9)
    assert result.utilisation == pytest.approx(held / (result.gpus * result.hours))
    assert 0 < result.idle_hours < result.gpus * result.hours


@every_cloud
def test_money_adds_up(cloud: str) -> None:
    """The tenants' cost, the operator's revenue, the charges of leases and the sum of their prices
    over time are equal."""
    result = crowded(cloud)
    assert dollars(sum(lease.charge for lease in result.leases)) == result.revenue > 0
    assert sum(tenant.cost for tenant in result.tenants) == pytest.approx(result.revenue, rel=1e-12)
    for lease in result.leases:
        ends = [start for start, _ in lease.prices[1:]] + [lease.end]
        assert lease.charge == sum(
            rate * (end - start) for (start, rate), end in zip(lease.prices, ends, strict=True)
        )


@every_cloud
def test_leases_of_a_leaf_never_overlap_and_stay_within_their_tenants_time(
    cloud: str,
) -> None:
    result = crowded(cloud)
    free_from: dict[str, int] = {}
    stay = {tenant.tenant: (tenant.start_s, tenant.end_s) for tenant in result.tenants}
    for lease in result.leases:
        assert free_from.get(lease.leaf, 0) <= lease.start <= lease.end
        free_from[lease.leaf] = lease.end
        came_s, left_s = stay[lease.tenant]
        assert came_s <= lease.start / SECOND_US <= lease.end / SECOND_US <= left_s


def test_contention_costs_some_performance_but_not_all() -> None:
    """Otherwise the checks of this file would look at runs in which nothing happens."""
    assert all(0.1 < crowded(cloud).retention < 0.98 for cloud in CLOUDS)
    revocations = {
        cloud: sum(tenant.revocations for tenant in crowded(cloud).tenants) for cloud in CLOUDS
    }
    assert revocations["market"] > 0 == revocations["fcfs"] < revocations["fcfs-p"]
    assert sum(tenant.lost_hours for cloud in CLOUDS for tenant in crowded(cloud).tenants) > 0


class Checked:
    """A market that is looked at after every command."""

    def __init__(self, market: Market) -> None:
        self.market, self.commands = market, 0

    def apply(self, command: Command, at: int) -> list[Event]:
        events = self.market.apply(command, at)
        self.commands += 1
        assert [] == violations(self.market), command
        return events

    def __getattr__(self, name: str) -> Any:
        return getattr(self.market, name)


def test_the_market_keeps_its_rules_after_every_command_of_a_run() -> None:
    scenario = tiny(4, None, {"h100": 1, "a100": 2})
    simulation = Simulation(scenario, draw(scenario, 4, PLANNERS), "market", 4, PLANNERS)
    assert isinstance(simulation.cloud, MarketCloud)
    checked = Checked(simulation.cloud.market)
    simulation.cloud.market = checked  # type: ignore[assignment]
    simulation.run()
    assert checked.commands > 100
    assert checked.market.revenue() == sum(lease.charge for lease in simulation.cloud.leases()) > 0


# -- the same again


@every_cloud
def test_the_same_seed_gives_the_same_result_to_the_byte(cloud: str) -> None:
    once, again = crowded(cloud), contended_again().run(cloud)
    assert once == again
    assert msgspec.json.encode(once) == msgspec.json.encode(again)


def test_another_seed_gives_other_tenants() -> None:
    assert (
        draw(tiny(5, 2.0), 3, PLANNERS).specs
        != contended().population.specs
        == contended_again().population.specs
    )


# -- the tenants' own models


def test_worlds_run_the_tenants_own_applications_under_the_tenants_own_adapter() -> None:
    setting = contended()
    simulation = Simulation(setting.scenario, setting.population, "market", 3, setting.planners)
    kinds: set[type] = set()
    for tenant in simulation.tenants:
        world = tenant.world
        assert type(tenant.adapter) is EconAdapter and tenant.adapter.app is world.app
        kinds.add(type(world.app))
        h100, a100 = leaf(0), leaf(0, "a100")
        if isinstance(world, TrainingWorld):
            fresh = Planner(builtin_profile("OPT-350"))
            for held, sizes in (
                ((h100,), (("h100", (1,)),)),
                ((a100, h100), (("a100", (1,)), ("h100", (1,)))),
            ):
                assert fresh.speed(sizes) == world.app.what_if.speed(held) > 0
        elif isinstance(world, BatchWorld):
            assert RUN_TIMES == world.app.batch.run_times
            assert RUN_TIMES["a100"].per_hour(1) == world.app.batch.speed((a100,))
        elif isinstance(world, InferenceWorld):
            for tree, profile in built_in("llama-3.1-8b", 1).items():
                mine = world.app.serving.profiles[tree]
                assert [profile.ttft_ms(isl) for isl in (100, 999, 5000)] == [
                    mine.ttft_ms(isl) for isl in (100, 999, 5000)
                ]
                assert [profile.itl_ms(n, 1100) for n in (1, 40, 200)] == [
                    mine.itl_ms(n, 1100) for n in (1, 40, 200)
                ]
    assert {Dynamo, Sailor, Parabricks} == kinds


@every_cloud
def test_a_training_job_alone_is_as_fast_as_its_plan(cloud: str) -> None:
    """From the end of its last restart on: a share of speed over samples in every second."""
    setting = alone("training")
    simulation = Simulation(setting.scenario, setting.population, cloud, 0, setting.planners)
    simulation.cloud.begin()
    world = simulation.tenants[0].world
    assert isinstance(world, TrainingWorld)
    grown = 0
    for minute in range(1, 30):
        before, held, restarting = (
            world.performance(),
            dict(world.nodes),
            world.node_time.reconfiguring,
        )
        since = world.at
        simulation.kernel.run(minute * HOUR_US // 60)
        if (
            held
            and held == world.nodes
            and restarting == world.node_time.reconfiguring
            and before < world.performance() < 1
        ):
            share = (
                world.app.job.share_per_hour(world.app.what_if.speed(tuple(sorted(held))))
                * (world.at - since)
                / HOUR_US
            )
            assert world.performance() - before == pytest.approx(share)
            grown += 1
    assert grown > 3
