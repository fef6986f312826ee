"""How fast the simulator is, by the size of the cluster, and where its time goes: the market, the adapters, the worlds of the tenants, or itself.

Tenants are those of the default scenario, a little larger, so that together they need about as many GPUs as there are. All come within the first
minutes, and a few more pass until each has what it gets. Only then is time taken, over a fixed span of virtual time; drawing the tenants, their
arrival and the planners' first searches are not in it. Calls are timed from outside: the simulator is the one that runs everywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Final

import msgspec

from laissez.sim.clouds.market_cloud import MarketCloud
from laissez.sim.scenario import BatchTable, ClusterTable, InferenceTable, Scenario, TenantsTable, TrainingTable
from laissez.sim.simulation import Simulation
from laissez.sim.workloads.population import draw
from laissez.sim.workloads.spec import Planners
from laissez.tenants.units import HOUR_S, SECOND_US

SIZES: Final = ((100, 10), (1_000, 100), (10_000, 1_000))  # nodes and tenants
TIMES: Final = 1.7  # as large as in the default scenario: ten GPUs each, in the mean
ARRIVALS_S: Final = 120
SETTLED_S: Final = 240  # when time begins to be taken
MINUTES: Final = 2.0  # of virtual time that are measured
SEED: Final = 0
SIMULATOR: Final = "simulator"


class Row(msgspec.Struct):
    """`speed` is simulated over real seconds; requests (commands and questions) to the market are per real second; shares are of real time."""

    nodes: int
    tenants: int
    demand: float
    speed: float
    requests_per_second: float
    market_share: float
    adapter_share: float
    world_share: float

    @property
    def simulator_share(self) -> float:
        return 1 - self.market_share - self.adapter_share - self.world_share


def measure(sizes: Sequence[tuple[int, int]] = SIZES, minutes: float = MINUTES, step: Callable[[str], None] = lambda what: None) -> list[Row]:
    """One row for each number of nodes and of tenants."""
    rows = []
    for nodes, tenants in sizes:
        step(f"{nodes:,} nodes, {tenants:,} tenants")
        rows.append(_row(nodes, tenants, minutes))
    return rows


def scenario(nodes: int, tenants: int) -> Scenario:
    """Half H100, half A100."""
    inference, training, batch = InferenceTable(), TrainingTable(), BatchTable()
    return Scenario(
        name=f"{nodes} nodes",
        cluster=ClusterTable(gpus={"h100": nodes // 2, "a100": nodes - nodes // 2}),
        tenants=TenantsTable(count=tenants, arrivals_hours=ARRIVALS_S / HOUR_S),
        inference=msgspec.structs.replace(inference, engines=_larger(inference.engines)),
        training=msgspec.structs.replace(training, gpus=_larger(training.gpus)),
        batch=msgspec.structs.replace(batch, gpus=_larger(batch.gpus)),
    )


def _larger(sizes: tuple[float, float]) -> tuple[float, float]:
    low, high = sizes
    return low * TIMES, high * TIMES


def _row(nodes: int, tenants: int, minutes: float) -> Row:
    planners = Planners()
    drawn = draw(scenario(nodes, tenants), SEED, planners)
    simulation = Simulation(scenario(nodes, tenants), drawn, "market", SEED, planners)
    simulation.until = SETTLED_S * SECOND_US
    simulation.run()
    watch = Stopwatch()
    _attach(watch, simulation)
    before = simulation.cloud.requests
    watch.start()
    simulation.kernel.run(simulation.until + round(minutes * 60 * SECOND_US))
    spent = watch.stop()
    total = sum(spent.values())
    return Row(
        nodes=nodes,
        tenants=tenants,
        demand=drawn.demand,
        speed=minutes * 60 / total,
        requests_per_second=(simulation.cloud.requests - before) / total,
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
        """The same call, its time counted as that part's."""

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


def _attach(watch: Stopwatch, simulation: Simulation) -> None:
    cloud = simulation.cloud
    assert isinstance(cloud, MarketCloud)
    setattr(cloud, "market", TimedMarket(cloud.market, watch))  # noqa: B010 (it is no Market to a type checker)
    for tenant in simulation.tenants:
        _time(watch, "adapters", tenant.adapter, "decide", "watches")
        _time(watch, "worlds", tenant.world, "advance", "gain", "lose", "is_over")


def _time(watch: Stopwatch, part: str, of: object, *calls: str) -> None:
    for name in calls:
        setattr(of, name, watch.timed(part, getattr(of, name)))
