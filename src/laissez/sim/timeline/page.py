"""The page, put together from its template. What a run says is only ever data in it: it is never
read as HTML, nor as script."""

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
    "model.js",
    "colours.js",
    "rows.js",
    "canvas.js",
    "lanes.js",
    "prices.js",
    "tenants.js",
    "moving.js",
    "page.js",
)
HOLE: Final = re.compile(r"\{\{(\w+)\}\}")
RISKY: Final = {
    ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"
}  # would end or upset the script element that holds the data


def write_timeline(result: RunResult, path: Path) -> None:
    """Write the run as a page to `path`."""
    path.write_text(render(result), encoding="utf-8", newline="\n")


def render(result: RunResult) -> str:
    """The same bytes for the same run."""
    data = msgspec.json.encode(timeline(result)).decode().translate(RISKY)
    script = "\n".join(_part(name) for name in SCRIPT)
    title = escape(f"{result.scenario}, {result.cloud}, seed {result.seed}")
    return _fill(
        _part("page.html"),
        {"title": title, "style": _part("page.css"), "script": script, "data": data},
    )


def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _fill(template: str, parts: Mapping[str, str]) -> str:
    """All holes at once, so that a name that looks like a hole stays a name."""
    return HOLE.sub(lambda hole: parts[hole[1]], template)
