"""The facts in a path: the type of hardware, and the nearness of two places.

A path is a node's name, `h100/zone-a/rack1/host2/gpu3`. An application knows places only by their
paths, so it can reason about the nodes it holds without ever seeing the rest of the cluster.
"""

from __future__ import annotations


def tree_of(path: str) -> str:
    """The type of hardware: the first word of a path."""
    return path.partition("/")[0]


def parent_of(path: str) -> str:
    """The node above; a root is its own parent."""
    return path.rpartition("/")[0] or path


def is_below(path: str, scope: str) -> bool:
    """Whether `path` is `scope` or lies below it."""
    return path == scope or path.startswith(scope + "/")


def ancestors(path: str) -> tuple[str, ...]:
    """All paths from the root down to the path itself."""
    words = path.split("/")
    return tuple("/".join(words[: depth + 1]) for depth in range(len(words)))


def without(held: tuple[str, ...], node: str) -> tuple[str, ...]:
    """The nodes that are left when one `node` is gone."""
    at = held.index(node)
    return held[:at] + held[at + 1 :]
