"""Reads a task's YAML into plain data for the configuration loader, and finds the lines of fields.

Scalars stay text until the type of a field converts them: `6.50` is "6.50" and not a binary
fraction. Duplicate keys are refused.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

import yaml

from laissez.config import Place, Reader, Scalar
from laissez.tenants.templates.template import TaskError

SIZE_MAX: Final = 100_000  # characters; no task written by hand comes near
TAG: Final = "tag:yaml.org,2002:"
_KINDS: Final = {"sequence": "a list", "mapping": "a mapping"}
_WHOLE: Final = re.compile(r"-?(0|[1-9][0-9]{0,14})")
_DECIMAL: Final = re.compile(r"-?[0-9]{1,15}\.[0-9]{1,15}")


def parse(text: str, file: str) -> tuple[Reader, object]:
    """A reader that knows the lines of the document, and its plain data."""
    if len(text) > SIZE_MAX:
        raise TaskError(f"{file}: expected at most {SIZE_MAX} characters, found {len(text)}")
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is None:
            raise TaskError(f"{file}: expected a task, found an empty file")
        data = _data(root, file, {})
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise TaskError(f"{file}{line}: not valid YAML: {error.problem}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise TaskError(f"{file}: not valid YAML: {str(error).splitlines()[0]}") from error
    return Reader(lambda place: f"{file}:{_line(root, place)}"), data


def _data(node: Any, file: str, known: dict[int, object]) -> object:
    """`known` holds the nodes already read: an alias gives the same object again, so that a short
    text cannot claim much memory."""
    place = f"{file}:{node.start_mark.line + 1}"
    if id(node) in known:
        return known[id(node)]
    if not node.tag.startswith(TAG):
        raise TaskError(f"{place}: expected no tags, found {node.tag}")
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    found: Any = {} if isinstance(node, yaml.MappingNode) else []
    known[id(node)] = found
    for item in node.value:
        if isinstance(found, list):
            found.append(_data(item, file, known))
            continue
        key, value = item
        if not isinstance(key, yaml.ScalarNode):
            raise TaskError(f"{place}: expected the name of a field, found {_KINDS[key.id]}")
        if key.value in found:
            line = key.start_mark.line + 1
            raise TaskError(f"{file}:{line}: {key.value}: appears twice; keep one of them")
        found[key.value] = _data(value, file, known)
    return found


def _scalar(node: Any) -> Scalar:
    """Numbers in other forms, times and bytes have no plain value: only text fields take them."""
    scalar, kind = Scalar(node.value), node.tag.removeprefix(TAG)
    scalar.plain = math.nan
    if kind == "str":
        scalar.plain = node.value
    elif kind == "null":
        scalar.plain = None
    elif kind == "bool":
        scalar.plain = node.value.lower() in ("true", "yes", "on")
    elif _WHOLE.fullmatch(node.value):
        scalar.plain = int(node.value)
    elif _DECIMAL.fullmatch(node.value):
        scalar.plain = float(node.value)
    return scalar


def _line(node: Any, place: Place) -> int:
    """The line of a field, or of the table that lacks it."""
    for step in place:
        if isinstance(node, yaml.MappingNode):
            below = [value for key, value in node.value if key.value == step]
        else:
            below = node.value[step : step + 1] if isinstance(step, int) else []
        if not below:
            break
        node = below[0]
    return int(node.start_mark.line) + 1
