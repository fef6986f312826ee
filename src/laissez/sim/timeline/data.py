"""What the page knows of a run. Numbers are rounded to what can be seen: hundredths of a second,
hundredths of a cent.

Paths, tenants and reasons are written once and then named by their position, because a run has
thousands of leases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from laissez.sim.clouds.cloud import Lease
from laissez.sim.results import RunResult, TenantResult, dollars
from laissez.tenants.paths import tree_of
from laissez.units import MICRO_PER_DOLLAR, SECOND_US


class TimelineLease(msgspec.Struct, frozen=True, array_like=True):
    """`prices` are times and dollars per hour by turns: from each time on, that price."""

    leaf: int
    tenant: int
    start_s: float
    end_s: float
    reason: int
    cost: float
    prices: tuple[float, ...]


class TimelineTenant(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    kind: str
    start_s: float
    end_s: float
    retention: float | None  # none of those that stood there before
    performance: float
    alone: float
    cost: float
    hours: tuple[float, float, float, float]  # useful, reconfiguring, lost, surplus
    moves: int
    revocations: int


class TimelineSeries(msgspec.Struct, frozen=True, kw_only=True):
    """One type over time, sample by sample. A price is missing where nothing is for sale, or
    nothing is leased."""

    tree: str
    at_s: tuple[float, ...]
    quoted: tuple[float | None, ...]
    charged: tuple[float | None, ...]
    leased: tuple[int, ...]


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    scenario: str
    cloud: str
    seed: int
    gpus: int
    span_s: float
    demand: float
    retention: float | None  # none where nobody's is known
    utilisation: float
    revenue: float
    tenants: tuple[TimelineTenant, ...]
    leaves: tuple[str, ...]  # those that were leased at least once, in the order of the rows
    reasons: tuple[str, ...]
    leases: tuple[TimelineLease, ...]
    series: tuple[TimelineSeries, ...]


def timeline(result: RunResult) -> Timeline:
    trees = list(
        dict.fromkeys(
            [point.tree for point in result.prices]
            + [tree_of(lease.leaf) for lease in result.leases]
        )
    )
    leaves = sorted(
        {lease.leaf for lease in result.leases},
        key=lambda leaf: (trees.index(tree_of(leaf)), _natural(leaf)),
    )
    reasons = sorted({lease.reason for lease in result.leases})
    places = (
        _positions(leaves),
        _positions(one.tenant for one in result.tenants),
        _positions(reasons),
    )
    return Timeline(
        scenario=result.scenario,
        cloud=result.cloud,
        seed=result.seed,
        gpus=result.gpus,
        span_s=round(result.hours * 3600, 2),
        demand=round(result.demand, 3),
        retention=round(result.retention, 4) if result.measured else None,
        utilisation=round(result.utilisation, 4),
        revenue=round(result.revenue, 2),
        tenants=tuple(_tenant(one) for one in result.tenants),
        leaves=tuple(leaves),
        reasons=tuple(reasons),
        leases=tuple(_lease(lease, *places) for lease in result.leases),
        series=tuple(_series(result, tree) for tree in trees),
    )


def _tenant(one: TenantResult) -> TimelineTenant:
    return TimelineTenant(
        name=one.tenant,
        kind=one.kind,
        start_s=round(one.start_s, 2),
        end_s=round(one.end_s, 2),
        retention=round(one.retention, 4) if one.is_measured else None,
        performance=round(one.performance, 4),
        alone=round(one.alone, 4),
        cost=round(one.cost, 4),
        hours=(
            round(one.useful_hours, 4),
            round(one.reconfiguring_hours, 4),
            round(one.lost_hours, 4),
            round(one.surplus_hours, 4),
        ),
        moves=one.moves,
        revocations=one.revocations,
    )


def _lease(
    lease: Lease, leaves: dict[str, int], tenants: dict[str, int], reasons: dict[str, int]
) -> TimelineLease:
    return TimelineLease(
        leaf=leaves[lease.leaf],
        tenant=tenants[lease.tenant],
        start_s=round(lease.start / SECOND_US, 2),
        end_s=round(lease.end / SECOND_US, 2),
        reason=reasons[lease.reason],
        cost=round(dollars(lease.charge), 4),
        prices=tuple(_pieces(lease)),
    )


def _pieces(lease: Lease) -> Iterable[float]:
    """Leave out what cannot be told from the piece before."""
    shown: float | None = None
    for start, rate in lease.prices:
        price = round(rate / MICRO_PER_DOLLAR, 4)
        if price != shown:
            yield from (round(start / SECOND_US, 2), price)
        shown = price


def _series(result: RunResult, tree: str) -> TimelineSeries:
    points = [point for point in result.prices if point.tree == tree]
    return TimelineSeries(
        tree=tree,
        at_s=tuple(round(point.at_s, 2) for point in points),
        quoted=tuple(None if point.price is None else round(point.price, 4) for point in points),
        charged=tuple(
            None if point.charged is None else round(point.charged, 4) for point in points
        ),
        leased=tuple(point.leased for point in points),
    )


def _positions(names: Iterable[str]) -> dict[str, int]:
    return {name: position for position, name in enumerate(names)}


def _natural(path: str) -> list[tuple[int, int, str]]:
    """So that `gpu10` comes after `gpu9`."""
    return [
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in re.split(r"(\d+)", path)
        if part
    ]
