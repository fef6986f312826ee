"""The resources as the operator sees them: every leaf, and which ones lie below a node."""

from __future__ import annotations

from collections.abc import Iterable


def path_of(node: str) -> tuple[str, ...]:
    """From the root down to the node itself."""
    words = node.split("/")
    return tuple("/".join(words[: depth + 1]) for depth in range(len(words)))


def is_below(leaf: str, node: str) -> bool:
    """Whether `leaf` is `node` or lies below it."""
    return leaf == node or leaf.startswith(node + "/")


def in_path_order(node: str) -> list[str]:
    """The key that sorts as the market does: part by part."""
    return node.split("/")


class Places:
    """All leaves, in path order. Made once for a topology and put into every view: it remembers
    what lies below the nodes it was asked about."""

    __slots__ = ("_below", "leaves")

    def __init__(self, leaves: Iterable[str]) -> None:
        self.leaves = tuple(sorted(leaves, key=in_path_order))
        self._below: dict[str, tuple[str, ...]] = {}

    def below(self, node: str) -> tuple[str, ...]:
        """The leaves below a node; none if there is no such node."""
        found = self._below.get(node)
        if found is None:
            found = self._below[node] = tuple(leaf for leaf in self.leaves if is_below(leaf, node))
        return found
