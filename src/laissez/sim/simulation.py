"""One run: a population in a cloud, from the first arrival until the last is gone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from laissez.sim.chance import stream
from laissez.sim.clouds.cloud import Cloud
from laissez.sim.clouds.fcfs import Fcfs, FcfsPreemptive
from laissez.sim.clouds.market_cloud import MarketCloud
from laissez.sim.cluster import Cluster
from laissez.sim.kernel import Kernel
from laissez.sim.scenario import Scenario
from laissez.sim.tenant import Tenant
from laissez.sim.workloads.population import Population
from laissez.sim.workloads.spec import Planners, Spec
from laissez.tenants import EconAdapter, Terms
from laissez.tenants.sailor import Site
from laissez.tenants.units import SECOND_US

CLOUDS: Final[Mapping[str, Callable[[Cluster, Kernel, Random], Cloud]]] = {"market": MarketCloud, "fcfs": Fcfs, "fcfs-p": FcfsPreemptive}


class Simulation:
    def __init__(self, scenario: Scenario, population: Population, cloud: str, seed: int, planners: Planners) -> None:
        self.scenario, self.population, self.planners = scenario, population, planners
        self.kernel = Kernel()
        self.cloud = CLOUDS[cloud](population.cluster, self.kernel, stream(seed, "cloud"))
        self.tenants = [self._tenant(spec) for spec in population.specs]
        self.until = max(spec.due for spec in population.specs) + 1

    def _tenant(self, spec: Spec) -> Tenant:
        world = spec.make(self.scenario, Site(self.population.cluster.leaf_words, self.population.cluster.gpus_per_host), self.planners)
        adapter = EconAdapter(spec.name, world.app, Terms(moves_max=self.scenario.tenants.moves_max))
        pace_us = round((self.scenario.inference.plan_seconds if spec.kind == "inference" else self.scenario.tenants.decide_seconds) * SECOND_US)
        tenant = Tenant(self.kernel, self.cloud, spec.kind, world, adapter, spec.due, pace_us)
        self.kernel.at(spec.start, tenant.arrive)
        return tenant

    def run(self) -> None:
        self.cloud.begin()
        self.kernel.run(self.until)


def alone(scenario: Scenario, population: Population, spec: Spec, planners: Planners) -> float:
    """The performance of one tenant that has the cluster to itself."""
    simulation = Simulation(scenario, Population((spec,), population.cluster, 0.0), "fcfs", 0, planners)
    simulation.run()
    return simulation.tenants[0].world.performance()
