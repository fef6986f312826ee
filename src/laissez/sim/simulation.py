"""One run: a population in a cloud, from the first arrival until the last deadline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Final

from msgspec.structs import replace

from laissez.sim.clouds.cloud import Cloud
from laissez.sim.clouds.fcfs import Fcfs, FcfsPreemptive
from laissez.sim.clouds.ideal import Ideal
from laissez.sim.clouds.market_cloud import MarketCloud
from laissez.sim.clouds.planning import check_solver
from laissez.sim.cluster import Cluster
from laissez.sim.kernel import Action, Kernel, random_stream
from laissez.sim.operator import OPERATOR, Maps, read_operator, schedule_actions, set_controls
from laissez.sim.outages import Outages, schedule_failures
from laissez.sim.scenario import Scenario, ScenarioError
from laissez.sim.tenant import Adaptive, Incumbent, Tenant, trader
from laissez.sim.workloads.population import Population
from laissez.sim.workloads.spec import Planners, Spec
from laissez.tenants.sailor import HostLayout
from laissez.units import HOUR_US, SECOND_US

CLOUDS: Final[Mapping[str, Callable[[Cluster, Kernel, Random], Cloud]]] = {
    "market": MarketCloud,
    "fcfs": Fcfs,
    "fcfs-p": FcfsPreemptive,
    "ideal": Ideal,
}


def check_cloud(name: str) -> None:
    if name not in CLOUDS:
        raise ScenarioError(f"cloud: expected one of {', '.join(CLOUDS)}, found {name!r}")
    if CLOUDS[name] is Ideal:
        check_solver()


class Simulation:
    def __init__(
        self, scenario: Scenario, population: Population, cloud: str, seed: int, planners: Planners
    ) -> None:
        check_cloud(cloud)
        self.scenario, self.population, self.planners = scenario, population, planners
        self.kernel = Kernel()
        self.cloud = CLOUDS[cloud](population.cluster, self.kernel, random_stream(seed, "cloud"))
        self.until = self._until()
        incumbents = population.start.tenants if population.start else ()
        self.incumbents = [
            Incumbent(self.kernel, self.cloud, name, self.until) for name in incumbents
        ]
        self._opening = self._schedule_operations(seed)
        self.tenants = [*self.incumbents, *map(self._tenant, population.specs)]

    def _until(self) -> int:
        """The last deadline; with incumbents, who have none, at least the hours of the scenario."""
        last = max((spec.due for spec in self.population.specs), default=0) + 1
        if self.population.start is None:
            return last
        return max(last, round(self.scenario.hours * HOUR_US))

    def _schedule_operations(self, seed: int) -> list[Action]:
        """Schedule actions and failures. Returns the operator's actions for the start."""
        scenario, kernel, cloud = self.scenario, self.kernel, self.cloud
        topology, start = self.population.cluster.topology, self.population.start
        outages = Outages(cloud, start.offline if start else (), OPERATOR)
        schedule_actions(scenario.actions, kernel, cloud, outages)
        if scenario.failures is not None:
            schedule_failures(scenario.failures, seed, topology, kernel, outages)
        if not isinstance(cloud, MarketCloud):
            return []
        opening: list[Action] = []
        if scenario.market.sets_any:
            controls = [set_controls(tree, scenario.market) for tree in topology.roots]
            opening += [partial(cloud.operate, command) for command in controls]
        if scenario.maps is not None:
            pace_us = round(scenario.maps_seconds * SECOND_US)
            maps = Maps(read_operator(scenario.maps), pace_us, kernel, cloud, outages)
            opening.append(maps.step)
        return opening

    def _tenant(self, spec: Spec) -> Tenant:
        cluster, scenario = self.population.cluster, self.scenario
        site = HostLayout(cluster.leaf_words, cluster.gpus_per_host)
        world = spec.make(scenario, site, self.planners)
        adapter = trader(spec.name, spec.trading, world, spec.scopes, scenario.tenants.moves_max)
        is_service = spec.kind == "inference"
        pace_s = scenario.inference.plan_seconds if is_service else scenario.tenants.decide_seconds
        pace_us = round(pace_s * SECOND_US)
        tenant = Tenant(self.kernel, self.cloud, spec.kind, world, adapter, spec.due, pace_us)
        self.kernel.at(spec.start, tenant.arrive)
        return tenant

    def run(self) -> None:
        for one in self.incumbents:
            one.arrive()
        if self.population.start is not None:
            self.cloud.start_from(self.population.start)
        self.cloud.begin()
        for action in self._opening:
            action()
        self.kernel.run(self.until)
        for one in self.incumbents:
            one.world.advance(self.kernel.now)


def alone(scenario: Scenario, population: Population, spec: Spec, planners: Planners) -> float:
    """The performance of a tenant that has the cluster to itself for nothing. It adapts, knows
    itself and the topology, and nothing fails."""
    undisturbed = replace(
        scenario,
        failures=None,
        actions=(),
        maps=None,
        tenants=replace(scenario.tenants, believed_overhead=1.0),
        training=replace(scenario.training, topology_aware=True),
    )
    free = replace(population.cluster, prices=dict.fromkeys(population.cluster.prices, 0))
    by_itself = Population((replace(spec, trading=Adaptive()),), free, 0.0, population.value)
    simulation = Simulation(undisturbed, by_itself, "fcfs", 0, planners)
    simulation.run()
    return simulation.tenants[0].world.performance()
