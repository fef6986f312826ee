"""One run: a population in a cloud, from the first arrival until the last is gone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Final

import msgspec

from laissez.sim.clouds.cloud import Cloud
from laissez.sim.clouds.fcfs import Fcfs, FcfsPreemptive
from laissez.sim.clouds.ideal import Ideal
from laissez.sim.clouds.market_cloud import MarketCloud
from laissez.sim.clouds.planning import check_solver
from laissez.sim.cluster import Cluster
from laissez.sim.kernel import Action, Kernel, random_stream
from laissez.sim.operator import (
    OPERATOR,
    Maps,
    read_operator,
    schedule_actions,
    set_controls,
)
from laissez.sim.outages import Outages, schedule_failures
from laissez.sim.scenario import Scenario, ScenarioError
from laissez.sim.tenant import Adaptive, Standing, Tenant, trader
from laissez.sim.workloads.population import Population
from laissez.sim.workloads.spec import Planners, Spec
from laissez.tenants.sailor import Site
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
        self.scenario, self.population, self.planners = scenario, population, planners
        self.kernel = Kernel()
        check_cloud(cloud)
        self.cloud = CLOUDS[cloud](population.cluster, self.kernel, random_stream(seed, "cloud"))
        self.until = self._until()
        self.standing = (
            [
                Standing(self.kernel, self.cloud, name, self.until)
                for name in population.start.tenants
            ]
            if population.start
            else []
        )
        self._begins = self._happens(seed)
        self.tenants = [*self.standing, *(self._tenant(spec) for spec in population.specs)]

    def _until(self) -> int:
        """The last deadline; where some have none, after the hours of the scenario at the
        earliest."""
        last = max((spec.due for spec in self.population.specs), default=0) + 1
        return (
            last
            if self.population.start is None
            else max(last, round(self.scenario.hours * HOUR_US))
        )

    def _happens(self, seed: int) -> list[Action]:
        """Put down what happens to the cluster in the run; say what is to be done when it
        begins."""
        scenario, cloud, topology = self.scenario, self.cloud, self.population.cluster.topology
        outages = Outages(
            cloud,
            self.population.start.offline if self.population.start else (),
            OPERATOR,
        )
        schedule_actions(scenario.actions, self.kernel, cloud, outages)
        if scenario.failures is not None:
            schedule_failures(scenario.failures, seed, topology, self.kernel, outages)
        if not isinstance(cloud, MarketCloud):
            return []
        begins: list[Action] = []
        if scenario.market.sets_any:
            begins += [
                partial(cloud.operate, set_controls(tree, scenario.market))
                for tree in topology.roots
            ]
        if scenario.maps is not None:
            operator = read_operator(scenario.maps)
            begins.append(
                Maps(
                    operator, round(scenario.maps_seconds * SECOND_US), self.kernel, cloud, outages
                ).turn
            )
        return begins

    def _tenant(self, spec: Spec) -> Tenant:
        world = spec.make(
            self.scenario,
            Site(self.population.cluster.leaf_words, self.population.cluster.gpus_per_host),
            self.planners,
        )
        adapter = trader(
            spec.name, spec.trading, world, spec.scopes, self.scenario.tenants.moves_max
        )
        pace_us = round(
            (
                self.scenario.inference.plan_seconds
                if spec.kind == "inference"
                else self.scenario.tenants.decide_seconds
            )
            * SECOND_US
        )
        tenant = Tenant(self.kernel, self.cloud, spec.kind, world, adapter, spec.due, pace_us)
        self.kernel.at(spec.start, tenant.arrive)
        return tenant

    def run(self) -> None:
        for one in self.standing:
            one.arrive()
        if self.population.start is not None:
            self.cloud.start_from(self.population.start)
        self.cloud.begin()
        for begin in self._begins:
            begin()
        self.kernel.run(self.until)
        for one in self.standing:
            one.world.advance(self.kernel.now)


def alone(scenario: Scenario, population: Population, spec: Spec, planners: Planners) -> float:
    """The performance of one tenant that has the cluster to itself, for nothing, adapts, knows
    itself and the topology, and nothing happens to it."""
    knowing = msgspec.structs.replace(scenario.tenants, believed_overhead=1.0)
    aware = msgspec.structs.replace(scenario.training, topology_aware=True)
    quiet = msgspec.structs.replace(
        scenario, failures=None, actions=(), maps=None, tenants=knowing, training=aware
    )
    spec = msgspec.structs.replace(spec, trading=Adaptive())
    free = msgspec.structs.replace(
        population.cluster, prices=dict.fromkeys(population.cluster.prices, 0)
    )
    simulation = Simulation(
        quiet, Population((spec,), free, 0.0, population.value), "fcfs", 0, planners
    )
    simulation.run()
    return simulation.tenants[0].world.performance()
