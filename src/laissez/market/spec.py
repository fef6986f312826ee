"""Read topologies written as TOML, YAML or JSON text, or as plain nested data
(`docs/reference/topology.md`).

A written tree is a mapping from names to trees, a list of leaf names, or null or `"leaf"` for a
leaf. A name may hold ranges, `rack[01-24]`. Sizes are checked before ranges are expanded, so a
short text cannot claim much more memory than the largest topology may have. A name given twice is
refused, whatever the parser does with it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from laissez.market.topology import (
    DEPTH_MAX,
    LEAF,
    NODE_NAME_MAX,
    Topology,
    TopologyError,
    check_room,
    checked_name,
    refused,
    shown,
)

Form: TypeAlias = Literal["toml", "yaml", "json"]

_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"([0-9]{1,18})-([0-9]{1,18})")
_WORD = re.compile(r"[A-Za-z0-9._]{1,64}")
_STANDARD_TAG = "tag:yaml.org,2002:"


def parse_topology(text: str, form: Form) -> Topology:
    """Parse a topology. `TopologyError` names the line of a mistake in syntax, and the place of any
    other."""
    return Topology.from_mapping(_data(text, form))


def read_mapping(mapping: object) -> tuple[list[str], dict[str, Sequence[str]]]:
    """The leaf paths and the level names of a topology written as plain data."""
    _check_repeated(mapping, "topology")
    if not isinstance(mapping, Mapping) or not mapping:
        raise refused(
            "topology",
            "expected a mapping from resource types to trees, found"
            f" {shown(mapping) if mapping else 'nothing'}",
        )
    paths: list[str] = []
    levels: dict[str, Sequence[str]] = {}
    types: set[str] = set()
    for name, value in mapping.items():
        roots = _new_names(name, "topology", types)
        tree, level_names = _tree_and_levels(value, name)
        rests = _below(tree, name, 1)
        check_room("topology", len(paths) + len(roots) * len(rests))
        paths += [root + rest for root in roots for rest in rests]
        levels |= {root: level_names for root in roots if level_names}
    return paths, levels


def _tree_and_levels(value: object, place: str) -> tuple[object, Sequence[str]]:
    """Take the long form `{"levels": [...], "tree": ...}` apart; anything else is the tree
    itself."""
    _check_repeated(value, place)
    if not isinstance(value, Mapping) or not ("tree" in value or "levels" in value):
        return value, ()
    if "tree" not in value or not value.keys() <= {"tree", "levels"}:
        raise refused(
            place,
            f"expected 'tree' and perhaps 'levels', found {shown(', '.join(map(str, value)))}",
        )
    levels = value.get("levels", ())
    if not isinstance(levels, list | tuple):
        raise refused(place, f"expected a list of level names, found {shown(levels)}")
    return value["tree"], levels


def _below(value: object, place: str, depth: int) -> list[str]:
    """For every leaf of a written tree, what follows the tree's own path: nothing if it is a leaf
    itself, else such as `/host0/gpu0`."""
    if value is None or value == LEAF:
        return [""]
    _check_repeated(value, place)
    if not isinstance(value, Mapping | list | tuple):
        raise refused(
            place,
            f"expected a mapping, a list of leaf names, or null or '{LEAF}' for a leaf, found"
            f" {shown(value)}",
        )
    if not value:
        raise refused(place, f"is an empty tree; write null or '{LEAF}' for a leaf")
    if depth == DEPTH_MAX:
        raise refused(place, f"is deeper than {DEPTH_MAX} levels")
    found: list[str] = []
    siblings: set[str] = set()
    for name in value:
        names = _new_names(name, place, siblings)
        rests = (
            _below(value[name], f"{place}/{name}", depth + 1)
            if isinstance(value, Mapping)
            else [""]
        )
        check_room(place, len(found) + len(names) * len(rests))
        found += [f"/{each}{rest}" for each in names for rest in rests]
    return found


def _new_names(pattern: object, place: str, siblings: set[str]) -> list[str]:
    """The names a pattern stands for, none of them taken by a sibling."""
    if not isinstance(pattern, str):
        raise refused(place, f"expected a name as text, found {shown(pattern)}")
    names = _expanded(pattern, place)
    for name in names:
        if checked_name(name, place) in siblings:
            raise refused(place, f"the name {name!r} appears twice")
        siblings.add(name)
    return names


def _expanded(pattern: str, place: str) -> list[str]:
    """Write out the brackets of `rack[01-24]` or `[a,b]-host[0-3]`."""
    pieces = _BRACKETS.split(pattern)
    names = [pieces[0]]
    longest = len(pieces[0])
    for inside, after in zip(pieces[1::2], pieces[2::2], strict=True):
        choices = _choices(inside, f"{place}/{pattern}")
        longest += max(map(len, choices)) + len(after)
        if longest > NODE_NAME_MAX:
            raise refused(
                place, f"{shown(pattern)} makes names longer than {NODE_NAME_MAX} characters"
            )
        check_room(f"{place}/{pattern}", len(names) * len(choices))
        names = [name + choice + after for name in names for choice in choices]
    return names


def _choices(inside: str, place: str) -> list[str]:
    """The choices between two brackets: a range of numbers such as `01-24`, a word, or a
    comma-separated list of these."""
    found: list[str] = []
    for item in inside.split(","):
        if bounds := _RANGE.fullmatch(item):
            found += _numbers(bounds[1], bounds[2], place)
            check_room(place, len(found))
        elif _WORD.fullmatch(item):
            found.append(item)
        else:
            raise refused(
                place,
                "expected a range such as 01-24, or words such as a,b,c, between the brackets,"
                f" found {shown(item)}",
            )
    return found


def _numbers(low: str, high: str, place: str) -> list[str]:
    """From low to high, padded with zeros if a bound is."""
    first, last = int(low), int(high)
    padded = low != str(first) or high != str(last)
    if padded and len(low) != len(high):
        raise refused(
            place,
            f"expected both ends of a padded range to have as many digits, found {low}-{high}",
        )
    if first > last:
        raise refused(place, f"expected the lower end of a range first, found {low}-{high}")
    check_room(place, last - first + 1)
    width = len(low) if padded else 0
    return [str(number).zfill(width) for number in range(first, last + 1)]


def _data(text: str, form: Form) -> object:
    """Plain data from text."""
    if type(text) is not str:
        raise TopologyError(f"expected text, found {shown(text)}")
    try:
        if form == "toml":
            return tomllib.loads(text)
        if form == "json":
            return json.loads(text, object_pairs_hook=_json_object)
        if form == "yaml":
            return _yaml_data(text)
    except ValueError as error:
        raise TopologyError(f"not valid {form.upper()}: {error}") from error
    except RecursionError as error:
        raise TopologyError(f"not valid {form.upper()}: nested too deep") from error
    raise TopologyError(f"expected the form toml, yaml or json, found {shown(form)}")


class _Repeated:
    """Stands for a JSON object that gives a name twice: where that is, is known only when the data
    is read from the top."""

    def __init__(self, name: str) -> None:
        self.name = name


def _check_repeated(value: object, place: str) -> None:
    if isinstance(value, _Repeated):
        raise refused(place, f"the name {shown(value.name)} appears twice")


def _json_object(pairs: list[tuple[str, object]]) -> object:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            return _Repeated(name)
        found[name] = value
    return found


def _yaml_data(text: str) -> object:
    import yaml  # type: ignore[import-untyped, unused-ignore]  # here: slow to load, and only needed for this form

    try:
        return _yaml_node(yaml.compose(text, Loader=yaml.SafeLoader), {})
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f"line {error.problem_mark.line + 1}: "
        raise ValueError(f"{line}{error.problem}") from error
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _yaml_node(node: Any, known: dict[int, object]) -> object:
    """Plain data from a parsed YAML node. All scalars but null are text, so that `1`, `on` and
    `1e3` are the names they look like.

    `known` holds the nodes already seen, by identity: an alias gives the same object again, even
    inside itself (then `_below` stops it).
    """
    if node is None or node.tag == f"{_STANDARD_TAG}null":
        return None
    if not node.tag.startswith(_STANDARD_TAG):
        raise ValueError(
            f"line {node.start_mark.line + 1}: expected no tags, found {shown(node.tag)}"
        )
    if node.id == "scalar":
        return node.value
    if id(node) not in known:
        found: Any = {} if node.id == "mapping" else []
        known[id(node)] = found
        for item in node.value:
            if node.id == "mapping":
                _yaml_pair(item[0], item[1], found, known)
            else:
                found.append(_yaml_node(item, known))
    return known[id(node)]


def _yaml_pair(key: Any, value: Any, found: dict[str, object], known: dict[int, object]) -> None:
    if key.id != "scalar":
        raise ValueError(
            f"line {key.start_mark.line + 1}: expected a name as text, found a {key.id}"
        )
    if key.tag == f"{_STANDARD_TAG}merge":
        raise ValueError(
            f"line {key.start_mark.line + 1}: expected no merge keys, found {shown(key.value)}"
        )
    if key.value in found:
        raise ValueError(
            f"line {key.start_mark.line + 1}: the name {shown(key.value)} appears twice in one"
            " mapping"
        )
    found[key.value] = _yaml_node(value, known)
