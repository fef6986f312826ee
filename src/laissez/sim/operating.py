"""The operator in a run: what it does at set times, and what its maps decide.

Floors and controls are the market's; leaves go offline in any cloud.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from laissez.market import Band, BringOnline, SetControls, SetFloor, TakeOffline, Topology
from laissez.operators import Memory, Operator, OperatorView, Places, read_maps
from laissez.sim import scenario as tables
from laissez.sim.clouds.cloud import Cloud
from laissez.sim.clouds.market_cloud import MarketCloud
from laissez.sim.errors import ScenarioError
from laissez.sim.kernel import Kernel
from laissez.sim.outages import Outages
from laissez.tenants.units import MICRO, SECOND_US

OPERATOR: Final = "operator"  # why a leaf is offline: by the operator's hand
MAPS: Final = "maps"  # or by a maintenance window of its maps
MINUTE_US: Final = 60 * SECOND_US
PPM: Final = 1_000_000


def set_controls(node: str, table: tables.MarketTable) -> SetControls:
    """A hold or a fee of 0 seconds is none."""
    hold, flash = (_us(seconds) if seconds else None for seconds in (table.hold_seconds, table.flash_seconds))
    return SetControls(node, _band(table.rise), _band(table.fall), hold, flash)


def schedule(actions: tuple[tables.ActionTable, ...], kernel: Kernel, cloud: Cloud, outages: Outages) -> None:
    """Let every action happen at its time; those of one instant in the order in which they are written."""
    for at, action in enumerate(actions):
        kernel.at(round(action.at_minutes * MINUTE_US), _action(f"actions[{at}]", action, cloud, outages))


def _action(place: str, action: tables.ActionTable, cloud: Cloud, outages: Outages) -> Callable[[], None]:
    topology = cloud.cluster.topology
    if action.floor is not None:
        node = _known(topology, action.floor.node, f"{place}.floor.node")
        return _priced(cloud, SetFloor(node, round(action.floor.price * MICRO)))
    if action.controls is not None:
        return _priced(cloud, set_controls(_known(topology, action.controls.node, f"{place}.controls.node"), action.controls))
    if action.offline is not None:
        return _for_each(outages.begin, _below(topology, action.offline, f"{place}.offline"))
    return _for_each(outages.end, _below(topology, action.online or "", f"{place}.online"))


def _for_each(act: Callable[[str, str], None], leaves: tuple[str, ...]) -> Callable[[], None]:
    def act_on_all() -> None:
        for leaf in leaves:
            act(OPERATOR, leaf)

    return act_on_all


def _priced(cloud: Cloud, command: SetFloor | SetControls) -> Callable[[], None]:
    """Other clouds than the market have one price, and it stays."""

    def act() -> None:
        if isinstance(cloud, MarketCloud):
            cloud.operate(command)

    return act


def _known(topology: Topology, node: str, place: str) -> str:
    if node not in topology:
        raise ScenarioError(f"{place}: expected a node of the cluster, such as {topology.nodes[-1]!r}, found {node!r}")
    return node


def _below(topology: Topology, node: str, place: str) -> tuple[str, ...]:
    first, end = topology.leaf_range(_known(topology, node, place))
    return topology.leaves[first:end]


class Maps:
    """The operator's maps, deciding every `pace_us` on what the market is and what their sources read at the run's own time."""

    def __init__(self, operator: Operator, pace_us: int, kernel: Kernel, cloud: MarketCloud, outages: Outages) -> None:
        self._operator, self._pace_us, self._kernel, self._cloud, self._outages = operator, pace_us, kernel, cloud, outages
        self._places = Places(cloud.cluster.topology.leaves)
        self._memory = Memory()

    def turn(self) -> None:
        decision = self._operator.decide(self._view())
        self._memory = decision.memory
        for command in decision.commands:
            match command:
                case TakeOffline(leaf):
                    self._outages.begin(MAPS, leaf)
                case BringOnline(leaf):
                    self._outages.end(MAPS, leaf)
                case _:
                    self._cloud.operate(command)
        self._kernel.at(self._kernel.now + self._pace_us, self.turn)

    def _view(self) -> OperatorView:
        market, now = self._cloud.market, self._cloud.market_time
        return OperatorView(
            now=now,
            places=self._places,
            floors={one.node: one.own for one in market.floors()},
            controls={one.node: one for one in market.controls()},
            leased=frozenset(one.leaf for one in market.leases()),
            offline=self._outages.offline,
            readings=self._operator.read(now),
            memory=self._memory,
        )


def read_operator(path: str) -> Operator:
    """Read anew for every run: a trace begins when it is first read. A source that asks somebody else now knows nothing of the run's time."""
    operator = read_maps(Path(path))
    for name, source in operator.sources.items():
        if source.is_remote:
            raise ScenarioError(f"maps: {path}: signals.{name}.source: expected csv or python in a simulation, found one that asks a server")
    return operator


def _band(band: tables.Band | None) -> Band | None:
    return None if band is None else Band(round(band.share * PPM), _us(band.seconds))


def _us(seconds: float) -> int:
    """At least a microsecond: the market knows no shorter time."""
    return max(1, round(seconds * SECOND_US))
