"""Topologies: which leaves exist and how they nest. A forest with one tree per resource type, fixed
for the life of a market.

Nodes are kept in path order, parents before children, so the nodes and the leaves of a subtree are
two contiguous runs. Two arrays of positions then answer every question; parents and ancestors are
read off the path itself. That keeps a leaf at a few hundred bytes.

`laissez.market.spec` reads topologies from plain data or text.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

# names in a path, the type included; bounds the work of every command, which climbs a path
DEPTH_MAX: Final = 16
LEAVES_MAX: Final = 1_000_000  # ten times the largest market we measure
NODE_NAME_MAX: Final = 64  # characters; a full path still fits in a URL
# how a leaf is written where a tree could stand; unlike null, TOML can hold it
LEAF: Final = "leaf"

# "." and ".." are left out because URL clients remove them from paths.
_NAME: Final = re.compile(r"(?!\.\.?$)[A-Za-z0-9._-]{1,64}")


class TopologyError(ValueError):
    """Not a valid topology, or no such node in it; the message names the place."""


class Topology:
    """An immutable forest. Make one with `of` (from leaf paths), `from_mapping` (from plain data)
    or `spec.parse_topology` (from text)."""

    def __init__(self, paths: list[str], levels: Mapping[str, Sequence[str]]) -> None:
        """From checked leaf paths in any order; use `of`, which checks them."""
        # NUL sorts before every character of a name: this is the order of path.split("/"), without
        # making the lists.
        self.leaves: Final[tuple[str, ...]] = tuple(
            sorted(paths, key=lambda path: path.replace("/", "\0"))
        )
        self._end: Final[array[int]] = array("i")  # per node: the position after its subtree
        # per node, and once more after the last: how many leaves come before it
        self._first: Final[array[int]] = array("i")
        self.nodes: Final[tuple[str, ...]] = tuple(self._lay_out())
        self._position: Final[dict[str, int]] = {
            path: position for position, path in enumerate(self.nodes)
        }
        self.roots: Final[tuple[str, ...]] = self._siblings(0, len(self.nodes))
        self._levels: Final[dict[str, tuple[str, ...]]] = self._checked_levels(levels)

    @classmethod
    def of(
        cls, paths: Iterable[str], levels: Mapping[str, Sequence[str]] | None = None
    ) -> Topology:
        """From leaf paths, in any order. `levels` names the levels of a tree from its root down, as
        many as the tree is deep."""
        if isinstance(paths, str):
            raise refused("topology", f"expected a list of paths, found the text {shown(paths)}")
        found: Iterable[object] = paths
        checked: list[str] = []
        for path in found:
            checked.append(_checked_path(path))
            check_room("topology", len(checked))
        if not checked:
            raise refused("topology", "expected at least one leaf, found none")
        return cls(checked, levels or {})

    @classmethod
    def from_mapping(cls, mapping: object) -> Topology:
        """From plain nested data, in the form that `docs/reference/topology.md` describes."""
        # here, because that module is written in terms of this one
        from laissez.market.spec import read_mapping

        paths, levels = read_mapping(mapping)
        return cls.of(paths, levels)

    def to_mapping(self) -> dict[str, object]:
        """Plain data that `from_mapping` reads back to an equal topology, and that TOML, YAML and
        JSON can all hold."""
        mapping: dict[str, object] = {}
        for root in self.roots:
            names = self.level_names(root)
            levels: dict[str, object] = {"levels": list(names)} if names else {}
            mapping[root] = {**levels, "tree": self._plain(root)}
        return mapping

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and path in self._position

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Topology)
            and self.leaves == other.leaves
            and self._levels == other._levels
        )

    def __hash__(self) -> int:
        return hash(self.leaves)

    def __repr__(self) -> str:
        shown = [f"{root}: {self.leaf_count(root)}" for root in self.roots[:8]]
        if len(self.roots) > 8:
            shown.append(f"and {len(self.roots) - 8} more trees")
        return f"<Topology of {len(self.leaves)} leaves ({', '.join(shown)})>"

    def is_leaf(self, path: str) -> bool:
        position = self._at(path)
        return self._end[position] == position + 1

    def children(self, path: str) -> tuple[str, ...]:
        """The nodes right below, in path order; none below a leaf."""
        position = self._at(path)
        return self._siblings(position + 1, self._end[position])

    def leaf_range(self, path: str) -> tuple[int, int]:
        """The half-open range of the leaves below in `leaves`."""
        position = self._at(path)
        return self._first[position], self._first[self._end[position]]

    def leaf_count(self, path: str) -> int:
        first, end = self.leaf_range(path)
        return end - first

    def level_names(self, root: str) -> tuple[str, ...]:
        """The names of a tree's levels from its root down; empty if they have none."""
        if "/" in self.nodes[self._at(root)]:
            raise refused(root, "is not the root of a tree")
        return self._levels.get(root, ())

    def level_of(self, path: str) -> str | None:
        """The name of the level a node is at, counted from the root; `None` if the tree's levels
        have no names."""
        parts = self.nodes[self._at(path)].split("/")
        names = self._levels.get(parts[0], ())
        return names[len(parts) - 1] if names else None

    def ancestor(self, path: str, level: str) -> str:
        """The node of this level on the path, perhaps the node itself: `ancestor(gpu, "host")` is
        the host of a GPU."""
        parts = self.nodes[self._at(path)].split("/")
        names = self._levels.get(parts[0], ())
        if level not in names:
            raise refused(
                path,
                f"no level {shown(level)}; the levels of {parts[0]} are:"
                f" {', '.join(names) or 'not named'}",
            )
        depth = names.index(level) + 1
        if depth > len(parts):
            raise refused(path, f"is at level {names[len(parts) - 1]}, above level {level}")
        return "/".join(parts[:depth])

    def _at(self, path: str) -> int:
        position = self._position.get(path)
        if position is None:
            raise refused(path, "no such node")
        return position

    def _siblings(self, position: int, end: int) -> tuple[str, ...]:
        """The topmost nodes of a run of whole subtrees."""
        found: list[str] = []
        while position < end:
            found.append(self.nodes[position])
            position = self._end[position]
        return tuple(found)

    def _lay_out(self) -> list[str]:
        """All nodes in path order; fills the two arrays. In path order a leaf that is also an inner
        node comes right before the nodes below it."""
        nodes: list[str] = []
        above: list[int] = []  # positions of the nodes on the path of the previous leaf
        previous: list[str] = []
        for count, leaf in enumerate(self.leaves):
            parts = leaf.split("/")
            shared = _shared(previous, parts)
            if count and shared == len(previous):
                raise refused(
                    "/".join(previous),
                    (
                        "appears twice"
                        if shared == len(parts)
                        else f"is a leaf, and {shown(leaf)} is below it"
                    ),
                )
            self._close(above, shared, len(nodes))
            for depth in range(shared + 1, len(parts) + 1):
                above.append(len(nodes))
                nodes.append(leaf if depth == len(parts) else "/".join(parts[:depth]))
                self._end.append(0)
                self._first.append(count)
            previous = parts
        self._close(above, 0, len(nodes))
        self._first.append(len(self.leaves))
        return nodes

    def _close(self, above: list[int], depth: int, end: int) -> None:
        while len(above) > depth:
            self._end[above.pop()] = end

    def _checked_levels(self, levels: Mapping[Any, object]) -> dict[str, tuple[str, ...]]:
        checked = {root: self._checked_level_names(root, names) for root, names in levels.items()}
        return {root: names for root, names in checked.items() if names}

    def _checked_level_names(self, root: object, names: object) -> tuple[str, ...]:
        if not isinstance(root, str) or root not in self or "/" in root:
            raise refused("levels", f"expected the name of a tree, found {shown(root)}")
        if not isinstance(names, Sequence) or isinstance(names, str):
            raise refused(root, f"expected a list of level names, found {shown(names)}")
        checked = tuple([checked_name(name, f"levels of {root}") for name in names])
        if len(set(checked)) < len(checked):
            raise refused(root, f"a level name appears twice in: {', '.join(checked)}")
        position = self._position[root]
        depth = 1 + max([path.count("/") for path in self.nodes[position : self._end[position]]])
        if checked and len(checked) != depth:
            raise refused(
                root,
                f"expected {depth} level names, as many as the tree is deep, found {len(checked)}:"
                f" {', '.join(checked)}",
            )
        return checked

    def _plain(self, path: str) -> object:
        children = self.children(path)
        if not children:
            return LEAF
        if all([self.is_leaf(child) for child in children]):
            return [_last(child) for child in children]
        return {_last(child): self._plain(child) for child in children}


