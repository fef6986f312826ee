"""The hosts of leaves and their sizes: all that a training job must know of the cluster.

A path by itself does not say whether it is a leaf or a scope with nodes below it, so `HostLayout`
knows how many words a leaf has. Its parent is its host, one NVLink domain. A scope stands for some
leaf below it: in that host if it is a host, in a host of its own if it is anything higher.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, TypeAlias

from msgspec import Meta

from laissez.tenants.hooks import Leaves
from laissez.tenants.inputs import Count
from laissez.tenants.paths import parent_of, tree_of
from laissez.tenants.sailor.model import SailorError, SailorInput

Hosts: TypeAlias = Mapping[tuple[str, str], tuple[str, ...]]  # leaves by GPU type and host
HostSizes: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]  # GPUs per host by type, descending


class HostLayout(SailorInput, frozen=True, gc=False):
    """`leaf_words` of `h100/zone-a/row1/rack07/host3/gpu5` are 6."""

    leaf_words: Annotated[int, Meta(ge=3)] = 6
    gpus_per_host: Count = 8

    def host_of(self, place: str) -> str | None:
        """The host of a leaf or a host; `None` if `place` is higher than a host."""
        words = place.count("/") + 1
        if words > self.leaf_words:
            raise SailorError(
                f"expected a path of at most {self.leaf_words} words (leaf_words), found {place}"
            )
        if words == self.leaf_words:
            return parent_of(place)
        return place if words == self.leaf_words - 1 else None

    def hosts(self, held: Leaves) -> Hosts:
        """The leaves of each host. A scope keeps its name as if it were a leaf; if it occurs more
        than once, each occurrence stands for another leaf."""
        found: dict[tuple[str, str], list[str]] = {}
        for at, place in enumerate(held):
            key = (tree_of(place), self.host_of(place) or f"{place}#{at}")
            found.setdefault(key, []).append(place)
        return {key: tuple(places) for key, places in found.items()}


def host_sizes(hosts: Hosts) -> HostSizes:
    return sizes_of((gpu, len(leaves)) for (gpu, _), leaves in hosts.items())


def sizes_of(counts: Iterable[tuple[str, int]]) -> HostSizes:
    """Sizes of hosts, from the type and the number of GPUs of each."""
    by_type: dict[str, list[int]] = {}
    for gpu, count in counts:
        by_type.setdefault(gpu, []).append(count)
    return tuple((gpu, tuple(sorted(by_type[gpu], reverse=True))) for gpu in sorted(by_type))


def resized(sizes: HostSizes, tree: str, before: int, after: int, times: int = 1) -> HostSizes:
    """The same hosts, except that `times` hosts of `tree` have `after` GPUs instead of `before`. A
    host with 0 GPUs does not count."""
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
