"""The paper's example as a run: tasks A and B and machines HW1, HW2 and HW3, on a real cloud of the
simulator.

From the paper come the hours and costs of each task on each machine, and the dispatch times.
`PRICES` are the hourly prices that give back every cost of its table to the cent; the market's
floors are the same, so that the clouds differ in their contracts alone. The paper states neither
how often A is saved, nor the time of a restart, nor the worth of the work. Here A is saved every
0.15 hours of work and a restart takes 0.005 hours; A's work is worth $0.30, so that HW1, the
cheapest, is its first choice, as in the paper; B's is worth $0.80, and due 0.28 hours after it
comes: HW1 is in time, HW2 is not. Bids and limits decide who has a machine, and when. Both tenants
are the same on every cloud, with one exception: where B may preempt A, it asks for HW1 alone, or it
would be content with HW2, which is free.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import msgspec

from laissez.market import Topology
from laissez.sim.clouds.cloud import Cloud
from laissez.sim.clouds.fcfs import Fcfs, FcfsPreemptive
from laissez.sim.clouds.market_cloud import MarketCloud
from laissez.sim.cluster import Cluster
from laissez.sim.kernel import Action, Kernel, random_stream
from laissez.sim.results import dollars
from laissez.sim.tenant import Tenant
from laissez.tenants import AdapterSettings, Deadline, EconAdapter
from laissez.tenants.paths import tree_of
from laissez.tenants.pricing import keep_price
from laissez.units import HOUR_S, HOUR_US, MICRO_PER_DOLLAR, SECOND_US
from laissez_experiments.lab.cell import Cell
from laissez_experiments.motivation.task import Piece, Task, TaskWorld

HOURS: Final[Mapping[str, Mapping[str, float]]] = {
    "A": {"hw1": 0.35, "hw2": 0.51, "hw3": 0.30},
    "B": {"hw1": 0.23, "hw2": 0.32},
}
PRICES: Final[Mapping[str, float]] = {"hw1": 0.608, "hw2": 0.481, "hw3": 0.80}
KINDS: Final[Mapping[str, str]] = {"A": "training", "B": "batch"}
DISPATCHED_H: Final[Mapping[str, float]] = {"A": 0.0, "B": 0.1}
WORTH_A: Final = 0.30
WORTH_B: Final = 0.80
DUE_H: Final = 0.38  # of B
CHECKPOINT_H: Final = 0.15  # of A
RESTART_H: Final = 0.005
HORIZON_H: Final = 2.0
TERMS: Final = AdapterSettings(tolerance=0.01)
PACE_US: Final = 10 * SECOND_US
CONTESTED: Final = "hw1"


class BatchPreempts(FcfsPreemptive):
    """In this example a batch may preempt training."""

    PREEMPTS = "batch"


CLOUDS: Final[Mapping[str, type[Cloud]]] = {
    "fcfs": Fcfs,
    "fcfs-p": BatchPreempts,
    "market": MarketCloud,
}


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """A task that has ended; times in microseconds, `lost_us` of work that was for nothing."""

    at: int
    cost: float
    lost_us: int
    pieces: tuple[Piece, ...]
    checkpoints: tuple[tuple[str, int], ...]

    @property
    def hours(self) -> float:
        return self.at / HOUR_US


class Quote(msgspec.Struct, frozen=True):
    """HW1 on the market, from one instant on, in dollars per hour: its rate, the price up to which
    A would keep it, and B's bid, if any."""

    at: int
    rate: float
    limit: float | None
    bid: float | None


class Story(msgspec.Struct, frozen=True, kw_only=True):
    tasks: dict[str, Finished]
    # task, machine, start, end, and the reason of the end
    leases: tuple[tuple[str, str, int, int, str], ...]
    quotes: tuple[Quote, ...] = ()

    def machines(self, task: str) -> list[str]:
        """The machines of a task, one after the other."""
        return [machine for tenant, machine, *_ in self.leases if tenant == task]

    def span(self, task: str, machine: str) -> tuple[float, float] | None:
        """The first hour and the last in which the task had the machine; None if it never had."""
        spans = [
            (start / HOUR_US, end / HOUR_US)
            for tenant, leased, start, end, _ in self.leases
            if (tenant, leased) == (task, machine)
        ]
        return (spans[0][0], spans[-1][1]) if spans else None

    @property
    def wasted(self) -> float:
        """Hours of work that had to be done again."""
        return sum(one.lost_us for one in self.tasks.values()) / HOUR_US


