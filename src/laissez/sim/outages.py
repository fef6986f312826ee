"""Leaves that go offline during a run, for one or several reasons, and hosts that fail."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from laissez.market import Topology
from laissez.sim.clouds.cloud import Cloud
from laissez.sim.kernel import Kernel, random_stream
from laissez.sim.scenario import FailuresTable
from laissez.units import HOUR_US

FAILED: Final = "failed"
HOST: Final = "host"


class Outages:
    """The single place that takes leaves offline. A leaf comes back when no reason is left: the
    repair of a host does not end its maintenance."""

    def __init__(self, cloud: Cloud, leaves: Iterable[str], reason: str) -> None:
        """`leaves` are already offline in the cloud, for `reason`."""
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
        if reason not in reasons:
            return
        reasons.remove(reason)
        if not reasons:
            del self._reasons[leaf]
            self._cloud.bring_online(leaf)


def schedule_failures(
    table: FailuresTable, seed: int, topology: Topology, kernel: Kernel, outages: Outages
) -> None:
    """Let every host fail and be repaired, again and again. Hosts have random streams of their own,
    so the same hosts fail at the same times in every cloud."""
    for host, leaves in hosts(topology).items():
        _schedule_host(table, seed, host, leaves, kernel, outages)


def _schedule_host(
    table: FailuresTable, seed: int, host: str, leaves: list[str], kernel: Kernel, outages: Outages
) -> None:
    rng = random_stream(seed, "failures", host)

    def drawn_us(mean_hours: float) -> int:
        return max(1, round(rng.expovariate(1 / mean_hours) * HOUR_US))

    def fail() -> None:
        for leaf in leaves:
            outages.begin(FAILED, leaf)
        kernel.after(drawn_us(table.repair_hours), repair)

    def repair() -> None:
        for leaf in leaves:
            outages.end(FAILED, leaf)
        kernel.after(drawn_us(table.mtbf_hours), fail)

    kernel.after(drawn_us(table.mtbf_hours), fail)


def hosts(topology: Topology) -> dict[str, list[str]]:
    """The leaves of each host. In a tree without a level of that name, every leaf is a host."""
    found: dict[str, list[str]] = {}
    for leaf in topology.leaves:
        has_hosts = HOST in topology.level_names(leaf.partition("/")[0])
        found.setdefault(topology.ancestor(leaf, HOST) if has_hosts else leaf, []).append(leaf)
    return found