def checked_name(name: object, place: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise refused(
            place,
            f"expected a name of 1 to {NODE_NAME_MAX} letters, digits, '.', '_' or '-', found"
            f" {shown(name)}",
        )
    return name


def check_room(place: str, leaves: int) -> None:
    if leaves > LEAVES_MAX:
        raise refused(place, f"has more than {LEAVES_MAX} leaves")


def refused(place: str, problem: str) -> TopologyError:
    return TopologyError(f"{_cut(place)}: {problem}")


def shown(found: object) -> str:
    """A found value, for a message. Only text is shown, and the type of anything else: a few
    aliases can make a mapping that would print for days."""
    return repr(_cut(found)) if isinstance(found, str) else type(found).__name__


def _checked_path(path: object) -> str:
    if not isinstance(path, str):
        raise refused("topology", f"expected a path as text, found {shown(path)}")
    parts = path.split("/")
    if len(parts) > DEPTH_MAX:
        raise refused(path, f"is deeper than {DEPTH_MAX} levels")
    for name in parts:
        checked_name(name, path)
    return path


def _shared(left: list[str], right: list[str]) -> int:
    """The number of names that two paths share, from the root."""
    count = 0
    while count < len(left) and count < len(right) and left[count] == right[count]:
        count += 1
    return count


def _last(path: str) -> str:
    return path[path.rfind("/") + 1 :]


def _cut(text: str) -> str:
    return text if len(text) <= 200 else text[:200] + "..."
