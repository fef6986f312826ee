"""The nodes of the market, built once from a topology."""

from __future__ import annotations

from typing import Final

from laissez.market.node import Node
from laissez.market.topology import Topology

# A node with more children gets bundles of them: reading eight is cheaper than another level.
BUNDLE_MAX: Final = 8


class Forest:
    """Every node by its path, and the leaves in path order."""

    __slots__ = ("by_path", "leaves", "roots", "topology")

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.by_path: dict[str, Node] = {}
        self.leaves: list[Node] = []
        self.roots: list[Node] = []
        for root in topology.roots:
            self.roots.append(self._grow(root, None))

    def _grow(self, path: str, above: Node | None) -> Node:
        node = Node(path, above)
        self.by_path[path] = node
        node.first_leaf = len(self.leaves)
        if self.topology.is_leaf(path):
            self.leaves.append(node)
        else:
            _adopt(node, [self._grow(child, node) for child in self.topology.children(path)])
        node.last_leaf = len(self.leaves)
        _first_asks(node)
        return node


def _adopt(parent: Node, children: list[Node]) -> None:
    """Attach the children to their parent, in bundles of bundles if there are many."""
    while len(children) > BUNDLE_MAX:
        children = [
            _bundle(parent, children[i : i + BUNDLE_MAX])
            for i in range(0, len(children), BUNDLE_MAX)
        ]
    parent.children = children
    for child in children:
        child.parent = parent


def _bundle(above: Node, children: list[Node]) -> Node:
    bundle = Node("", above)
    bundle.first_leaf = children[0].first_leaf
    bundle.last_leaf = children[-1].last_leaf
    bundle.children = children
    for child in children:
        child.parent = bundle
    bundle.gather_asks()
    return bundle


def _first_asks(node: Node) -> None:
    if node.children is None:
        node.idle_ask = node.floor
    else:
        node.gather_asks()
