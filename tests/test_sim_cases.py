"""Whole simulations whose outcome is known beforehand: one tenant, two alike, nobody in the way; and what adds up in every run."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from laissez.check.invariants import violations
from laissez.market import Command, Event, Market
from laissez.sim.clouds.market_cloud import MarketCloud
from laissez.sim.results import RunResult, dollars, hours
from laissez.sim.running import Setting
from laissez.sim.simulation import Simulation
from laissez.sim.workloads.population import Population
from laissez.sim.worlds.batch import BatchWorld
from laissez.sim.worlds.inference import InferenceWorld
from laissez.sim.worlds.training import TrainingWorld
from laissez.tenants import EconAdapter
from laissez.tenants.dynamo import Dynamo, built_in
from laissez.tenants.parabricks import RUN_TIMES, Parabricks
from laissez.tenants.paths import tree_of
from laissez.tenants.sailor import Planner, Sailor, builtin_profile
from laissez.tenants.units import HOUR_US
from sim_world import fingerprint, leaf, tiny

pytestmark = pytest.mark.once

CLOUDS = ("market", "fcfs", "fcfs-p")
KINDS = ("inference", "training", "batch")
ROOM = {"h100": 16, "a100": 16}
every_cloud = pytest.mark.parametrize("cloud", CLOUDS)
every_kind = pytest.mark.parametrize("kind", KINDS)


@cache
def alone(kind: str) -> Setting:
    """One tenant with more than it can use."""
    return Setting(tiny(1, None, ROOM, mix={kind: 1.0}), 5)


@cache
def contended() -> Setting:
    """Twice as much is wanted as there is."""
    return Setting(tiny(6, 2.0), 3)


@cache
def crowded(cloud: str) -> tuple[Simulation, RunResult]:
    setting = contended()
    simulation = Simulation(setting.scenario, setting.population, cloud, setting.seed, setting.planners)
    simulation.run()
    return simulation, setting.run(cloud)


# -- known answers


@every_cloud
@every_kind
def test_one_tenant_alone_retains_everything(cloud: str, kind: str) -> None:
    result = alone(kind).run(cloud)
    (tenant,) = result.tenants
    assert tenant.alone > 0.9
    assert tenant.retention == pytest.approx(1.0, abs=2e-3)
    assert (0, 0.0) == (tenant.revocations, tenant.lost_hours)


@every_cloud
@every_kind
def test_two_tenants_alike_fare_alike_where_there_is_room_for_both(cloud: str, kind: str) -> None:
    setting = alone(kind)
    (spec,) = setting.population.specs
    twins = tuple(msgspec.structs.replace(spec, name=name) for name in ("castor", "pollux"))
    simulation = Simulation(setting.scenario, Population(twins, setting.population.cluster, 1.0), cloud, 1, setting.planners)
    simulation.run()
    castor, pollux = (tenant.world.performance() for tenant in simulation.tenants)
    assert castor == pytest.approx(pollux, rel=0.02)
    assert castor == pytest.approx(setting.alone[spec.name], rel=0.02)


def test_a_market_in_which_nobody_contests_charges_the_floor_all_the_time() -> None:
    setting = Setting(tiny(3, None, {"h100": 24, "a100": 24}, moves_max=0), 2)
    result = setting.run("market")
    floors = setting.population.cluster.floors
    assert len(result.leases) >= 3
    for lease in result.leases:
        floor = floors[tree_of(lease.leaf)]
        assert ((lease.start, floor),) == lease.prices
        assert floor * (lease.end - lease.start) == lease.charge
    for tenant in result.tenants:
        owed = sum(floors[tree_of(one.leaf)] * (one.end - one.start) for one in result.leases if one.tenant == tenant.tenant)
        assert dollars(owed) == tenant.cost > 0
    assert {point.price for point in result.prices} == {floor / 1e6 for floor in floors.values()}


@pytest.mark.parametrize("seed", [1, 2])
def test_without_contention_all_clouds_are_alike(seed: int) -> None:
    setting = Setting(tiny(6, 0.5), seed)
    market, fcfs, preemptive = (setting.run(cloud).retention for cloud in CLOUDS)
    assert market == pytest.approx(fcfs, rel=0.01)
    assert preemptive == pytest.approx(fcfs, rel=0.01)


# -- what adds up


@every_cloud
def test_gpu_hours_add_up(cloud: str) -> None:
    """A node is idle or leased, and what is leased is in one account of one tenant: to the microsecond."""
    simulation, result = crowded(cloud)
    leases = simulation.cloud.leases()
    for tenant in simulation.tenants:
        assert sum(lease.end - lease.start for lease in leases if lease.tenant == tenant.name) == tenant.world.usage.held
    held = sum(tenant.held_hours for tenant in result.tenants)
    assert held + result.idle_hours == pytest.approx(result.gpus * result.hours, abs=1e-9)
    assert hours(sum(tenant.world.usage.held for tenant in simulation.tenants)) == pytest.approx(held, abs=1e-9)
    assert result.utilisation == pytest.approx(held / (result.gpus * result.hours))
    assert 0 < result.idle_hours < result.gpus * result.hours


@every_cloud
def test_money_adds_up(cloud: str) -> None:
    """What tenants pay is what the operator gets is what the leases cost is the sum of their prices over time."""
    simulation, result = crowded(cloud)
    charges = sum(lease.charge for lease in result.leases)
    assert dollars(charges) == result.revenue > 0
    assert sum(tenant.cost for tenant in result.tenants) == pytest.approx(result.revenue, rel=1e-12)
    if isinstance(simulation.cloud, MarketCloud):
        assert charges == simulation.cloud.market.revenue()
    for lease in result.leases:
        ends = [start for start, _ in lease.prices[1:]] + [lease.end]
        assert lease.charge == sum(rate * (end - start) for (start, rate), end in zip(lease.prices, ends, strict=True))
        assert lease.start <= lease.end


@every_cloud
def test_no_two_leases_of_a_leaf_overlap_and_nobody_is_served_before_it_comes_or_after_it_left(cloud: str) -> None:
    simulation, result = crowded(cloud)
    free_from: dict[str, int] = {}
    stay = {tenant.name: (tenant.world.start, tenant.ended) for tenant in simulation.tenants}
    for lease in result.leases:
        assert free_from.get(lease.leaf, 0) <= lease.start
        free_from[lease.leaf] = lease.end
        came, left = stay[lease.tenant]
        assert came <= lease.start <= lease.end <= left


def test_tenants_under_contention_retain_less_but_something() -> None:
    """Otherwise the checks of this file would look at runs in which nothing happens."""
    for cloud in CLOUDS:
        _, result = crowded(cloud)
        assert 0.1 < result.retention < 0.98
    assert sum(tenant.revocations for tenant in crowded("market")[1].tenants) > 0
    assert sum(tenant.lost_hours for tenant in crowded("fcfs-p")[1].tenants) > 0
    assert 0 == sum(tenant.revocations for tenant in crowded("fcfs")[1].tenants)


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
    setting = Setting(tiny(5, None, {"h100": 2, "a100": 2}), 4)
    simulation = Simulation(setting.scenario, setting.population, "market", 4, setting.planners)
    assert isinstance(simulation.cloud, MarketCloud)
    checked = Checked(simulation.cloud.market)
    simulation.cloud.market = checked  # type: ignore[assignment]
    simulation.run()
    assert checked.commands > 100


# -- the same again


def test_the_same_seed_gives_the_same_result_to_the_byte() -> None:
    first, second = (Setting(tiny(4), 9) for _ in range(2))
    for cloud in CLOUDS:
        once, again, anew = first.run(cloud), first.run(cloud), second.run(cloud)
        assert once == again == anew
        assert msgspec.json.encode(once) == msgspec.json.encode(again) == msgspec.json.encode(anew)
    assert first.run("fcfs") != Setting(tiny(4), 10).run("fcfs")


def test_a_run_does_not_depend_on_what_was_run_before() -> None:
    """The planners remember; that must not show."""
    setting = contended()
    fresh = Setting(setting.scenario, setting.seed)
    simulation = Simulation(fresh.scenario, fresh.population, "market", fresh.seed, fresh.planners)
    simulation.run()
    assert fingerprint(simulation) == fingerprint(crowded("market")[0])


SCRIPT = """
import msgspec
from hashlib import sha256
from laissez.sim.running import Setting
from sim_world import tiny

