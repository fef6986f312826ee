"""Hypothetical questions to the planner: the speed of the best plan with nodes that could be
bought, or without nodes that could be lost.

Gain. One more GPU often adds nothing by itself, where four more would double the replicas. So a
node is worth its part of the bundle that adds most per node, and the job can buy its way there one
node at a time. A node in a host is planned there, a node anywhere above in a host of its own.

Loss. Nodes that the plan does not use are given up first. A used node is worth its part of the
bundle whose loss costs most per node, taken out of its own host first: where one GPU less costs
nothing four less may cost half, and then each of them is worth its share of that.

A job that is not topology-aware (for comparison) counts nodes as if they always came in full hosts,
and asks for them anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from laissez.market.commands import ALTERNATIVES_MAX
from laissez.tenants.cache import Cache
from laissez.tenants.hooks import Leaves, Wish
from laissez.tenants.paths import ancestors, is_below, tree_of, without
from laissez.tenants.sailor.hosts import HostLayout, HostSizes, resized, sizes_of
from laissez.tenants.sailor.iteration import Plan
from laissez.tenants.sailor.model import SailorError
from laissez.tenants.sailor.planner import Planner

BUNDLES: Final = (1, 2, 4, 8)
CACHED_MAX: Final = 4096


class HeldNodes:
    """Nodes held, counted by host, and the answers about them. A node that is not known to be in
    any host counts in `sizes` as alone in its own."""

    __slots__ = ("alternatives", "gains", "hosts", "losses", "sizes", "spare", "speed", "unused")

    def __init__(self, held: Leaves, layout: HostLayout) -> None:
        hosts = [(place, layout.host_of(place)) for place in held]
        self.hosts = Counter(host for _, host in hosts if host is not None)
        alone = [(tree_of(place), 1) for place, host in hosts if host is None]
        self.sizes = sizes_of(
            [*alone, *((tree_of(host), count) for host, count in self.hosts.items())]
        )
        # filled in by `WhatIf`
        self.speed = 0.0
        self.gains: dict[str, float] = {}
        self.losses: dict[str, float] = {}
        self.spare: dict[str, bool] = {}
        self.alternatives: Wish | None = None
        self.unused: Leaves | None = None


class WhatIf:
    """Speeds, in samples per second, for one job that may use the hardware below `scopes`."""

    def __init__(
        self,
        planner: Planner,
        scopes: Sequence[str],
        layout: HostLayout | None = None,
        *,
        topology_aware: bool = True,
    ) -> None:
        if not scopes or len(scopes) > ALTERNATIVES_MAX:
            raise SailorError(
                f"expected 1 to {ALTERNATIVES_MAX} scopes that the job can use, found {len(scopes)}"
            )
        known = planner.profile.times.keys()
        if unknown := sorted({tree_of(scope) for scope in scopes} - known):
            raise SailorError(
                "expected scopes of GPU types with a profile"
                f" ({', '.join(sorted(known))}), found {', '.join(unknown)}"
            )
        self.planner = planner
        self.scopes = tuple(scopes)
        self.layout = layout or HostLayout()
        self.topology_aware = topology_aware
        self._held: Cache[Leaves, HeldNodes] = Cache(CACHED_MAX, self._placed)
        self._speed_per_node: float | None = None

    def speed(self, held: Leaves) -> float:
        """The best plan's speed over `held`."""
        return self._held[held].speed

    def plan(self, held: Leaves) -> Plan | None:
        return self.planner.plan(self.layout.hosts(held))

    def unused(self, held: Leaves) -> Leaves:
        """The nodes that the best plan does not use: all of them if there is no plan."""
        here = self._held[held]
        if here.unused is None:
            plan = self.plan(held)
            here.unused = held if plan is None else plan.unused
        return here.unused

    def is_spare(self, node: str, held: Leaves) -> bool:
        """Whether the plan is the same with and without `node`."""
        here = self._held[held]
        if node not in here.spare:
            if node in held:
                here.spare[node] = node in self.unused(held)
            else:
                here.spare[node] = self._speed(self._with(node, 1, here)) <= self._speed(here.sizes)
        return here.spare[node]

    def gain(self, node: str, held: Leaves) -> float:
        """The speed that `node` adds to `held`, as its part of the most useful bundle."""
        here = self._held[held]
        if node not in here.gains:
            before = self._speed(here.sizes)
            gains = [(self._speed(self._with(node, n, here)) - before) / n for n in BUNDLES]
            here.gains[node] = max(0.0, *gains)
        return here.gains[node]

    def loss(self, node: str, held: Leaves) -> float:
        """The speed lost without `node`, one of `held`, as its part of the most costly bundle."""
        here = self._held[held]
        if node not in here.losses:
            here.losses[node] = self._loss(node, held)
        return here.losses[node]

    def alternatives(self, held: Leaves) -> Wish:
        """The places where one more node would do: hosts with room beside the nodes held, the
        scopes above them, then anywhere; deepest first."""
        here = self._held[held]
        if here.alternatives is None:
            here.alternatives = self._alternatives(here) if self.topology_aware else self.scopes
        return here.alternatives

    def speed_per_node(self) -> float:
        """The speed of a node in a full host of the fastest type."""
        if self._speed_per_node is None:
            size = self.layout.gpus_per_host
            trees = sorted({tree_of(scope) for scope in self.scopes})
            fastest = max(self.planner.speed(((tree, (size,)),)) for tree in trees)
            self._speed_per_node = fastest / size
        return self._speed_per_node

    def _placed(self, held: Leaves) -> HeldNodes:
        here = HeldNodes(held, self.layout)
        here.speed = self.planner.speed(here.sizes)
        return here

    def _loss(self, node: str, held: Leaves) -> float:
        spare = self.unused(held)
        if node in spare:
            return 0.0
        gone = Counter(spare)
        busy = tuple(leaf for leaf in held if not _take(gone, leaf))
        host = self.layout.host_of(node)
        # the rest of the bundle comes from its own host first
        near = sorted(without(busy, node), key=lambda leaf: self.layout.host_of(leaf) != host)
        here = self._held[busy]
        before = self._speed(here.sizes)
        lost = [
            (before - speed) / count for count, speed in self._speeds_without([node, *near], here)
        ]
        return max(0.0, *lost)

    def _speeds_without(self, going: Sequence[str], here: HeldNodes) -> Iterator[tuple[int, float]]:
        """The size of each bundle of the first nodes `going`, and the speed of the rest."""
        hosts, sizes = dict(here.hosts), here.sizes
        for count, leaf in enumerate(going[: max(BUNDLES)], 1):
            host = self.layout.host_of(leaf)
            size = 1 if host is None else hosts[host]
            sizes = resized(sizes, tree_of(leaf), size, size - 1)
            if host is not None:
                hosts[host] -= 1
            if count in BUNDLES:
                yield count, self._speed(sizes)

    def _alternatives(self, here: HeldNodes) -> Wish:
        near: Counter[str] = Counter()
        for host, count in here.hosts.items():
            if any(is_below(host, scope) for scope in self.scopes):
                has_room = count < self.layout.gpus_per_host
                above = ancestors(host) if has_room else ancestors(host)[:-1]
                near.update(dict.fromkeys(above, count))
        allowed = [
            place
            for place in near
            if place not in self.scopes and any(is_below(place, scope) for scope in self.scopes)
        ]
        allowed.sort(key=lambda place: (-place.count("/"), -near[place], place))
        return (*allowed[: ALTERNATIVES_MAX - len(self.scopes)], *self.scopes)

    def _speed(self, sizes: HostSizes) -> float:
        """The speed over these hosts, or over full ones if the job ignores the topology."""
        if not self.topology_aware:
            sizes = tuple((tree, self._full_hosts(sum(each))) for tree, each in sizes)
        return self.planner.speed(sizes)

    def _full_hosts(self, count: int) -> tuple[int, ...]:
        full, rest = divmod(count, self.layout.gpus_per_host)
        return (self.layout.gpus_per_host,) * full + ((rest,) if rest else ())

    def _with(self, node: str, count: int, here: HeldNodes) -> HostSizes:
        """The nodes held and up to `count` more at `node`, as far as there is room."""
        host, tree = self.layout.host_of(node), tree_of(node)
        if host is None or not self.topology_aware:
            return resized(here.sizes, tree, 0, 1, count)
        size = here.hosts.get(host, 0)
        room = max(0, self.layout.gpus_per_host - size)
        return resized(here.sizes, tree, size, size + min(count, room))


def _take(counts: Counter[str], leaf: str) -> bool:
    """Take a `leaf` out of `counts`, if there is one."""
    if counts[leaf] < 1:
        return False
    counts[leaf] -= 1
    return True
