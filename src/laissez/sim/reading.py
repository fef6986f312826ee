"""Scenario files: TOML in, TOML out. `docs/scenario.toml` shows every field.

Whatever is unknown, of the wrong kind or impossible is refused, all at once, each with its place.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from laissez.operators.fields import shown
from laissez.sim.errors import ScenarioError
from laissez.sim.fields import Table, fields_of, is_file, is_list, table_in, told, wrong_fields
from laissez.sim.scenario import Scenario

T = TypeVar("T", bound=Table)


def read_scenario(path: Path | str) -> Scenario:
    """The scenario that a file describes. Raises `ScenarioError` with all that is wrong with it."""
    file = Path(path)
    reading = _Reading(file)
    scenario = reading.made("", Scenario, _parsed(file))
    if scenario is None:
        raise ScenarioError("\n".join(f"{file}: {mistake}" for mistake in reading.mistakes))
    return scenario


def write_scenario(scenario: Scenario) -> str:
    """A file that reads back as the same scenario. Every field is written, so that it stays the
    same when a default changes."""
    fields = {
        name: value for name, value in msgspec.structs.asdict(scenario).items() if value is not None
    }
    own = _lines({name: value for name, value in fields.items() if not isinstance(value, Table)})
    tables = [
        f"\n[{name}]\n{_lines(msgspec.structs.asdict(table))}"
        for name, table in fields.items()
        if isinstance(table, Table)
    ]
    return own + "".join(tables)


class _Reading:
    """A file while it is read. Relative paths in it start at its folder."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.mistakes: list[str] = []

    def made(self, place: str, kind: type[T], content: object) -> T | None:
        """A table and all tables in it; `None`, and mistakes, if that cannot be."""
        if not isinstance(content, Mapping):
            self.mistakes.append(f"{place}: expected a table, found {shown(content)}")
            return None
        kinds, before = fields_of(kind), len(self.mistakes)
        for name in content:
            if name not in kinds:
                self.mistakes.append(told(place, name, _unknown(name, kinds)))
        for field in msgspec.structs.fields(kind):
            if field.required and field.name not in content:
                self.mistakes.append(told(place, field.name, "expected to be set, found nothing"))
        values = {
            name: self._value(told(place, name), kinds[name], value)
            for name, value in content.items()
            if name in kinds
        }
        if len(self.mistakes) == before:
            return self._built(place, kind, values)
        plain = {name: value for name, value in values.items() if table_in(kinds[name]) is None}
        # how they go together cannot be told, but what stands by itself can
        self._found(place, kind, wrong_fields(kind, plain))
        return None

    def _value(self, place: str, kind: Any, value: object) -> object:
        """A value of that kind; one that is not stays as it is, and its table will say so."""
        table = table_in(kind)
        if table is None:
            return self._converted(kind, value)
        if not is_list(kind):
            return self.made(place, table, value)
        if not isinstance(value, list):
            self.mistakes.append(f"{place}: expected a list of tables, found {shown(value)}")
            return ()
        return tuple(self.made(f"{place}[{at}]", table, one) for at, one in enumerate(value))

    def _converted(self, kind: Any, value: object) -> object:
        try:
            found: object = msgspec.convert(value, kind)
        except msgspec.ValidationError:
            return value
        return (
            str((self.file.parent / found).absolute())
            if isinstance(found, str) and is_file(kind)
            else found
        )

    def _built(self, place: str, kind: type[T], values: Mapping[str, object]) -> T | None:
        try:
            return kind(**values)
        except ScenarioError as error:
            self._found(place, kind, str(error).splitlines())
            return None

    def _found(self, place: str, kind: type[Table], mistakes: Iterable[str]) -> None:
        """A table names the place where it usually is; here it is where it was written."""
        self.mistakes += [
            told(place, mistake.removeprefix(f"{kind.place}.")) for mistake in mistakes
        ]


def _parsed(file: Path) -> dict[str, object]:
    try:
        # some editors write a mark before the text
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ScenarioError(
            f"{file}: expected a scenario file that can be read: {error.strerror}"
        ) from None
    # also for bytes that are no text and for a number of thousands of digits
    except (ValueError, RecursionError) as error:
        raise ScenarioError(f"{file}: expected TOML: {error}") from None


def _unknown(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"expected one of {', '.join(known)}, found {shown(name)}" + (
        f" (did you mean {near[0]}?)" if near else ""
    )


def _lines(fields: Mapping[str, object]) -> str:
    return "".join(
        f"{name} = {_written(value)}\n" for name, value in fields.items() if value is not None
    )


def _written(value: object) -> str:
    match value:
        case str():
            # JSON's way but for this one character
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case bool():
            return str(value).lower()
        case Table():
            return _written(
                {
                    name: one
                    for name, one in msgspec.structs.asdict(value).items()
                    if one is not None
                }
            )
        case Mapping():
            return (
                "{ "
                + ", ".join(f"{_key(name)} = {_written(one)}" for name, one in value.items())
                + " }"
            )
        case tuple() | list():
            return "[" + ", ".join(map(_written, value)) + "]"
        case _:
            return repr(value)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _written(name)