class Deciding(Tenant):
    """A tenant that also decides at its checkpoints and at the end of its work, when the worth of
    a machine to it changes at once."""

    world: TaskWorld
    on_decision: Action | None = None  # done before and after each

    def _decide(self) -> None:
        self.world.advance(self.kernel.now)
        self._look()
        super()._decide()
        self._look()
        change = self.world.next_change()
        if change is not None:
            self._decide_after(max(1, change - self.kernel.now))

    def _look(self) -> None:
        if self.on_decision is not None:
            self.on_decision()


class MotivationRun(Cell, frozen=True, kw_only=True):
    """`worth` is that of B's work, in dollars; A is saved every `checkpoint_h` hours of work."""

    result: ClassVar[Any] = Story
    seconds: ClassVar[float] = 0.3
    packages: ClassVar[tuple[str, ...]] = ("laissez_experiments.motivation",)

    cloud: str
    worth: float = WORTH_B
    checkpoint_h: float = CHECKPOINT_H

    def run(self) -> Story:
        kernel, cluster = Kernel(), _cluster()
        cloud = CLOUDS[self.cloud](cluster, kernel, random_stream(0, "cloud"))
        tenants = {name: self._tenant(name, cloud) for name in HOURS}
        cloud.begin()
        quotes: list[Quote] = []
        if isinstance(cloud, MarketCloud):
            for one in tenants.values():
                one.on_decision = _looks(cloud, tenants["A"], quotes)
        kernel.run(round(HORIZON_H * HOUR_US))
        leases = cloud.leases()
        return Story(
            tasks={
                name: Finished(
                    at=one.ended,
                    cost=dollars(sum(lease.charge for lease in leases if lease.tenant == name)),
                    lost_us=one.world.node_time.lost,
                    pieces=tuple(one.world.pieces),
                    checkpoints=tuple(one.world.checkpoints),
                )
                for name, one in tenants.items()
            },
            leases=tuple(
                (lease.tenant, tree_of(lease.leaf), lease.start, lease.end, lease.reason)
                for lease in leases
            ),
            quotes=tuple(quotes),
        )

    def _tenant(self, name: str, cloud: Cloud) -> Deciding:
        start, until = round(DISPATCHED_H[name] * HOUR_US), round(HORIZON_H * HOUR_US)
        asks = (CONTESTED,) if name == "B" and self.cloud == "fcfs-p" else tuple(HOURS[name])
        restart_s = RESTART_H * HOUR_S
        if name == "A":
            saved_s = self.checkpoint_h * HOUR_S
            task = Task(HOURS[name], asks, WORTH_A, checkpoint_s=saved_s, restart_s=restart_s)
        else:
            due = Deadline(start, round(DUE_H * HOUR_US), self.worth)
            task = Task(HOURS[name], asks, self.worth, deadline=due, restart_s=restart_s)
        tenant = Deciding(
            cloud.kernel,
            cloud,
            KINDS[name],
            TaskWorld(task, start),
            EconAdapter(name, task, TERMS),
            until - 1,
            PACE_US,
        )
        cloud.kernel.at(start, tenant.arrive)
        return tenant

    def __str__(self) -> str:
        return (
            f"motivation, cloud {self.cloud}, B worth ${self.worth:.2f}, checkpoints every"
            f" {self.checkpoint_h:g} h"
        )


def _cluster() -> Cluster:
    prices = {machine: round(price * MICRO_PER_DOLLAR) for machine, price in PRICES.items()}
    topology = Topology.of([f"{machine}/1" for machine in PRICES])
    return Cluster(topology, prices, prices, gpus_per_host=1, leaf_words=2)


def _looks(cloud: MarketCloud, owner: Deciding, quotes: list[Quote]) -> Action:
    """Record the price of HW1, A's limit and B's bid whenever one of them has changed."""
    leaf, market, kernel, world = f"{CONTESTED}/1", cloud.market, cloud.kernel, owner.world

    def look() -> None:
        nodes = tuple(sorted(world.nodes))
        limit = keep_price(world.app, leaf, nodes, kernel.now) if leaf in nodes else None
        bids = [
            one.bid
            for order in market.orders()
            if order.tenant == "B"
            for one in order.alternatives
            if one.scope == CONTESTED
        ]
        bid = max(bids) / MICRO_PER_DOLLAR if bids else None
        now = Quote(kernel.now, market.rate(leaf) / MICRO_PER_DOLLAR, limit, bid)
        if not quotes or msgspec.structs.replace(quotes[-1], at=now.at) != now:
            quotes.append(now)

    return look
