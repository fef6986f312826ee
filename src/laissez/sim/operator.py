"""The operator during a run: actions at set times, and the decisions of its maps.

Floors and controls exist in the market alone; leaves go offline in any cloud.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from laissez.market import BringOnline, SetControls, SetFloor, TakeOffline, Topology
from laissez.operators import (
    Controls,
    LeafIndex,
    Memory,
    Move,
    Operator,
    OperatorError,
    OperatorView,
    read_maps,
)
from laissez.sim import scenario as tables
from laissez.sim.clouds.cloud import Cloud
from laissez.sim.clouds.market_cloud import MarketCloud
from laissez.sim.kernel import Kernel
from laissez.sim.outages import Outages
from laissez.sim.scenario import ScenarioError
from laissez.units import MICRO_PER_DOLLAR, SECOND_US

# why a leaf is offline
OPERATOR: Final = "operator"
MAPS: Final = "maps"
MINUTE_US: Final = 60 * SECOND_US


def check_operator(scenario: tables.Scenario, topology: Topology) -> None:
    """Refuse unknown nodes and unreadable maps before anything runs, whatever the cloud."""
    _check_nodes(scenario.actions, topology)
    if scenario.maps is not None:
        read_operator(scenario.maps).close()


def _check_nodes(actions: tuple[tables.ActionTable, ...], topology: Topology) -> None:
    for at, action in enumerate(actions):
        field, node = action.target
        if node not in topology:
            raise ScenarioError(
                f"actions[{at}].{field}: expected a node of the cluster, such as"
                f" {topology.nodes[-1]!r}, found {node!r}"
            )


def schedule_actions(
    actions: tuple[tables.ActionTable, ...], kernel: Kernel, cloud: Cloud, outages: Outages
) -> None:
    _check_nodes(actions, cloud.cluster.topology)
    for action in actions:
        kernel.at(round(action.at_minutes * MINUTE_US), partial(_act, action, cloud, outages))


def _act(action: tables.ActionTable, cloud: Cloud, outages: Outages) -> None:
    field, node = action.target
    if field in ("online", "offline"):
        first, end = cloud.cluster.topology.leaf_range(node)
        for leaf in cloud.cluster.topology.leaves[first:end]:
            (outages.begin if field == "offline" else outages.end)(OPERATOR, leaf)
    elif isinstance(cloud, MarketCloud):
        if action.floor is not None:
            cloud.operate(SetFloor(node, round(action.floor.price * MICRO_PER_DOLLAR)))
        if action.controls is not None:
            cloud.operate(set_controls(node, action.controls))


def set_controls(node: str, table: tables.MarketTable) -> SetControls:
    """The command for a table of controls. 0 seconds mean no hold and no fee."""
    return Controls(
        node=node,
        rise=_move(table.rise),
        fall=_move(table.fall),
        hold_s=table.hold_seconds or None,
        flash_s=table.flash_seconds or None,
    ).command()


class Maps:
    """The operator's maps decide every `pace_us`. Sources are read at the virtual time."""

    def __init__(
        self, operator: Operator, pace_us: int, kernel: Kernel, cloud: MarketCloud, outages: Outages
    ) -> None:
        self._operator, self._pace_us = operator, pace_us
        self._kernel, self._cloud, self._outages = kernel, cloud, outages
        self._leaves = LeafIndex(cloud.cluster.topology.leaves)
        self._memory = Memory()

    def step(self) -> None:
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
        self._kernel.after(self._pace_us, self.step)

    def _view(self) -> OperatorView:
        market, now = self._cloud.market, self._cloud.market_time
        return OperatorView(
            now=now,
            leaves=self._leaves,
            floors={one.node: one.own for one in market.floors()},
            controls={one.node: one for one in market.controls()},
            leased=frozenset(one.leaf for one in market.leases()),
            offline=self._outages.offline,
            readings=self._operator.read(now),
            memory=self._memory,
        )


def read_operator(path: str) -> Operator:
    """Read the maps. Every run does, because a trace starts when it is first read. Sources that ask
    a server are refused: they know nothing of virtual time."""
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


def _move(band: tables.Band | None) -> Move | None:
    return None if band is None else Move(fraction=band.share, every_s=band.seconds)
