"""The shadow planner: what the best plan would be with hardware that could be bought, or without
hardware that could be lost.

Gain. One more GPU often adds nothing by itself, where four more would double the replicas. So a
node is worth its part of the bundle that adds most per node, and the job can buy its way there one
node at a time. A node in a host is planned there, a node anywhere above in a host of its own.

Loss. What the plan does not use is given up first. A node that is used is worth its part of what is
lost with the bundle, out of its host first, whose loss costs most per node: where one GPU less
costs nothing four less may cost half, and then each of them is worth its share of that.

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
from laissez.tenants.sailor.errors import SailorError
from laissez.tenants.sailor.iteration import Plan
from laissez.tenants.sailor.layout import Layout, resized
from laissez.tenants.sailor.planner import HostSizes, Planner
from laissez.tenants.sailor.site import Site

BUNDLES: Final = (1, 2, 4, 8)
REMEMBERED_MAX: Final = 4096


class Shadow:
    """Speeds (samples per second) for one job that may use the hardware below `scopes`."""

    def __init__(
        self,
        planner: Planner,
        scopes: Sequence[str],
        site: Site | None = None,
        *,
        topology_aware: bool = True,
    ) -> None:
        if not scopes or len(scopes) > ALTERNATIVES_MAX:
            raise SailorError(
                f"expected 1 to {ALTERNATIVES_MAX} scopes that the job can use, found {len(scopes)}"
            )
        unknown = sorted({tree_of(scope) for scope in scopes} - planner.profile.times.keys())
        if unknown:
            raise SailorError(
                "expected scopes of GPU types with a profile"
                f" ({', '.join(sorted(planner.profile.times))}), found {', '.join(unknown)}"
            )
        self.planner = planner
        self.scopes = tuple(scopes)
        self.site = site or Site()
        self.topology_aware = topology_aware
        self._layouts: Cache[Leaves, Layout] = Cache(REMEMBERED_MAX, self._lay_out)
        self._speed_per_node: float | None = None

    def speed(self, held: Leaves) -> float:
        """The best plan's speed over `held`, where they are."""
        return self._layouts[held].speed

    def plan(self, held: Leaves) -> Plan | None:
        return self.planner.plan(self.site.hosts(held))

    def unused(self, held: Leaves) -> Leaves:
        """What the best plan leaves over: all of it where there is no plan."""
        here = self._layouts[held]
        if here.unused is None:
            plan = self.plan(held)
            here.unused = held if plan is None else plan.unused
        return here.unused

    def is_spare(self, node: str, held: Leaves) -> bool:
        """Whether the plan is the same with and without `node`."""
        here = self._layouts[held]
        if node not in here.spare:
            here.spare[node] = (
                node in self.unused(held)
                if node in held
                else self._valued(self._with(node, 1, here)) <= self._valued(here.sizes)
            )
        return here.spare[node]

    def gain(self, node: str, held: Leaves) -> float:
        """What one `node` adds to `held`, as its part of the most useful bundle."""
        here = self._layouts[held]
        if node not in here.gains:
            here.gains[node] = self._gain(node, here)
        return here.gains[node]

    def loss(self, node: str, held: Leaves) -> float:
        """What is lost without `node`, one of `held`, as its part of the most costly bundle."""
        here = self._layouts[held]
        if node not in here.losses:
            here.losses[node] = self._loss(node, held)
        return here.losses[node]

    def alternatives(self, held: Leaves) -> Wish:
        """Where one more node would do: hosts that have room beside what is held, what is above
        them, then anywhere; deepest first."""
        here = self._layouts[held]
        if here.alternatives is None:
            here.alternatives = self._alternatives(here) if self.topology_aware else self.scopes
        return here.alternatives

    def speed_per_node(self) -> float:
        """What a node adds in a full host of the fastest type."""
        if self._speed_per_node is None:
            trees = sorted({tree_of(scope) for scope in self.scopes})
            fastest = max(
                self.planner.speed(((tree, (self.site.gpus_per_host,)),)) for tree in trees
            )
            self._speed_per_node = fastest / self.site.gpus_per_host
        return self._speed_per_node

    def _lay_out(self, held: Leaves) -> Layout:
        here = Layout(held, self.site)
        here.speed = self.planner.speed(here.sizes)
        return here

    def _gain(self, node: str, here: Layout) -> float:
        before = self._valued(here.sizes)
        return max(
            0.0,
            *((self._valued(self._with(node, count, here)) - before) / count for count in BUNDLES),
        )

    def _loss(self, node: str, held: Leaves) -> float:
        spare = self.unused(held)
        if node in spare:
            return 0.0
        gone = Counter(spare)
        busy = tuple(leaf for leaf in held if not _take(gone, leaf))
        host = self.site.host_of(node)
        # what goes with it, its own host first
        near = sorted(without(busy, node), key=lambda leaf: self.site.host_of(leaf) != host)
        before, after = (
            self._valued(self._layouts[busy].sizes),
            self._without([node, *near], self._layouts[busy]),
        )
        return max(0.0, *((before - speed) / count for count, speed in after))

    def _without(self, going: Sequence[str], here: Layout) -> Iterator[tuple[int, float]]:
        """For each bundle of the first that are `going`, the speed of what is left."""
        hosts, sizes = dict(here.hosts), here.sizes
        for count, leaf in enumerate(going[: max(BUNDLES)], 1):
            host = self.site.host_of(leaf)
            size = 1 if host is None else hosts[host]
            sizes = resized(sizes, tree_of(leaf), size, size - 1)
            if host is not None:
                hosts[host] -= 1
            if count in BUNDLES:
                yield count, self._valued(sizes)

    def _alternatives(self, here: Layout) -> Wish:
        near: Counter[str] = Counter()
        for host, count in here.hosts.items():
            if any(is_below(host, scope) for scope in self.scopes):
                above = ancestors(host)
                near.update(
                    dict.fromkeys(above if count < self.site.gpus_per_host else above[:-1], count)
                )
        allowed = [
            place
            for place in near
            if place not in self.scopes and any(is_below(place, scope) for scope in self.scopes)
        ]
        allowed.sort(key=lambda place: (-place.count("/"), -near[place], place))
        return (*allowed[: ALTERNATIVES_MAX - len(self.scopes)], *self.scopes)

    def _valued(self, sizes: HostSizes) -> float:
        return self.planner.speed(sizes if self.topology_aware else self._packed(sizes))

    def _with(self, node: str, count: int, here: Layout) -> HostSizes:
        """What is there and `count` more at `node`, as far as there is room."""
        host = self.site.host_of(node)
        if host is None or not self.topology_aware:
            return resized(here.sizes, tree_of(node), 0, 1, count)
        size = here.hosts.get(host, 0)
        return resized(
            here.sizes,
            tree_of(node),
            size,
            size + min(count, max(0, self.site.gpus_per_host - size)),
        )

    def _packed(self, sizes: HostSizes) -> HostSizes:
        return tuple((tree, self._full_hosts(sum(each))) for tree, each in sizes)

    def _full_hosts(self, count: int) -> tuple[int, ...]:
        full, rest = divmod(count, self.site.gpus_per_host)
        return (self.site.gpus_per_host,) * full + ((rest,) if rest else ())


def _take(counts: Counter[str], leaf: str) -> bool:
    """Whether there was still a `leaf` in `counts`; it is taken out."""
    if counts[leaf] < 1:
        return False
    counts[leaf] -= 1
    return True
