"""From a scenario to a result: who comes, what each would achieve alone, and what became of all of
them together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import copy
from typing import Final

import msgspec

from laissez.sim.clouds.cloud import Lease
from laissez.sim.operator import check_operator
from laissez.sim.results import PricePoint, RunResult, TenantResult, dollars, hours
from laissez.sim.scenario import MarketTable, Scenario, ScenarioError, check_seed
from laissez.sim.simulation import Simulation, alone, check_cloud
from laissez.sim.tenant import STANDING, Tenant, Trading
from laissez.sim.workloads.population import draw
from laissez.sim.workloads.spec import Planners, Spec
from laissez.units import HOUR_US, MICRO_PER_DOLLAR, SECOND_US

SAMPLE_US: Final = 60 * SECOND_US  # between two prices of the series
JOB_MEETS: Final = 0.999
SERVICE_MEETS: Final = 0.9
AGAIN_MAX: Final = 20
# a lease given up so soon after another one was won was moved there
MOVE_US: Final = 120 * SECOND_US


class Setting:
    """A scenario under one seed: the same tenants, and the same alone-runs, for every cloud.

    `alone` is what each tenant achieves with the cluster to itself. One that cannot meet its
    objectives even then is drawn again.
    """

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        planners: Planners | None = None,
        on_alone: Callable[[int], None] = lambda done: None,
    ) -> None:
        """`on_alone` is told how many tenants have run alone, after each."""
        check_seed(seed)
        self.scenario, self.seed = scenario, seed
        self.planners = planners or Planners()
        self.population = draw(scenario, seed, self.planners)
        check_operator(scenario, self.population.cluster.topology)
        self.alone: dict[str, float] = {}
        self._again: dict[int, int] = {}  # how often a tenant was drawn again
        self._run_alone(range(len(self.population.specs)), on_alone)

    def _run_alone(self, numbers: Iterable[int], on_alone: Callable[[int], None]) -> None:
        """Let these tenants run alone, and those that fall short be drawn again, on the same
        cluster, until none does."""
        while numbers:
            for number in numbers:
                spec = self.population.specs[number]
                self.alone[spec.name] = alone(self.scenario, self.population, spec, self.planners)
                on_alone(len(self.alone))
            numbers = [
                number for number in numbers if self._falls_short(self.population.specs[number])
            ]
            for number in numbers:
                self._again[number] = self._again.get(number, 0) + 1
                if self._again[number] > AGAIN_MAX:
                    raise self._hopeless(self.population.specs[number])
            if numbers:
                self.population = draw(
                    self.scenario, self.seed, self.planners, self._again, self.population
                )

    def _falls_short(self, spec: Spec) -> bool:
        return self.scenario.start is None and self.alone[spec.name] < self._bound(spec)

    def _bound(self, spec: Spec) -> float:
        """What it must achieve alone. No service can meet a burst that is over before an engine has
        started, nor anything before its first."""
        if spec.kind != "inference":
            return JOB_MEETS
        return SERVICE_MEETS * (
            1 - self.scenario.inference.cold_seconds * SECOND_US / (spec.due - spec.start)
        )

    def _hopeless(self, spec: Spec) -> ScenarioError:
        asked = (
            "objectives that a tenant can meet alone on the cluster of"
            f" {self.population.cluster.gpus} GPUs"
        )
        found = f"{self.alone[spec.name]:.3f} by {spec.name}, drawn {AGAIN_MAX} times in vain"
        return ScenarioError(
            f"{spec.kind}: expected {asked} (a performance of {self._bound(spec):.3f}), found"
            f" {found}"
        )

    def varied(self, scenario: Scenario) -> Setting:
        """The same tenants on the same cluster, with the same alone-runs, under a scenario that
        differs in nothing that they depend on: in the market's controls, in who adapts, and in what
        tenants believe or look at.
        """
        if baseline_of(scenario) != baseline_of(self.scenario):
            free = (
                "name, market, tenants.adaptive, tenants.believed_overhead and"
                " training.topology_aware"
            )
            raise ScenarioError(f"expected a scenario that differs in {free} alone, found another")
        varied = copy(self)
        varied.scenario = scenario
        varied.population = draw(scenario, self.seed, self.planners, self._again, self.population)
        return varied

    def with_trading(self, name: str, trading: Trading, value: float) -> Setting:
        """The same tenants, with the same alone-runs, but the one of that name trades so, and to do
        all of it is worth `value` dollars to it."""
        if name not in self.alone:
            raise ScenarioError(
                f"expected the name of a tenant, one of {', '.join(self.alone)}, found {name!r}"
            )
        other = copy(self)
        specs = tuple(
            msgspec.structs.replace(one, trading=trading, value=value) if one.name == name else one
            for one in self.population.specs
        )
        other.population = msgspec.structs.replace(self.population, specs=specs)
        return other

    def run(
        self, cloud: str, on_time: Callable[[int, int], None] = lambda now, until: None
    ) -> RunResult:
        """`on_time` is told, once in a virtual minute, what time it is and when the run ends."""
        simulation = Simulation(self.scenario, self.population, cloud, self.seed, self.planners)
        prices: list[PricePoint] = []
        _sample(simulation, prices, on_time)
        simulation.run()
        return self._result(cloud, simulation, prices)

    def _result(self, cloud: str, simulation: Simulation, prices: list[PricePoint]) -> RunResult:
        leases, fees = simulation.cloud.leases(), simulation.cloud.fees()
        mine: dict[str, list[Lease]] = defaultdict(list)
        for lease in leases:
            mine[lease.tenant].append(lease)
        gpus, span_h = self.population.cluster.gpus, simulation.until / HOUR_US
        leased = hours(sum(lease.end - lease.start for lease in leases))
        return RunResult(
            scenario=self.scenario.name,
            cloud=cloud,
            seed=self.seed,
            gpus=gpus,
            hours=span_h,
            demand=self.population.demand,
            tenants=tuple(
                _tenant(one, mine[one.name], fees.get(one.name, 0), self.alone.get(one.name, 0.0))
                for one in simulation.tenants
            ),
            prices=tuple(prices),
            leases=tuple(leases),
            requests=simulation.cloud.requests,
            revenue=dollars(sum(lease.charge for lease in leases) + sum(fees.values())),
            idle_hours=gpus * span_h - leased,
        )


def baseline_of(scenario: Scenario) -> Scenario:
    """All that draws and alone-runs depend on: scenarios that agree in it are variations of one
    another."""
    tenants = msgspec.structs.replace(scenario.tenants, adaptive=1.0, believed_overhead=1.0)
    training = msgspec.structs.replace(scenario.training, topology_aware=True)
    return msgspec.structs.replace(
        scenario, name="any", market=MarketTable(), tenants=tenants, training=training
    )


def run(scenario: Scenario, cloud: str = "market", seed: int = 0) -> RunResult:
    """One run of one cloud."""
    check_cloud(cloud)
    return Setting(scenario, seed).run(cloud)


def _tenant(tenant: Tenant, leases: list[Lease], fees: int, achieved_alone: float) -> TenantResult:
    usage, performance = tenant.world.node_time, tenant.world.performance()
    cost = dollars(sum(lease.charge for lease in leases) + fees)
    return TenantResult(
        tenant=tenant.name,
        kind=tenant.kind,
        start_s=tenant.world.start / SECOND_US,
        end_s=tenant.ended / SECOND_US,
        performance=performance,
        alone=achieved_alone,
        retention=performance / achieved_alone if achieved_alone else 0.0,
        cost=cost,
        performance_per_cost=performance / cost if cost and tenant.kind != STANDING else None,
        useful_hours=hours(usage.useful),
        reconfiguring_hours=hours(usage.reconfiguring),
        lost_hours=hours(usage.lost),
        surplus_hours=hours(usage.surplus),
        gains=len(leases),
        moves=_moves(leases, tenant.ended),
        revocations=tenant.revocations,
        decisions=tenant.decisions,
    )


def _moves(leases: list[Lease], ended: int) -> int:
    """Leases that were given up, before the tenant left, for another one that began shortly before
    and lasted longer; each takes one."""
    newer = sorted(leases, key=lambda lease: lease.start)
    moves = 0
    for old in sorted(
        (lease for lease in leases if lease.reason == "relinquished" and lease.end < ended),
        key=lambda lease: lease.end,
    ):
        taken = next(
            (
                new
                for new in newer
                if old.start < new.start and old.end - MOVE_US <= new.start < old.end < new.end
            ),
            None,
        )
        if taken is not None:
            newer.remove(taken)
            moves += 1
    return moves


def _sample(
    simulation: Simulation, prices: list[PricePoint], on_time: Callable[[int, int], None]
) -> None:
    """Write down what each type costs, once a minute."""
    kernel, cloud = simulation.kernel, simulation.cloud

    def sample() -> None:
        on_time(kernel.now, simulation.until)
        quoted, charged = cloud.prices(), cloud.charged()
        for tree in cloud.cluster.topology.roots:
            rates = charged.get(tree, [])
            price = quoted.get(tree)
            prices.append(
                PricePoint(
                    at_s=kernel.now / SECOND_US,
                    tree=tree,
                    price=None if price is None else price / MICRO_PER_DOLLAR,
                    charged=sum(rates) / len(rates) / MICRO_PER_DOLLAR if rates else None,
                    leased=len(rates),
                )
            )
        kernel.at(kernel.now + SAMPLE_US, sample)

    kernel.at(0, sample)
