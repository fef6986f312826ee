"""Which leaves are offline, and why. A leaf may be so for several reasons at once, and is back when
none is left."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from laissez.market import Topology
from laissez.sim.clouds.cloud import Cloud
from laissez.sim.kernel import Kernel, random_stream
from laissez.sim.scenario import FailuresTable
from laissez.units import HOUR_US


class Outages:
    """All that takes leaves offline in a run goes through here, so that a host's repair does not
    end a maintenance."""

    def __init__(self, cloud: Cloud, leaves: Iterable[str], reason: str) -> None:
        """`leaves` are offline in the cloud already, for that reason."""
        self._cloud = cloud
        self._reasons: dict[str, set[str]] = {leaf: {reason} for leaf in leaves}

    @property
    def offline(self) -> frozenset[str]:
        return frozenset(self._reasons)

    def begin(self, reason: str, leaf: str) -> None:
        if leaf in self._reasons:
            self._reasons[leaf].add(reason)
            return
        self._reasons[leaf] = {reason}
        self._cloud.take_offline(leaf)

    def end(self, reason: str, leaf: str) -> None:
        reasons = self._reasons.get(leaf, set())
        if reason in reasons:
            reasons.remove(reason)
            if not reasons:
                del self._reasons[leaf]
                self._cloud.bring_online(leaf)


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


def schedule_failures(
    table: FailuresTable, seed: int, topology: Topology, kernel: Kernel, outages: Outages
) -> None:
    """Let every host fail and be repaired by turns, as long as the run lasts."""
    for host, leaves in hosts(topology).items():
        _by_turns(table, seed, host, leaves, kernel, outages)


def _by_turns(
    table: FailuresTable, seed: int, host: str, leaves: list[str], kernel: Kernel, outages: Outages
) -> None:
    rng = random_stream(seed, "failures", host)

    def after(hours: float, action: Callable[[], None]) -> None:
        kernel.at(kernel.now + max(1, round(rng.expovariate(1 / hours) * HOUR_US)), action)

    def fail() -> None:
        for leaf in leaves:
            outages.begin(FAILED, leaf)
        after(table.repair_hours, repair)

    def repair() -> None:
        for leaf in leaves:
            outages.end(FAILED, leaf)
        after(table.mtbf_hours, fail)

    after(table.mtbf_hours, fail)
