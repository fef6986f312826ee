"""Hosts that fail, and are repaired. Each has a stream of random numbers of its own, so the same
hosts fail at the same instants in every cloud."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from laissez.market import Topology
from laissez.sim.chance import stream
from laissez.sim.kernel import Kernel
from laissez.sim.outages import Outages
from laissez.sim.scenario import FailuresTable
from laissez.units import HOUR_US

FAILED: Final = "failed"
HOST: Final = "host"


def hosts(topology: Topology) -> dict[str, list[str]]:
    """The leaves of each host. Where a tree has no level of that name, what is rented is the
    machine: every leaf fails by itself."""
    found: dict[str, list[str]] = {}
    for leaf in topology.leaves:
        has_hosts = HOST in topology.level_names(leaf.partition("/")[0])
        found.setdefault(topology.ancestor(leaf, HOST) if has_hosts else leaf, []).append(leaf)
    return found


def schedule(
    table: FailuresTable, seed: int, topology: Topology, kernel: Kernel, outages: Outages
) -> None:
    """Let every host fail and be repaired by turns, as long as the run lasts."""
    for host, leaves in hosts(topology).items():
        _by_turns(table, seed, host, leaves, kernel, outages)


def _by_turns(
    table: FailuresTable, seed: int, host: str, leaves: list[str], kernel: Kernel, outages: Outages
) -> None:
    chance = stream(seed, "failures", host)

    def after(hours: float, action: Callable[[], None]) -> None:
        kernel.at(kernel.now + max(1, round(chance.expovariate(1 / hours) * HOUR_US)), action)

    def fail() -> None:
        for leaf in leaves:
            outages.begin(FAILED, leaf)
        after(table.repair_hours, repair)

    def repair() -> None:
        for leaf in leaves:
            outages.end(FAILED, leaf)
        after(table.mtbf_hours, fail)

    after(table.mtbf_hours, fail)
