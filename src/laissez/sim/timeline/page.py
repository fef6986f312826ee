"""A run as one self-contained HTML page: the holder and the price of every GPU over time.

`timeline` makes the data of the page: a run, rounded to hundredths of a second and of a cent.
Paths, tenants and reasons are written once and then referred to by position: a run has thousands of
leases. `render` fills the template, `page.html` with `page.css` and the parts of the script. The
names of a run are data there, never HTML or script.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import msgspec

from laissez.sim.clouds.cloud import Lease
from laissez.sim.results import ACCOUNTS, RunResult, TenantResult, dollars
from laissez.tenants.paths import tree_of
from laissez.units import HOUR_S, MICRO_PER_DOLLAR, SECOND_US

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


def timeline(result: RunResult) -> dict[str, Any]:
    """The data of a run. `leaves` were leased at least once, in the order of the rows."""
    in_prices = [point.tree for point in result.prices]
    trees = list(dict.fromkeys([*in_prices, *(tree_of(lease.leaf) for lease in result.leases)]))
    leaves = sorted(
        {lease.leaf for lease in result.leases},
        key=lambda leaf: (trees.index(tree_of(leaf)), _natural(leaf)),
    )
    tenants = [one.tenant for one in result.tenants]
    reasons = sorted({lease.reason for lease in result.leases})
    positions = [
        {name: at for at, name in enumerate(names)} for names in (leaves, tenants, reasons)
    ]
    return {
        "scenario": result.scenario,
        "cloud": result.cloud,
        "seed": result.seed,
        "gpus": result.gpus,
        "span_s": round(result.hours * HOUR_S, 2),
        "demand": round(result.demand, 3),
        "retention": round(result.retention, 4) if result.measured else None,
        "utilisation": round(result.utilisation, 4),
        "revenue": round(result.revenue, 2),
        "tenants": tuple(map(_tenant, result.tenants)),
        "leaves": tuple(leaves),
        "reasons": tuple(reasons),
        "leases": tuple(_lease(lease, *positions) for lease in result.leases),
        "series": tuple(_series(result, tree) for tree in trees),
    }


def _tenant(one: TenantResult) -> dict[str, Any]:
    return {
        "name": one.tenant,
        "kind": one.kind,
        "start_s": round(one.start_s, 2),
        "end_s": round(one.end_s, 2),
        "retention": round(one.retention, 4) if one.is_measured else None,
        "performance": round(one.performance, 4),
        "alone": round(one.alone, 4),
        "cost": round(one.cost, 4),
        "hours": tuple(round(getattr(one, account), 4) for account in ACCOUNTS),
        "moves": one.moves,
        "revocations": one.revocations,
    }


def _lease(
    lease: Lease, leaves: dict[str, int], tenants: dict[str, int], reasons: dict[str, int]
) -> list[Any]:
    """Leaf, tenant, start, end, reason, cost, and prices, each with its start."""
    start_s, end_s, cost = _seconds(lease.start), _seconds(lease.end), dollars(lease.charge)
    at, tenant, reason = leaves[lease.leaf], tenants[lease.tenant], reasons[lease.reason]
    return [at, tenant, start_s, end_s, reason, round(cost, 4), list(_visible_changes(lease))]


def _visible_changes(lease: Lease) -> Iterable[float]:
    shown: float | None = None
    for start, rate in lease.prices:
        price = round(rate / MICRO_PER_DOLLAR, 4)
        if price != shown:
            yield from (_seconds(start), price)
        shown = price


def _series(result: RunResult, tree: str) -> dict[str, Any]:
    """One type over time, without prices while nothing is for sale, or nothing is leased."""
    points = [point for point in result.prices if point.tree == tree]
    return {
        "tree": tree,
        "at_s": tuple(round(point.at_s, 2) for point in points),
        "quoted": _rounded([point.price for point in points]),
        "charged": _rounded([point.charged for point in points]),
        "leased": tuple(point.leased for point in points),
    }


def _rounded(values: Sequence[float | None]) -> tuple[float | None, ...]:
    return tuple(None if value is None else round(value, 4) for value in values)


def _seconds(us: int) -> float:
    return round(us / SECOND_US, 2)


def _natural(path: str) -> list[tuple[int, int, str]]:
    """The key that sorts `gpu10` after `gpu9`."""
    return [
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in re.split(r"(\d+)", path)
        if part
    ]
