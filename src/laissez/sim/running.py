"""From a scenario to a result: who comes, what each would achieve alone, and what became of all of them together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from laissez.sim.clouds.cloud import Lease
from laissez.sim.errors import ScenarioError
from laissez.sim.results import PricePoint, RunResult, TenantResult, dollars, hours
from laissez.sim.scenario import Scenario
from laissez.sim.simulation import Simulation, alone
from laissez.sim.standing import STANDING
from laissez.sim.tenant import Tenant
from laissez.sim.workloads.population import Population, draw
from laissez.sim.workloads.spec import Planners
from laissez.tenants.units import HOUR_US, MICRO, SECOND_US

SAMPLE_US: Final = 60 * SECOND_US  # between two prices of the series
# What a tenant must achieve alone. No service can meet bursts that are over before an engine has started, nor its own first minute.
MEETS: Final = {"inference": 0.9, "training": 0.999, "batch": 0.999}
AGAIN_MAX: Final = 20
MOVE_US: Final = 120 * SECOND_US  # a lease given up so soon after another one was won was moved there


class Setting:
    """A scenario under one seed: the same tenants, and the same alone-runs, for every cloud.

    `alone` is what each tenant achieves with the cluster to itself. One that cannot meet its objectives even then is drawn again.
    """

    def __init__(self, scenario: Scenario, seed: int, planners: Planners | None = None) -> None:
        self.scenario, self.seed = scenario, seed
        self.planners = planners or Planners()
        self.population, self.alone = self._satisfiable()

    def _satisfiable(self) -> tuple[Population, Mapping[str, float]]:
        again: dict[int, int] = {}
        while True:
            population = draw(self.scenario, self.seed, self.planners, again)
            achieved = {spec.name: alone(self.scenario, population, spec, self.planners) for spec in population.specs}
            short = [(number, spec) for number, spec in enumerate(population.specs, 1) if achieved[spec.name] < MEETS[spec.kind]]
            if not short or self.scenario.start is not None:
                return population, achieved
            for number, spec in short:
                again[number] = again.get(number, 0) + 1
                if again[number] > AGAIN_MAX:
                    raise ScenarioError(
                        f"{spec.kind}: expected objectives that a tenant can meet alone on the cluster of {population.cluster.gpus} GPUs "
                        f"(a performance of {MEETS[spec.kind]}), found {spec.name} with {achieved[spec.name]:.3f}, drawn {AGAIN_MAX} times in vain"
                    )

    def run(self, cloud: str) -> RunResult:
        simulation = Simulation(self.scenario, self.population, cloud, self.seed, self.planners)
        prices: list[PricePoint] = []
        _sample(simulation, prices)
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
            tenants=tuple(_tenant(one, mine[one.name], fees.get(one.name, 0), self.alone.get(one.name, 0.0)) for one in simulation.tenants),
            prices=tuple(prices),
            leases=tuple(leases),
            requests=simulation.cloud.requests,
            revenue=dollars(sum(lease.charge for lease in leases) + sum(fees.values())),
            idle_hours=gpus * span_h - leased,
        )


def run(scenario: Scenario, cloud: str = "market", seed: int = 0) -> RunResult:
    """One run of one cloud."""
    return Setting(scenario, seed).run(cloud)


def _tenant(tenant: Tenant, leases: list[Lease], fees: int, achieved_alone: float) -> TenantResult:
    usage, performance = tenant.world.usage, tenant.world.performance()
    cost = dollars(sum(lease.charge for lease in leases) + fees)
    return TenantResult(
        tenant=tenant.name,
        kind=tenant.kind,
        start_s=tenant.world.start / SECOND_US,
        end_s=tenant.ended / SECOND_US,
        performance=performance,
        alone=achieved_alone,
        retention=performance / achieved_alone if achieved_alone else 1.0,
        cost=cost,
        performance_per_cost=performance / cost if cost and tenant.kind != STANDING else None,
        useful_hours=hours(usage.useful),
        reconfiguring_hours=hours(usage.reconfiguring),
        lost_hours=hours(usage.lost),
        surplus_hours=hours(usage.surplus),
        gains=len(leases),
        moves=_moves(leases),
        revocations=tenant.revocations,
        decisions=tenant.decisions,
    )


def _moves(leases: list[Lease]) -> int:
    """Leases given up right after another was won, each with one that was."""
    begun = sorted(lease.start for lease in leases)
    moves = at = 0
    for ended in sorted(lease.end for lease in leases if lease.reason == "relinquished"):
        while at < len(begun) and begun[at] < ended - MOVE_US:
            at += 1
        if at < len(begun) and begun[at] < ended:
            moves += 1
            at += 1
    return moves


def _sample(simulation: Simulation, prices: list[PricePoint]) -> None:
    """Write down what each type costs, once a minute."""
    kernel, cloud = simulation.kernel, simulation.cloud

    def sample() -> None:
        quoted, charged = cloud.prices(), cloud.charged()
        for tree in cloud.cluster.topology.roots:
            rates = charged.get(tree, [])
            price = quoted.get(tree)
            prices.append(
                PricePoint(
                    at_s=kernel.now / SECOND_US,
                    tree=tree,
                    price=None if price is None else price / MICRO,
                    charged=sum(rates) / len(rates) / MICRO if rates else None,
                    leased=len(rates),
                )
            )
        kernel.at(kernel.now + SAMPLE_US, sample)

    kernel.at(0, sample)
