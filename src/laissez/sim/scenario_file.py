"""Scenario files: TOML in, TOML out. `docs/examples/scenario.toml` shows every field."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from laissez.config import Reader, load_toml
from laissez.sim.scenario import Scenario, ScenarioError, Table


def read_scenario(path: Path | str) -> Scenario:
    """The scenario in a file. Raises `ScenarioError` with all mistakes."""
    file = Path(path)
    reader = Reader(str(file), file.parent)
    scenario = reader.table((), Scenario, load_toml(file, ScenarioError))
    reader.check(ScenarioError)
    assert scenario is not None
    return scenario


def write_scenario(scenario: Scenario) -> str:
    """A file of the same scenario, with every field, so that new defaults change nothing."""
    fields = _given(scenario)
    tables = {name: fields.pop(name) for name in list(fields) if isinstance(fields[name], Table)}
    return _lines(fields) + "".join(
        f"\n[{name}]\n{_lines(_given(table))}" for name, table in tables.items()
    )


def _given(table: Table) -> dict[str, Any]:
    fields = msgspec.structs.asdict(table)
    return {name: value for name, value in fields.items() if value is not None}


def _lines(fields: Mapping[str, object]) -> str:
    return "".join(f"{name} = {_toml(value)}\n" for name, value in fields.items())


def _toml(value: object) -> str:
    match value:
        case str():
            # JSON escapes the same characters, except this one
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case bool():
            return str(value).lower()
        case Table():
            return _toml(_given(value))
        case Mapping():
            pairs = (f"{_key(name)} = {_toml(one)}" for name, one in value.items())
            return f"{{ {', '.join(pairs)} }}"
        case tuple() | list():
            return f"[{', '.join(map(_toml, value))}]"
        case _:
            return repr(value)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)
