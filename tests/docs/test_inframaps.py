"""The examples of the pages about InfraMaps work, and their tables are complete."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
import sys
import tomllib
from pathlib import Path

import pytest

from laissez.operators import AlarmKind
from laissez.operators.config import MAPS, SOURCES
from laissez.operators.inframap import InfraMap, SignalMap
from support.doc_shell import examples, matches
from support.paths import EXAMPLES, GUIDES, REFERENCE

pytestmark = pytest.mark.once

PAGE = "\n".join((folder / "inframaps.md").read_text() for folder in (GUIDES, REFERENCE))
TOML = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
OWN_MAP, REHEARSED = examples(PAGE)


def printed(code: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "inframaps.md", "exec"), {"__name__": "example"})
    return out.getvalue()


def test_a_custom_map_behaves_as_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("site_maps.py").write_text(OWN_MAP.steps[0][0])
    Path("site_meters.py").write_text("def humidity(now):\n    return 40.0\n")
    Path("maps.toml").write_text(next(block for block in TOML if "site_maps:Humidity" in block))
    ((code, shown),) = REHEARSED.steps
    try:
        assert matches(shown, printed(code))
    finally:
        for module in ("site_maps", "site_meters"):
            sys.modules.pop(module, None)


def test_a_custom_map_takes_about_ten_lines() -> None:
    lines = [line for line in OWN_MAP.steps[0][0].splitlines() if line.strip()]
    assert len(lines) <= 10


def test_the_example_file_has_every_table_and_every_kind_of_map() -> None:
    written = tomllib.loads((EXAMPLES / "maps.toml").read_text())
    assert set(re.findall(r"^- `\[(\w+)", PAGE, re.MULTILINE)) == set(written)
    assert set(MAPS) == {table["kind"] for table in written["maps"].values()}


def rows(heading: str, number: int = 0) -> list[list[str]]:
    """The cells of a table after a heading."""
    _, _, rest = PAGE.partition(f"\n## {heading}\n")
    assert rest, f"there is no heading {heading!r}"
    table = re.findall(r"(?:^\|.*\n)+", rest, re.MULTILINE)[number].splitlines()
    return [re.split(r"\s*\|\s*", line)[1:-1] for line in table[2:]]


def test_every_alarm_is_in_the_table() -> None:
    assert [f"`{kind}`" for kind in AlarmKind] == [row[0] for row in rows("Alarms")]


def fields(kind: type) -> dict[str, object]:
    return {each.name: each.default for each in dataclasses.fields(kind) if each.init}


def test_every_map_is_in_the_table_with_its_fields_defaults_and_range() -> None:
    common = set(fields(SignalMap))
    for name, kind in MAPS.items():
        (row,) = [row for row in rows("The maps", 1) if row[0] == f"`{name}`"]
        written = dict(re.findall(r"`(\w+)(?: = ([\d.]+))?`", row[2]))
        own = {field: default for field, default in fields(kind).items() if field not in common}
        assert set(own) == set(written), name
        assert all(
            default is dataclasses.MISSING or default == float(written[field])
            for field, default in own.items()
        ), name
        if issubclass(kind, SignalMap):
            assert kind.plausible == tuple(
                float(number) for number in re.findall(r"[\d.]+", row[3])
            ), name


def test_every_common_field_is_in_the_table_with_its_default() -> None:
    written = {row[0].strip("`"): row[1] for row in rows("The maps", 0)}
    assert set(fields(SignalMap)) - {"name", "nodes"} == set(written)
    for name, kind in MAPS.items():
        for field in ("weight", "safe_pressure", "stale_after_s"):
            said = re.search(rf"{name}: ([\d.]+)", written[field]) or re.match(
                r"([\d.]+)", written[field]
            )
            assert said is not None and float(said[1]) == fields(kind)[field], (name, field)
    assert "nodes" in fields(InfraMap)


def test_every_source_is_in_the_table_with_its_fields() -> None:
    for name, kind in SOURCES.items():
        (row,) = [row for row in rows("Signals") if row[0] == f"`{name}`"]
        assert list(fields(kind)) == re.findall(r"`(\w+)", row[1]), name
