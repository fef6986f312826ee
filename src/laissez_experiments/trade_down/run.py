"""A batch on the market while the price of H100s rises and falls: the run behind `trade_down`.

Nothing tells the batch when to do what: it is `laissez.tenants.parabricks` on the simulator's
market, and its states are read off its leases. Set are the prices at which idle GPUs are offered,
others who come for all H100s at a higher price and leave again, and an operator that then lowers
its floor. H100s are listed at $4.00, not at the $6.88 of the other experiments: for genomes an H100
is 1.45 times as fast as an A100, so at twice its price no batch would begin on one. One run, one
seed: chance has a part in hand-offs alone, which take milliseconds.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec

from laissez.sim.clouds.cloud import Lease
from laissez.sim.cluster import build
from laissez.sim.results import dollars
from laissez.sim.scenario import ActionTable, FloorTable, PricesTable, Scenario, TenantsTable
from laissez.sim.simulation import Simulation
from laissez.sim.tenant import Adaptive, Fixed
from laissez.sim.workloads.jobs import BatchSpec
from laissez.sim.workloads.population import Population
from laissez.sim.workloads.spec import Planners
from laissez.tenants.parabricks.runtime import RUN_TIMES
from laissez.units import HOUR_US, MICRO_PER_DOLLAR, SECOND_US
from laissez_experiments.lab.cell import Cell

PRICES: Final = PricesTable(h100=4.00, a100=3.43)
DUE_H: Final = 4.0
WORK_H: Final = 2.2  # on one H100
SAMPLES: Final = 8
WORTH: Final = 1.2
COLD_S: Final = 240.0
CHECKPOINT_S: Final = 600.0
RISE_H: Final = (1.0, 2.2)  # others are there
RISE_PRICE: Final = 6.00  # they pay up to this for each of both H100s
CHEAP_H100: Final = 2.50  # the operator's floor when they are gone
ANY_PRICE: Final = 100.0
SEED: Final = 0
SAMPLE_US: Final = 30 * SECOND_US


class Sample(msgspec.Struct, frozen=True):
    """The price of one more GPU of each type, and the share of the work done."""

    at: int
    prices: dict[str, float]
    done: float


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """The batch's leases, its progress, and when it was done (None: not in time)."""

    leases: tuple[Lease, ...]
    samples: tuple[Sample, ...]
    done_at: int | None

    @property
    def cost(self) -> float:
        return dollars(sum(lease.charge for lease in self.leases))


class TradeDownRun(Cell, frozen=True, kw_only=True):
    """`worth` is that of the work, in times what it costs on demand on an H100. `stays`: it holds
    one H100 at any price, and does not trade."""

    result: ClassVar[Any] = Course
    seconds: ClassVar[float] = 0.3

    worth: float = WORTH
    stays: bool = False

    def run(self) -> Course:
        counts = {"h100": 2, "a100": 2}
        cluster = build(counts, {tree: getattr(PRICES, tree) for tree in counts}, PRICES.floor)
        lowered = ActionTable(
            at_minutes=RISE_H[1] * 60, floor=FloorTable(node="h100", price=CHEAP_H100)
        )
        scenario = Scenario(
            name="trade-down",
            demand=1.0,
            prices=PRICES,
            actions=(lowered,),
            tenants=TenantsTable(count=1),
        )
        simulation = Simulation(
            scenario,
            Population((_batch(self.worth, self.stays), _others()), cluster, 1.0, 0.0),
            "market",
            SEED,
            Planners(),
        )
        batch = simulation.tenants[0]
        samples: list[Sample] = []

        def sample() -> None:
            now = simulation.kernel.now
            batch.world.advance(now)
            quoted = simulation.cloud.prices().items()
            prices = {tree: price / MICRO_PER_DOLLAR for tree, price in quoted}
            samples.append(Sample(now, prices, batch.world.performance()))
            simulation.kernel.at(now + SAMPLE_US, sample)

        simulation.kernel.at(0, sample)
        simulation.run()
        leases = tuple(lease for lease in simulation.cloud.leases() if lease.tenant == batch.name)
        return Course(
            leases=leases,
            samples=tuple(samples),
            done_at=batch.ended if batch.world.performance() >= 1 else None,
        )

    def __str__(self) -> str:
        if self.stays:
            return "trade-down, one H100 at any price"
        return f"trade-down, worth {self.worth:g} times its cost"


def _batch(worth: float, stays: bool) -> BatchSpec:
    work = WORK_H * RUN_TIMES["h100"].per_hour(1)
    return BatchSpec(
        name="batch",
        start=0,
        due=round(DUE_H * HOUR_US),
        scopes=("h100",) if stays else ("a100", "h100"),
        value=worth * WORK_H * PRICES.h100,
        trading=Fixed(1, ANY_PRICE) if stays else Adaptive(),
        sizes=(work / SAMPLES,) * SAMPLES,
        cold_s=COLD_S,
        checkpoint_s=CHECKPOINT_S,
        nodes_max=1,
    )


def _others() -> BatchSpec:
    """Both H100s, up to their price; more work than they have time for."""
    start, due = (round(hour * HOUR_US) for hour in RISE_H)
    return BatchSpec(
        name="others",
        start=start,
        due=due,
        scopes=("h100",),
        trading=Fixed(2, RISE_PRICE),
        sizes=(1_000.0,) * 2,
        cold_s=COLD_S,
        checkpoint_s=CHECKPOINT_S,
        nodes_max=2,
    )
