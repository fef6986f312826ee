"""How a cluster is laid out, as far as a training job must know: which leaves share a host, and how
many a host has.

A path by itself does not say whether it is a leaf or a scope with something below it, so the site
knows how many words a leaf has. Its parent is its host, one NVLink domain. A scope stands for some
leaf below it: if it is a host, in that host; if it is anything higher, in a host of its own.
"""

from __future__ import annotations

import msgspec

from laissez.tenants.hooks import Leaves
from laissez.tenants.paths import parent_of, tree_of
from laissez.tenants.sailor.errors import SailorError
from laissez.tenants.sailor.placing import Hosts


class Site(msgspec.Struct, frozen=True, gc=False):
    """`leaf_words` of `h100/zone-a/row1/rack07/host3/gpu5` are 6."""

    leaf_words: int = 6
    gpus_per_host: int = 8

    def __post_init__(self) -> None:
        if self.leaf_words < 3 or self.gpus_per_host < 1:
            raise SailorError(
                "expected leaves of 3 words or more and a GPU or more per host, found"
                f" {self.leaf_words} and {self.gpus_per_host}"
            )

    def host_of(self, place: str) -> str | None:
        """The host of a leaf or a host; `None` if `place` is higher than a host."""
        words = place.count("/") + 1
        if words > self.leaf_words:
            raise SailorError(
                f"expected a path of at most {self.leaf_words} words (leaf_words of the site),"
                f" found {place}"
            )
        if words == self.leaf_words:
            return parent_of(place)
        return place if words == self.leaf_words - 1 else None

    def hosts(self, held: Leaves) -> Hosts:
        """Where `held` are. A scope keeps its name as if it were a leaf; when it occurs more than
        once, each time stands for another leaf."""
        found: dict[tuple[str, str], list[str]] = {}
        for at, place in enumerate(held):
            found.setdefault((tree_of(place), self.host_of(place) or f"{place}#{at}"), []).append(
                place
            )
        return {key: tuple(places) for key, places in found.items()}
