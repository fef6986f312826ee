"""A task's YAML as fields that know where they stand, so that every complaint names the file, the
line and the field.

The nodes of the parser are read directly: nothing is converted before somebody says what it should
be. So `6.50` is the text "6.50" and not a binary fraction, and a name that appears twice is seen.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Final

import msgspec
import yaml

from laissez.tenants.templates.errors import TaskError

SIZE_MAX: Final = 100_000  # characters; no task written by hand comes near
SHOWN_MAX: Final = 40  # characters of a value that a message repeats
TAG: Final = "tag:yaml.org,2002:"


class Field(msgspec.Struct, frozen=True):
    """One value of a task: `path` is its place, such as `market.deadline`."""

    file: str
    path: str
    node: yaml.Node

    def error(self, message: str) -> TaskError:
        place = f"{self.path}: " if self.path else ""
        return TaskError(f"{self.file}:{self.node.start_mark.line + 1}: {place}{message}")

    def unlike(self, expected: str, hint: str = "") -> TaskError:
        """Something else was expected here."""
        return self.error(f"expected {expected}, found {self.shown()}{f'; {hint}' if hint else ''}")

    def shown(self) -> str:
        if not isinstance(self.node, yaml.ScalarNode):
            return "a mapping" if isinstance(self.node, yaml.MappingNode) else "a list"
        text = str(self.node.value)
        return (
            "nothing"
            if self.kind == "null"
            else repr(text if len(text) <= SHOWN_MAX else text[:SHOWN_MAX] + "...")
        )

    @property
    def kind(self) -> str:
        """What YAML takes it for: `str`, `int`, `float`, `bool`, `null`, `timestamp` and so on."""
        return str(self.node.tag).removeprefix(TAG)

    def scalar(self, *kinds: str) -> str | None:
        """The text of a single value of one of these kinds."""
        return (
            str(self.node.value)
            if isinstance(self.node, yaml.ScalarNode) and self.kind in kinds
            else None
        )

    def items(self) -> list[Field] | None:
        """The values of a list, if it is one."""
        if not isinstance(self.node, yaml.SequenceNode):
            return None
        return [
            Field(self.file, f"{self.path}[{at}]", node) for at, node in enumerate(self.node.value)
        ]

    def fields(self) -> dict[str, Field] | None:
        """The values of a mapping by name, if it is one."""
        if not isinstance(self.node, yaml.MappingNode):
            return None
        found: dict[str, Field] = {}
        for key, value in self.node.value:
            name = Field(self.file, self.path, key).scalar("str", "int", "float", "bool")
            if name is None:
                raise Field(self.file, self.path, key).unlike("the name of a field")
            if name in found:
                raise Field(self.file, self.below(name), key).error(
                    "appears twice; keep one of them"
                )
            found[name] = Field(self.file, self.below(name), value)
        return found

    def section(self, known: Collection[str], refused: Mapping[str, str] | None = None) -> Section:
        """A mapping with these fields and no others; `refused` are others that may be expected
        here, with what to do instead."""
        found = self.fields()
        if found is None:
            raise self.unlike(f"a mapping with the fields {', '.join(known)}")
        for name, field in found.items():
            if name in (refused or {}):
                raise field.error(f"cannot be honoured here; {(refused or {})[name]}")
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                raise field.error(
                    "is not a field of this section;"
                    f" {f'did you mean {near[0]}?' if near else 'expected ' + ', '.join(known)}"
                )
        return Section(self, found)

    def below(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


class Section(msgspec.Struct, frozen=True):
    """A mapping whose names are known to be right."""

    field: Field
    fields: dict[str, Field]

    def get(self, name: str) -> Field | None:
        return self.fields.get(name)

    def need(self, name: str, expected: str) -> Field:
        if name not in self.fields:
            raise self.absent(name, expected)
        return self.fields[name]

    def absent(self, name: str, expected: str) -> TaskError:
        return Field(self.field.file, self.field.below(name), self.field.node).error(
            f"expected {expected}, found no such field"
        )


def parse(text: str, file: str) -> Field:
    """The whole document as one field."""
    if len(text) > SIZE_MAX:
        raise TaskError(f"{file}: expected at most {SIZE_MAX} characters, found {len(text)}")
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise TaskError(f"{file}{line}: not valid YAML: {error.problem}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise TaskError(f"{file}: not valid YAML: {str(error).splitlines()[0]}") from error
    if node is None:
        raise TaskError(f"{file}: expected a task, found an empty file")
    return Field(file, "", node)
