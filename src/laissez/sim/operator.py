"""The operator in a run: what it does at set times, and what its maps decide.

Floors and controls are the market's; leaves go offline in any cloud.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from laissez.market import Band, BringOnline, SetControls, SetFloor, TakeOffline, Topology
from laissez.operators import Memory, Operator, OperatorError, OperatorView, Places, read_maps
from laissez.sim import scenario as tables
from laissez.sim.clouds.cloud import Cloud
from laissez.sim.clouds.market_cloud import MarketCloud
from laissez.sim.kernel import Kernel
from laissez.sim.outages import Outages
from laissez.sim.scenario import ScenarioError
from laissez.units import MICRO_PER_DOLLAR, SECOND_US

OPERATOR: Final = "operator"  # why a leaf is offline: by the operator's hand
MAPS: Final = "maps"  # or by a maintenance window of its maps
MINUTE_US: Final = 60 * SECOND_US
PPM: Final = 1_000_000


def set_controls(node: str, table: tables.MarketTable) -> SetControls:
    """A hold or a fee of 0 seconds is none."""
    hold, flash = (
        _us(seconds) if seconds else None for seconds in (table.hold_seconds, table.flash_seconds)
    )
    return SetControls(node, _band(table.rise), _band(table.fall), hold, flash)


def check_operator(scenario: tables.Scenario, topology: Topology) -> None:
    """Refuse what could not be done in the run, before anything runs and whatever the cloud: nodes
    that are not there, maps that cannot be read."""
    for at, action in enumerate(scenario.actions):
        _node(topology, f"actions[{at}]", action)
    if scenario.maps is not None:
        read_operator(scenario.maps).close()


def schedule_actions(
    actions: tuple[tables.ActionTable, ...], kernel: Kernel, cloud: Cloud, outages: Outages
) -> None:
    """Let every action happen at its time; those of one instant in the order in which they are
    written."""
    for at, action in enumerate(actions):
        kernel.at(
            round(action.at_minutes * MINUTE_US), _action(f"actions[{at}]", action, cloud, outages)
        )


def _action(
    place: str, action: tables.ActionTable, cloud: Cloud, outages: Outages
) -> Callable[[], None]:
    topology = cloud.cluster.topology
    node = _node(topology, place, action)
    if action.floor is not None:
        return _priced(cloud, SetFloor(node, round(action.floor.price * MICRO_PER_DOLLAR)))
    if action.controls is not None:
        return _priced(cloud, set_controls(node, action.controls))
    first, end = topology.leaf_range(node)
    return _for_each(
        outages.end if action.offline is None else outages.begin, topology.leaves[first:end]
    )


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


def _node(topology: Topology, place: str, action: tables.ActionTable) -> str:
    """The node that it is about."""
    if action.floor is not None:
        field, node = "floor.node", action.floor.node
    elif action.controls is not None:
        field, node = "controls.node", action.controls.node
    else:
        field, node = (
            ("online", action.online or "")
            if action.offline is None
            else ("offline", action.offline)
        )
    if node not in topology:
        raise ScenarioError(
            f"{place}.{field}: expected a node of the cluster, such as {topology.nodes[-1]!r},"
            f" found {node!r}"
        )
    return node


class Maps:
    """The operator's maps, deciding every `pace_us` on what the market is and what their sources
    read at the run's own time."""

    def __init__(
        self, operator: Operator, pace_us: int, kernel: Kernel, cloud: MarketCloud, outages: Outages
    ) -> None:
        self._operator, self._pace_us, self._kernel, self._cloud, self._outages = (
            operator,
            pace_us,
            kernel,
            cloud,
            outages,
        )
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
    """Read anew for every run: a trace begins when it is first read. A source that asks somebody
    else now knows nothing of the run's time."""
    try:
        operator = read_maps(Path(path))
    except OperatorError as error:
        raise ScenarioError(
            "\n".join(f"maps: {mistake}" for mistake in str(error).splitlines())
        ) from None
    for name, source in operator.sources.items():
        if source.is_remote:
            raise ScenarioError(
                f"maps: {path}: signals.{name}.source: expected csv or python in a simulation,"
                " found one that asks a server"
            )
    return operator


def _band(band: tables.Band | None) -> Band | None:
    return None if band is None else Band(round(band.share * PPM), _us(band.seconds))


def _us(seconds: float) -> int:
    """At least a microsecond: the market knows no shorter time."""
    return max(1, round(seconds * SECOND_US))