setting = Setting(tiny(4), 9)
for cloud in ("market", "fcfs", "fcfs-p"):
    print(cloud, sha256(msgspec.json.encode(setting.run(cloud))).hexdigest())
"""


def test_a_result_does_not_depend_on_the_order_of_hashes() -> None:
    expected = _printed("1")
    assert 3 == len(expected.splitlines())
    assert expected == _printed("2")


def _printed(hash_seed: str) -> str:
    env = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True).stdout


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
            for held, sizes in ((h100,), (("h100", (1,)),)), ((a100, h100), (("a100", (1,)), ("h100", (1,)))):
                assert fresh.speed(sizes) == world.app.shadow.speed(held) > 0
        elif isinstance(world, BatchWorld):
            assert RUN_TIMES == world.app.batch.run_times
            assert RUN_TIMES["a100"].per_hour(1) == world.app.batch.speed((a100,))
        elif isinstance(world, InferenceWorld):
            for tree, profile in built_in("llama-3.1-8b", 1).items():
                mine = world.app.serving.profiles[tree]
                assert [profile.ttft_ms(isl) for isl in (100, 999, 5000)] == [mine.ttft_ms(isl) for isl in (100, 999, 5000)]
                assert [profile.itl_ms(n, 1100) for n in (1, 40, 200)] == [mine.itl_ms(n, 1100) for n in (1, 40, 200)]
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
        before, held, restarting = world.performance(), dict(world.nodes), world.usage.reconfiguring
        since = world.at
        simulation.kernel.run(minute * HOUR_US // 60)
        if held and held == world.nodes and restarting == world.usage.reconfiguring and before < world.performance() < 1:
            share = world.app.job.share_per_hour(world.app.shadow.speed(tuple(sorted(held)))) * (world.at - since) / HOUR_US
            assert world.performance() - before == pytest.approx(share)
            grown += 1
    assert grown > 3
