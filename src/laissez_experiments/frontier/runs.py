"""One batch job, the probe, in one and the same contended market, again and again: as it would be
run on demand, as spot, and with small and large budgets.

A budget is the money for the whole work: the job's adapter prices the work by it, and never spends
more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final

import msgspec

from laissez.sim.scenario import Scenario
from laissez.sim.setting import Setting
from laissez.sim.tenant import Adaptive, Fixed, Trading
from laissez.sim.workloads.population import node_hours, on_demand, shares_of
from laissez.sim.workloads.spec import Need, Spec
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.cloud_run import PLANNERS

PROBE: Final = "batch"  # the first tenant of this kind
FCFS: Final = "on demand, fcfs"
ON_DEMAND: Final = "on demand"
SPOT: Final = "spot"
SPOT_SHARE: Final = 0.9  # of the highest list price: nobody pays more for spot than on demand


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a policy. `cost` is in times the list price of the GPU-hours that the work
    needs."""

    policy: str
    cost: float
    performance: float
    gpu_hours: float
    revocations: int


class Policies(Cell, frozen=True, kw_only=True):
    """The probe under every policy, with the same others beside it. `budgets` are times what its
    need costs at list prices."""

    result: ClassVar[Any] = list[Outcome]
    seconds: ClassVar[float] = 12.0

    scenario: Scenario
    budgets: tuple[float, ...]
    seed: int

    def run(self) -> list[Outcome]:
        setting = Setting(self.scenario, self.seed, PLANNERS)
        probe = next(spec for spec in setting.population.specs if spec.kind == PROBE)
        unit = _list_cost(self.scenario, probe)
        return [
            self._outcome(setting, policy, cloud, probe, trading, unit)
            for policy, cloud, trading in self._policies(probe, unit)
        ]

    def _policies(self, probe: Spec, unit: float) -> Iterator[tuple[str, str, Trading]]:
        """Each with its cloud and how the probe trades there."""
        dearest = max(getattr(self.scenario.prices, tree) for tree in shares_of(self.scenario))
        fixed = on_demand(_need(self.scenario, probe), dearest)
        yield FCFS, "fcfs", fixed
        yield ON_DEMAND, "market", fixed
        yield SPOT, "market", Fixed(fixed.nodes, SPOT_SHARE * dearest, "spot")
        for budget in self.budgets:
            yield budget_name(budget), "market", Adaptive(budget * unit)

    def _outcome(
        self, setting: Setting, policy: str, cloud: str, probe: Spec, trading: Trading, unit: float
    ) -> Outcome:
        budget = trading.budget if isinstance(trading, Adaptive) else None
        value = probe.value if budget is None else budget
        run = setting.with_trading(probe.name, trading, value).run(cloud)
        found = next(tenant for tenant in run.tenants if tenant.tenant == probe.name)
        return Outcome(
            policy=policy,
            cost=found.cost / unit,
            performance=found.performance,
            gpu_hours=found.held_hours,
            revocations=found.revocations,
        )

    def __str__(self) -> str:
        return f"{self.scenario.name}, policies of the probe, seed {self.seed}"


def budget_name(times: float) -> str:
    return f"{times:g}x"


def _need(scenario: Scenario, probe: Spec) -> Need:
    return probe.need(scenario, shares_of(scenario), PLANNERS)


def _list_cost(scenario: Scenario, probe: Spec) -> float:
    shares = shares_of(scenario).items()
    price: float = sum(share * getattr(scenario.prices, tree) for tree, share in shares)
    return node_hours(_need(scenario, probe)) * price
