"""The forests that random histories play in: few leaves, awkward shapes.

Names are chosen so that comparing whole paths as text gives another order than comparing them part
by part (`-` and `.` sort before `/`), and numbers sort as text (`g10` before `g2`).
"""

from __future__ import annotations

from itertools import accumulate
from random import Random

import msgspec

LEAVES_MAX = 14
TREES = ("h100", "a100", "h100-x")
CHILDREN = ("r", "r-1", "r.5", "g2", "g10", "g1", "z", "R", "b", "b-b", "_b")
TENANTS = ("ann", "bob", "cid", "dee", "eve", "fay", "gus", "hal")


class World(msgspec.Struct, frozen=True):
    """The leaves and the tenants of a history."""

    leaves: tuple[str, ...]
    tenants: tuple[str, ...]
    orders_per_tenant_max: int = 1000

    def nodes(self) -> tuple[str, ...]:
        """Every node, each once, in the order of the leaves."""
        return tuple(dict.fromkeys(node for leaf in self.leaves for node in path_to(leaf)))


def path_to(leaf: str) -> list[str]:
    """The nodes from the root to the leaf."""
    return list(accumulate(leaf.split("/"), "{}/{}".format))


def draw_world(rng: Random) -> World:
    trees = rng.sample(TREES, rng.choice((1, 1, 2, 3)))
    leaves = [leaf for tree in trees for leaf in draw_tree(rng, tree)]
    rng.shuffle(leaves)
    leaves = leaves[: rng.choice((2, 4, 8, LEAVES_MAX, LEAVES_MAX))]
    tenants = TENANTS[: rng.choice((2, 2, 3, 3, 4, 5, 8))]
    return World(tuple(leaves), tenants, rng.choice((1000, 1000, 1000, 1000, 2, 3)))


def draw_tree(rng: Random, root: str) -> list[str]:
    shape = rng.choice(("leaf", "flat", "wide", "uneven", "uneven", "uneven"))
    if shape == "leaf":
        return [root]
    if shape == "flat":
        return below(rng, root, rng.randint(1, 4))
    if shape == "wide":
        return below(rng, root, rng.randint(9, len(CHILDREN)))
    return draw_branch(rng, root, rng.randint(2, 4))


def draw_branch(rng: Random, node: str, depth_left: int) -> list[str]:
    """A node whose children are leaves or branches at random, so that leaves lie at different
    depths."""
    if depth_left == 0 or rng.random() < 0.25:
        return [node]
    return [
        leaf
        for child in below(rng, node, rng.randint(1, 3))
        for leaf in draw_branch(rng, child, depth_left - 1)
    ]


def below(rng: Random, node: str, count: int) -> list[str]:
    return [f"{node}/{name}" for name in rng.sample(CHILDREN, count)]
