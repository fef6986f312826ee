"""Some leaves, and where they are: how many in each host. What is found out about them is kept
beside them, so that it is looked up together."""

from __future__ import annotations

from laissez.tenants.hooks import Leaves, Wish
from laissez.tenants.paths import tree_of
from laissez.tenants.sailor.planner import HostSizes
from laissez.tenants.sailor.site import Site


class Layout:
    """`hosts` are the leaves per host; one that is not known to be in any host counts in `sizes` as
    alone in its own.

    The rest is the shadow planner's to fill in: the speed, and by node what it gains, what its loss
    takes and whether it is spare.
    """

    __slots__ = ("alternatives", "gains", "hosts", "losses", "sizes", "spare", "speed", "unused")

    def __init__(self, held: Leaves, site: Site) -> None:
        self.hosts: dict[str, int] = {}
        by_type: dict[str, list[int]] = {}
        for place in held:
            host = site.host_of(place)
            if host is None:
                by_type.setdefault(tree_of(place), []).append(1)
            else:
                self.hosts[host] = self.hosts.get(host, 0) + 1
        for host, count in self.hosts.items():
            by_type.setdefault(tree_of(host), []).append(count)
        self.sizes: HostSizes = tuple(
            (tree, tuple(sorted(by_type[tree], reverse=True))) for tree in sorted(by_type)
        )
        self.speed = 0.0
        self.gains: dict[str, float] = {}
        self.losses: dict[str, float] = {}
        self.spare: dict[str, bool] = {}
        self.alternatives: Wish | None = None
        self.unused: Leaves | None = None


def resized(sizes: HostSizes, tree: str, before: int, after: int, times: int = 1) -> HostSizes:
    """The same hosts, but `times` one of `tree` that had `before` GPUs has `after`: none is no
    host."""
    by_type = dict(sizes)
    each = list(by_type.get(tree, ()))
    for _ in range(times if before else 0):
        each.remove(before)
    if after:
        each += [after] * times
        each.sort(reverse=True)
    if each:
        by_type[tree] = tuple(each)
    else:
        by_type.pop(tree, None)
    return tuple(sorted(by_type.items()))
