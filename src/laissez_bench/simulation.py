"""The speed of the simulator by the size of the cluster, and its time by part: the market, the
adapters, the worlds of the tenants, and the simulator itself.

Tenants are those of the default scenario, or only some kinds of them, a little larger, so that
together they need about as many GPUs as there are. All arrive within the first minutes, and a few
more pass until they have settled. Then time is taken over a fixed span of virtual time: it leaves
out the drawing of tenants, their arrival and the planners' first searches. Calls are timed from
outside: the simulator is the one that runs everywhere else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Final, TypeVar

import msgspec

from laissez.market.commands import TenantCommand
from laissez.sim.clouds.cloud import Cloud
from laissez.sim.clouds.market_cloud import MarketCloud
from laissez.sim.scenario import (
    KINDS,
    BatchTable,
    ClusterTable,
    InferenceTable,
    Scenario,
    TenantsTable,
    TrainingTable,
)
from laissez.sim.simulation import Simulation
from laissez.sim.workloads.population import draw
from laissez.sim.workloads.spec import Planners
from laissez.tenants import EconAdapter, TenantView
from laissez.units import HOUR_S, SECOND_US

SIZES: Final = ((100, 10), (1_000, 100), (10_000, 1_000))  # nodes and tenants
TIMES: Final = 1.55  # as large as in the default scenario: about ten GPUs each, in the mean
ARRIVALS_S: Final = 120
SETTLED_S: Final = 240  # when time begins to be taken
MINUTES: Final = 2.0  # of virtual time that are measured
SEED: Final = 0
SIMULATOR: Final = "simulator"

Given = TypeVar("Given")
Answer = TypeVar("Answer")


class Kind(msgspec.Struct):
    """Tenants of one kind, and their requests to the market together, per virtual second."""

    tenants: int
    asked_per_second: float

    @property
    def each_per_second(self) -> float:
        return self.asked_per_second / self.tenants


class Row(msgspec.Struct):
    """`speed` is simulated over real seconds; requests (commands and questions) to the market are
    per real second; shares are of real time.

    At the end, `holding` tenants hold the `leased` GPUs, and `waiting` others have waiting orders.
    """

    nodes: int
    tenants: int
    demand: float
    leased: int
    holding: int
    waiting: int
    kinds: dict[str, Kind]
    speed: float
    requests_per_second: float
    market_share: float
    adapter_share: float
    world_share: float

    @property
    def asked_per_second(self) -> float:
        """Requests per virtual second: the load of a real market with these tenants."""
        return sum(kind.asked_per_second for kind in self.kinds.values())

    @property
    def market_per_second(self) -> float:
        """Requests that the market serves per second of its own time."""
        return self.requests_per_second / self.market_share

    @property
    def simulator_share(self) -> float:
        return 1 - self.market_share - self.adapter_share - self.world_share


def measure(
    sizes: Sequence[tuple[int, int]] = SIZES,
    minutes: float = MINUTES,
    step: Callable[[str], None] = lambda what: None,
    kinds: Sequence[str] = KINDS,
) -> list[Row]:
    """One row for each number of nodes and of tenants, with these kinds in equal parts."""
    rows = []
    for nodes, tenants in sizes:
        step(f"{nodes:,} nodes, {tenants:,} tenants")
        rows.append(_row(scenario(nodes, tenants, kinds), minutes))
    return rows


def scenario(nodes: int, tenants: int, kinds: Sequence[str]) -> Scenario:
    """Half H100, half A100."""
    inference, training, batch = InferenceTable(), TrainingTable(), BatchTable()
    return Scenario(
        name=f"{nodes} nodes",
        cluster=ClusterTable(gpus={"h100": nodes // 2, "a100": nodes - nodes // 2}),
        tenants=TenantsTable(
            count=tenants, mix=dict.fromkeys(kinds, 1.0), arrivals_hours=ARRIVALS_S / HOUR_S
        ),
        inference=msgspec.structs.replace(inference, engines=_larger(inference.engines)),
        training=msgspec.structs.replace(training, gpus=_larger(training.gpus)),
        batch=msgspec.structs.replace(batch, gpus=_larger(batch.gpus)),
    )


def _larger(sizes: tuple[float, float]) -> tuple[float, float]:
    return sizes[0] * TIMES, sizes[1] * TIMES


def _row(given: Scenario, minutes: float) -> Row:
    planners = Planners()
    drawn = draw(given, SEED, planners)
    simulation = Simulation(given, drawn, "market", SEED, planners)
    simulation.until = SETTLED_S * SECOND_US
    simulation.run()
    watch = Stopwatch()
    cloud = simulation.cloud
    assert isinstance(cloud, MarketCloud)
    _attach(watch, simulation, cloud)
    counted = CountedCloud(cloud)
    for tenant in simulation.tenants:
        setattr(tenant, "cloud", counted)  # noqa: B010 (it is no Cloud to a type checker)
    virtual_s = minutes * 60
    watch.start()
    simulation.kernel.run(simulation.until + round(virtual_s * SECOND_US))
    spent = watch.stop()
    total = sum(spent.values())
    leases = cloud.market.leases()
    holding = {lease.tenant for lease in leases}
    members = Counter(spec.kind for spec in drawn.specs).items()
    return Row(
        nodes=drawn.cluster.gpus,
        tenants=len(drawn.specs),
        demand=drawn.demand,
        leased=len(leases),
        holding=len(holding),
        waiting=len({order.tenant for order in cloud.market.orders()} - holding),
        kinds={kind: Kind(count, counted.asked[kind] / virtual_s) for kind, count in members},
        speed=virtual_s / total,
        requests_per_second=counted.asked.total() / total,
        market_share=spent["market"] / total,
        adapter_share=spent["adapters"] / total,
        world_share=spent["worlds"] / total,
    )


class Stopwatch:
    """Real time by part. Where one part calls another, the time is the inner one's."""

    def __init__(self) -> None:
        self._spent = {SIMULATOR: 0.0, "market": 0.0, "adapters": 0.0, "worlds": 0.0}
        self._part = SIMULATOR
        self._since = 0.0

    def start(self) -> None:
        self._since = perf_counter()

    def stop(self) -> dict[str, float]:
        self._switch(SIMULATOR)
        return dict(self._spent)

    def timed(self, part: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same call, with its time counted for that part."""

        def timed(*given: Any) -> Any:
            outer = self._part
            self._switch(part)
            try:
                return call(*given)
            finally:
                self._switch(outer)

        return timed

    def _switch(self, part: str) -> None:
        now = perf_counter()
        self._spent[self._part] += now - self._since
        self._part, self._since = part, now


class TimedMarket:
    """A market whose every call is timed; it is compiled, so it cannot be changed itself."""

    def __init__(self, market: object, watch: Stopwatch) -> None:
        self._market, self._watch = market, watch

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._market, name)
        if not callable(found):
            return found
        self.__dict__[name] = timed = self._watch.timed("market", found)
        return timed


class CountedCloud:
    """A cloud that counts its requests by the kind of tenant."""

    def __init__(self, cloud: Cloud) -> None:
        self.asked: Counter[str] = Counter()
        self._cloud = cloud

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cloud, name)

    def view(self, adapter: EconAdapter) -> TenantView:
        return self._count(adapter.tenant, self._cloud.view, adapter)

    def send(self, commands: Sequence[TenantCommand]) -> None:
        if commands:
            self._count(commands[0].tenant, self._cloud.send, commands)

    def leave(self, tenant: str) -> None:
        self._count(tenant, self._cloud.leave, tenant)

    def _count(self, tenant: str, call: Callable[[Given], Answer], given: Given) -> Answer:
        before = self._cloud.requests
        answer = call(given)
        self.asked[self._cloud.customers[tenant].kind] += self._cloud.requests - before
        return answer


def _attach(watch: Stopwatch, simulation: Simulation, cloud: MarketCloud) -> None:
    setattr(cloud, "market", TimedMarket(cloud.market, watch))  # noqa: B010 (it is no Market to a type checker)
    for tenant in simulation.tenants:
        for part, of, calls in (
            ("adapters", tenant.adapter, ("decide", "watches")),
            ("worlds", tenant.world, ("advance", "gain", "lose", "is_over")),
        ):
            for name in calls:
                setattr(of, name, watch.timed(part, getattr(of, name)))
