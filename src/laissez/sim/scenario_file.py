"""Scenario files: TOML in, TOML out. `docs/scenario.toml` shows every field."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from laissez.config import Reader, load_toml
from laissez.sim.scenario import Scenario, ScenarioError, Table


def read_scenario(path: Path | str) -> Scenario:
    """The scenario that a file describes. Raises `ScenarioError` with all that is wrong with it."""
    file = Path(path)
    reader = Reader(str(file), file.parent)
    scenario = reader.table((), Scenario, load_toml(file, ScenarioError))
    reader.check(ScenarioError)
    assert scenario is not None
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
