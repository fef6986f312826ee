"""The page, filled from its template. The names of a run are data in it, never HTML or script."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec

from laissez.sim.results import RunResult
from laissez.sim.timeline.data import timeline

# in this order
SCRIPT: Final = (
    *("model.js", "colours.js", "rows.js", "canvas.js", "lanes.js"),
    *("prices.js", "tenants.js", "interaction.js", "page.js"),
)
HOLE: Final = re.compile(r"\{\{(\w+)\}\}")
# characters that could end the script element that holds the data
RISKY: Final = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def write_timeline(result: RunResult, path: Path) -> None:
    path.write_text(render(result), encoding="utf-8", newline="\n")


def render(result: RunResult) -> str:
    """The page of a run. The same run gives the same bytes."""
    parts = {
        "title": escape(f"{result.scenario}, {result.cloud}, seed {result.seed}"),
        "style": _part("page.css"),
        "script": "\n".join(map(_part, SCRIPT)),
        "data": msgspec.json.encode(timeline(result)).decode().translate(RISKY),
    }
    return _fill(_part("page.html"), parts)


def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _fill(template: str, parts: Mapping[str, str]) -> str:
    """Fill all holes at once, so that a name that looks like a hole stays a name."""
    return HOLE.sub(lambda hole: parts[hole[1]], template)
