"""A scenario under one seed: its tenants, their performance alone, and the runs of all clouds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import copy
from typing import Final

from msgspec.structs import replace

from laissez.sim.clouds.cloud import Lease
from laissez.sim.operator import check_operator
from laissez.sim.results import PricePoint, RunResult, dollars, hours, tenant_result
from laissez.sim.scenario import MarketTable, Scenario, ScenarioError, check_seed
from laissez.sim.simulation import Simulation, alone, check_cloud
from laissez.sim.tenant import Trading
from laissez.sim.workloads.population import Population, draw
from laissez.sim.workloads.spec import Planners, Spec
from laissez.units import HOUR_US, MICRO_PER_DOLLAR, SECOND_US

SAMPLE_US: Final = 60 * SECOND_US  # between two prices of the history
# performance alone that a tenant must reach
JOB_MIN: Final = 0.999
SERVICE_MIN: Final = 0.9
REDRAWS_MAX: Final = 20


class Setting:
    """The tenants of a scenario and a seed, the same for every cloud.

    `alone` is the performance of each tenant with the cluster to itself, by name. A tenant that
    cannot meet its objectives even then is drawn again.
    """

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        planners: Planners | None = None,
        on_alone: Callable[[int], None] = lambda done: None,
    ) -> None:
        """`on_alone` is called after each run alone, with the number of tenants that are done."""
        check_seed(seed)
        self.scenario, self.seed = scenario, seed
        self.planners = planners or Planners()
        self.population = draw(scenario, seed, self.planners)
        check_operator(scenario, self.population.cluster.topology)
        self.alone: dict[str, float] = {}
        self._redraws: dict[int, int] = {}  # by number of the tenant
        self._run_alone(range(len(self.population.specs)), on_alone)

    def _run_alone(self, numbers: Iterable[int], on_alone: Callable[[int], None]) -> None:
        """Run these tenants alone. Redraw those that fall short on the same cluster."""
        while numbers:
            for number in numbers:
                spec = self.population.specs[number]
                self.alone[spec.name] = alone(self.scenario, self.population, spec, self.planners)
                on_alone(len(self.alone))
            numbers = [one for one in numbers if self._falls_short(self.population.specs[one])]
            for number in numbers:
                self._redraws[number] = self._redraws.get(number, 0) + 1
                if self._redraws[number] > REDRAWS_MAX:
                    raise self._infeasible(self.population.specs[number])
            if numbers:
                self.population = self._drawn(self.scenario)

    def _drawn(self, scenario: Scenario) -> Population:
        return draw(scenario, self.seed, self.planners, self._redraws, self.population)

    def _falls_short(self, spec: Spec) -> bool:
        return self.scenario.start is None and self.alone[spec.name] < self._required(spec)

    def _required(self, spec: Spec) -> float:
        """No service can serve before its first engine has started, or meet a burst that is over
        before another engine has."""
        if spec.kind != "inference":
            return JOB_MIN
        cold_us = self.scenario.inference.cold_seconds * SECOND_US
        return SERVICE_MIN * (1 - cold_us / (spec.due - spec.start))

    def _infeasible(self, spec: Spec) -> ScenarioError:
        return ScenarioError(
            f"{spec.kind}: expected objectives that a tenant can meet alone on the cluster of"
            f" {self.population.cluster.gpus} GPUs (a performance of {self._required(spec):.3f}),"
            f" found {self.alone[spec.name]:.3f} by {spec.name}, drawn {REDRAWS_MAX} times in vain"
        )

    def varied(self, scenario: Scenario) -> Setting:
        """The same tenants, cluster and performance alone under another scenario."""
        if baseline_of(scenario) != baseline_of(self.scenario):
            raise ScenarioError(
                "expected a scenario that differs in name, market, tenants.adaptive,"
                " tenants.believed_overhead and training.topology_aware alone, found another"
            )
        varied = copy(self)
        varied.scenario, varied.population = scenario, self._drawn(scenario)
        return varied

    def with_trading(self, name: str, trading: Trading, value: float) -> Setting:
        """The same setting, but this tenant trades like that for work worth `value` dollars."""
        if name not in self.alone:
            known = ", ".join(self.alone)
            raise ScenarioError(f"expected the name of a tenant, one of {known}, found {name!r}")
        other = copy(self)
        specs = tuple(
            replace(one, trading=trading, value=value) if one.name == name else one
            for one in self.population.specs
        )
        other.population = replace(self.population, specs=specs)
        return other

    def run(
        self, cloud: str, on_time: Callable[[int, int], None] = lambda now, until: None
    ) -> RunResult:
        """`on_time` is called every virtual minute with the time and the end of the run."""
        simulation = Simulation(self.scenario, self.population, cloud, self.seed, self.planners)
        prices: list[PricePoint] = []

        def sample() -> None:
            on_time(simulation.kernel.now, simulation.until)
            prices.extend(_prices(simulation))
            simulation.kernel.after(SAMPLE_US, sample)

        simulation.kernel.at(0, sample)
        simulation.run()
        return self._result(cloud, simulation, prices)

    def _result(self, cloud: str, simulation: Simulation, prices: list[PricePoint]) -> RunResult:
        leases, fees = simulation.cloud.leases(), simulation.cloud.fees()
        by_tenant: dict[str, list[Lease]] = defaultdict(list)
        for lease in leases:
            by_tenant[lease.tenant].append(lease)
        gpus, span_h = self.population.cluster.gpus, simulation.until / HOUR_US
        leased_h = hours(sum(lease.end - lease.start for lease in leases))
        return RunResult(
            scenario=self.scenario.name,
            cloud=cloud,
            seed=self.seed,
            gpus=gpus,
            hours=span_h,
            demand=self.population.demand,
            tenants=tuple(
                tenant_result(
                    one, by_tenant[one.name], fees.get(one.name, 0), self.alone.get(one.name, 0.0)
                )
                for one in simulation.tenants
            ),
            prices=tuple(prices),
            leases=tuple(leases),
            requests=simulation.cloud.requests,
            revenue=dollars(sum(lease.charge for lease in leases) + sum(fees.values())),
            idle_hours=gpus * span_h - leased_h,
        )


def _prices(simulation: Simulation) -> Iterable[PricePoint]:
    cloud = simulation.cloud
    quoted, charged = cloud.prices(), cloud.charged()
    for tree in cloud.cluster.topology.roots:
        price, rates = quoted.get(tree), charged.get(tree, [])
        yield PricePoint(
            at_s=simulation.kernel.now / SECOND_US,
            tree=tree,
            price=None if price is None else price / MICRO_PER_DOLLAR,
            charged=sum(rates) / len(rates) / MICRO_PER_DOLLAR if rates else None,
            leased=len(rates),
        )


def baseline_of(scenario: Scenario) -> Scenario:
    """The part of a scenario on which draws and runs alone depend."""
    return replace(
        scenario,
        name="any",
        market=MarketTable(),
        tenants=replace(scenario.tenants, adaptive=1.0, believed_overhead=1.0),
        training=replace(scenario.training, topology_aware=True),
    )


def run(scenario: Scenario, cloud: str = "market", seed: int = 0) -> RunResult:
    """One run of one cloud."""
    check_cloud(cloud)
    return Setting(scenario, seed).run(cloud)
