"""Fakes for the tests of the simulator: a customer that records its calls, small clusters, jobs and
scenarios."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from laissez.market.commands import Alternative, PlaceOrder
from laissez.sim.clouds.cloud import Cloud
from laissez.sim.clouds.fcfs import Fcfs, FcfsPreemptive
from laissez.sim.clouds.market_cloud import MarketCloud
from laissez.sim.cluster import Cluster, build
from laissez.sim.kernel import Kernel, random_stream
from laissez.sim.scenario import (
    BatchTable,
    ClusterTable,
    InferenceTable,
    Scenario,
    TenantsTable,
    TrainingTable,
)
from laissez.sim.simulation import Simulation
from laissez.sim.workloads.spec import Planners
from laissez.sim.worlds.jobs import BatchWorld, TrainingWorld
from laissez.sim.worlds.world import World
from laissez.tenants import (
    AdapterSettings,
    Application,
    Deadline,
    EconAdapter,
    Held,
    Resting,
    TenantView,
)
from laissez.tenants.parabricks import Batch, Parabricks
from laissez.tenants.sailor import HostLayout, Job, Sailor, WhatIf
from laissez.units import MICRO_PER_DOLLAR, SECOND_US
from support.tenant_world import Plain

H100, A100 = round(6.88 * MICRO_PER_DOLLAR), round(3.43 * MICRO_PER_DOLLAR)  # on demand
PRICES = {"h100": 6.88, "a100": 3.43}
DEAR = 100 * MICRO_PER_DOLLAR
PLANNERS = Planners()  # shared by all tests of a process: it only caches
PLANNER = PLANNERS.get("OPT-350")
CLOUDS: dict[str, Callable[[Cluster, Kernel], Cloud]] = {
    "market": lambda cluster, kernel: MarketCloud(cluster, kernel, random_stream(0, "cloud")),
    "fcfs": lambda cluster, kernel: Fcfs(cluster, kernel, random_stream(0, "cloud")),
    "fcfs-p": lambda cluster, kernel: FcfsPreemptive(cluster, kernel, random_stream(0, "cloud")),
}


class Guest:
    """A customer of a cloud that only records its calls: (time, word, leaf)."""

    def __init__(self, name: str, cloud: Cloud, kind: str = "batch") -> None:
        self.name, self.kind, self.cloud = name, kind, cloud
        self.app: Application = Plain(scopes=("h100", "a100"))
        self.adapter = EconAdapter(name, self.app, AdapterSettings(moves_max=0))
        self.news: list[tuple[int, str, str]] = []
        cloud.join(self)

    def gained(self, leaf: str, since: int) -> None:
        self.news.append((self.cloud.kernel.now, "gained", leaf))

    def lost(self, leaf: str, since: int, voluntary: bool) -> None:
        self.news.append((self.cloud.kernel.now, "gave" if voluntary else "lost", leaf))

    def asks(self, *scopes: str, limit: int = DEAR) -> None:
        """One GPU below any of `scopes`."""
        self.cloud.send(
            [PlaceOrder(self.name, tuple(Alternative(scope, limit, limit) for scope in scopes))]
        )

    @property
    def view(self) -> TenantView:
        return self.cloud.view(self.adapter)

    @property
    def held(self) -> list[str]:
        return [one.leaf for one in self.view.leases]

    @property
    def leases(self) -> tuple[Held, ...]:
        return self.view.leases

    @property
    def orders(self) -> tuple[Resting, ...]:
        return self.view.orders

    def told(self, word: str) -> list[str]:
        return [leaf for _, said, leaf in self.news if said == word]


def opened(name: str, **gpus: int) -> Cloud:
    """A cloud of that name with the given GPUs of each type, ready for its first tenant."""
    cloud = CLOUDS[name](build(gpus, PRICES, 0.7), Kernel())
    cloud.begin()
    return cloud


def guests(cloud: Cloud, names: Iterable[str], kind: str = "batch") -> list[Guest]:
    return [Guest(name, cloud, kind) for name in names]


def at(cloud: Cloud, seconds: float) -> None:
    """Advance to a time and carry out everything due."""
    cloud.kernel.run(round(seconds * SECOND_US))


def leaf(number: int, tree: str = "h100") -> str:
    return f"{tree}/zone1/row1/rack1/host1/gpu{number}"


def tiny(
    count: int = 6,
    demand: float | None = 2.0,
    gpus: dict[str, int] | None = None,
    **tenants: object,
) -> Scenario:
    """Less than half an hour, few tenants, small needs, and `demand` relative to supply, or a
    number of `gpus`."""
    return Scenario(
        name="tiny",
        demand=demand,
        cluster=ClusterTable(gpus=gpus),
        tenants=TenantsTable(count=count, arrivals_hours=0.1, decide_seconds=60.0, **tenants),  # type: ignore[arg-type]
        inference=InferenceTable(
            engines=(1.0, 3.0), hours=(0.15, 0.2), plan_seconds=20.0, cold_seconds=20.0
        ),
        training=TrainingTable(gpus=(1.0, 3.0), hours=(0.3, 0.4), models=("OPT-350",)),
        batch=BatchTable(
            gpus=(1.0, 3.0), hours=(0.3, 0.4), cold_seconds=(60.0, 120.0), sample_size=(0.02, 0.05)
        ),
    )


def batch(
    *sizes: float, cold_s: float = 60.0, checkpoint_s: float = 300.0, due_s: float = 36_000.0
) -> BatchWorld:
    samples = Batch(sizes, ("a100", "h100"), nodes_max=8, checkpoint_s=checkpoint_s)
    return BatchWorld(Parabricks(samples, Deadline(0, round(due_s * SECOND_US), 100.0), cold_s))


def speed(*counts: int) -> float:
    """Samples per second on A100s, given the number in each host."""
    return PLANNER.speed((("a100", counts),))


def training(
    samples: float, restart_s: float = 60.0, checkpoint_s: float = 300.0, due_s: float = 36_000.0
) -> TrainingWorld:
    job = Job(
        Deadline(0, round(due_s * SECOND_US), 100.0),
        epochs=1,
        samples_per_epoch=samples,
        checkpoint_s=checkpoint_s,
    )
    return TrainingWorld(Sailor(job, WhatIf(PLANNER, ("a100",), HostLayout(6, 8)), restart_s))


def passes(world: World, until_s: float, step_s: float = 10.0) -> None:
    """Let time pass in the small steps in which tenants decide."""
    until = round(until_s * SECOND_US)
    while world.at < until:
        world.advance(min(until, world.at + round(step_s * SECOND_US)))


def accounts(world: World) -> tuple[float, float, float, float]:
    """Node-seconds: useful, reconfiguring, lost, surplus."""
    useful, reconfiguring, lost, surplus = msgspec.structs.astuple(world.node_time)
    return (useful / SECOND_US, reconfiguring / SECOND_US, lost / SECOND_US, surplus / SECOND_US)


def fingerprint(simulation: Simulation) -> tuple[object, ...]:
    """All results of a simulation."""
    tenants = [
        (one.name, one.ended, one.decisions, one.revocations, _state(one.world))
        for one in simulation.tenants
    ]
    return tenants, simulation.cloud.leases(), simulation.cloud.requests


def _state(world: World) -> tuple[object, ...]:
    return world.performance(), *msgspec.structs.astuple(world.node_time)


def lease_of(cloud: Cloud, tenant: str, leaf: str) -> int:
    """The number of a tenant's lease of a leaf; 0 if it holds none."""
    if isinstance(cloud, MarketCloud):
        lease = cloud.market.lease_on(leaf)
        return lease.lease if lease is not None and lease.tenant == tenant else 0
    assert isinstance(cloud, Fcfs)
    held = cloud._held.get(tenant, {}).get(leaf)
    return 0 if held is None else held.lease
