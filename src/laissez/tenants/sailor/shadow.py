"""The shadow planner: what the best plan would be with hardware that could be bought, or without hardware that could be lost.

Gain. One more GPU often adds nothing by itself, where four more would double the replicas. So a node is worth its part of the bundle that adds most
per node, and the job can buy its way there one node at a time. A node in a host is planned there, a node anywhere above in a host of its own.

Loss. What the plan does not use is given up first. A node that is used is worth its part of what is lost with the bundle, out of its host first,
whose loss costs most per node: where one GPU less costs nothing four less may cost half, and then each of them is worth its share of that.

A job that is not topology-aware (for comparison) counts nodes as if they always came in full hosts, and asks for them anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from laissez.market.commands import ALTERNATIVES_MAX
from laissez.tenants.hooks import Leaves, Wish
from laissez.tenants.paths import ancestors, is_below, tree_of, without
from laissez.tenants.sailor.errors import SailorError
from laissez.tenants.sailor.iteration import Plan
from laissez.tenants.sailor.memo import Memo
from laissez.tenants.sailor.planner import HostSizes, Planner, host_sizes
from laissez.tenants.sailor.site import Site

BUNDLES: Final = (1, 2, 4, 8)
REMEMBERED_MAX: Final = 4096


class Shadow:
    """Speeds (samples per second) for one job that may use the hardware below `scopes`."""

    def __init__(self, planner: Planner, scopes: Sequence[str], site: Site | None = None, *, topology_aware: bool = True) -> None:
        if not scopes or len(scopes) > ALTERNATIVES_MAX:
            raise SailorError(f"expected 1 to {ALTERNATIVES_MAX} scopes that the job can use, found {len(scopes)}")
        unknown = sorted({tree_of(scope) for scope in scopes} - planner.profile.times.keys())
        if unknown:
            raise SailorError(f"expected scopes of GPU types with a profile ({', '.join(sorted(planner.profile.times))}), found {', '.join(unknown)}")
        self.planner = planner
        self.scopes = tuple(scopes)
        self.site = site or Site()
        self.topology_aware = topology_aware
        self._plans: Memo[Leaves, Plan | None] = Memo(REMEMBERED_MAX)
        self._speeds: Memo[Leaves, float] = Memo(REMEMBERED_MAX)
        self._gains: Memo[tuple[str, Leaves], float] = Memo(REMEMBERED_MAX)
        self._losses: Memo[tuple[str, Leaves], float] = Memo(REMEMBERED_MAX)

    def speed(self, held: Leaves) -> float:
        """The best plan's speed over `held`, where they are."""
        return self._speeds.get(held, lambda: self.planner.speed(host_sizes(self.site.hosts(held))))

    def plan(self, held: Leaves) -> Plan | None:
        return self._plans.get(held, lambda: self.planner.plan(self.site.hosts(held)))

    def unused(self, held: Leaves) -> Leaves:
        """What the best plan leaves over: all of it where there is no plan."""
        plan = self.plan(held)
        return held if plan is None else plan.unused

    def is_spare(self, node: str, held: Leaves) -> bool:
        """Whether the plan is the same with and without `node`."""
        if node in held:
            return node in self.unused(held)
        return self.planner.speed(self._with(node, 1, held)) <= self._valued(held)

    def gain(self, node: str, held: Leaves) -> float:
        """What one `node` adds to `held`, as its part of the most useful bundle."""
        return self._gains.get((node, held), lambda: self._gain(node, held))

    def loss(self, node: str, held: Leaves) -> float:
        """What is lost without `node`, one of `held`, as its part of the most costly bundle."""
        return self._losses.get((node, held), lambda: self._loss(node, held))

    def alternatives(self, held: Leaves) -> Wish:
        """Where one more node would do: hosts that have room beside what is held, what is above them, then anywhere; deepest first."""
        if not self.topology_aware:
            return self.scopes
        hosts = Counter(host for leaf in held if (host := self.site.host_of(leaf)) and any(is_below(host, scope) for scope in self.scopes))
        near: Counter[str] = Counter()
        for host, count in hosts.items():
            above = ancestors(host)
            near.update(dict.fromkeys(above if count < self.site.gpus_per_host else above[:-1], count))
        allowed = [place for place in near if place not in self.scopes and any(is_below(place, scope) for scope in self.scopes)]
        allowed.sort(key=lambda place: (-place.count("/"), -near[place], place))
        return (*allowed[: ALTERNATIVES_MAX - len(self.scopes)], *self.scopes)

    def speed_per_node(self) -> float:
        """What a node adds in a full host of the fastest type."""
        return (
            max(self.planner.speed(((tree, (self.site.gpus_per_host,)),)) for tree in sorted({tree_of(scope) for scope in self.scopes}))
            / self.site.gpus_per_host
        )

    def _gain(self, node: str, held: Leaves) -> float:
        before = self._valued(held)
        return max(0.0, *((self.planner.speed(self._with(node, count, held)) - before) / count for count in BUNDLES))

    def _loss(self, node: str, held: Leaves) -> float:
        spare = self.unused(held)
        if node in spare:
            return 0.0
        gone = Counter(spare)
        busy = tuple(leaf for leaf in held if not _take(gone, leaf))
        host, others = self.site.host_of(node), without(busy, node)
        near = sorted(others, key=lambda leaf: self.site.host_of(leaf) != host)  # what goes with it, its own host first
        before = self._valued(busy)
        bundles = [count for count in BUNDLES if count <= len(busy)]
        return max(0.0, *((before - self._valued(tuple(sorted(near[count - 1 :])))) / count for count in bundles))

    def _valued(self, held: Leaves) -> float:
        return self.speed(held) if self.topology_aware else self.planner.speed(self._packed(held))

    def _with(self, node: str, count: int, held: Leaves) -> HostSizes:
        """`held` and `count` more at `node`, as far as there is room."""
        if not self.topology_aware:
            return self._packed(held + (node,) * count)
        host = self.site.host_of(node)
        if host is None:
            return host_sizes(self.site.hosts(held + (node,) * count))
        room = self.site.gpus_per_host - sum(self.site.host_of(leaf) == host for leaf in held)
        return host_sizes(self.site.hosts(held + (host,) * min(count, max(0, room))))

    def _packed(self, held: Leaves) -> HostSizes:
        return tuple((tree, self._full_hosts(count)) for tree, count in sorted(Counter(map(tree_of, held)).items()))

    def _full_hosts(self, count: int) -> tuple[int, ...]:
        full, rest = divmod(count, self.site.gpus_per_host)
        return (self.site.gpus_per_host,) * full + ((rest,) if rest else ())


def _take(counts: Counter[str], leaf: str) -> bool:
    """Whether there was still a `leaf` in `counts`; it is taken out."""
    if counts[leaf] < 1:
        return False
    counts[leaf] -= 1
    return True
