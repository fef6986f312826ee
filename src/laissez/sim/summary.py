"""The figures of a comparison: each cloud over all seeds, and the market against the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Final

import msgspec

from laissez.sim.results import ACCOUNTS, RunResult
from laissez.sim.statistics import Bootstrap, Estimate, Spread, spread

OURS: Final = "market"
BEST: Final = "ideal"


class CloudSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Means over seeds; hours, counts and money are per run. `tenants` is the spread of retention
    over the measured tenants of all seeds. Without measured tenants, retention is unknown."""

    cloud: str
    retention: Estimate | None
    degradation: Estimate | None
    retention_by_kind: dict[str, Estimate]
    tenants: Spread | None
    utilisation: float
    useful_hours: float
    reconfiguring_hours: float
    lost_hours: float
    surplus_hours: float
    idle_hours: float
    revocations: float
    moves: float
    requests: float
    cost: float
    performance_per_dollar: float | None  # of all measured tenants; None if they paid nothing


class Against(msgspec.Struct, frozen=True):
    """The market compared with this cloud: the difference of mean retention, and the reduction of
    mean degradation, None without degradation."""

    cloud: str
    difference: Estimate
    reduction: Estimate | None
    # how far the market is on the way from this cloud to the ideal one, if that ran too
    way_to_ideal: Estimate | None = None


class Summary(msgspec.Struct, frozen=True):
    scenario: str
    seeds: tuple[int, ...]
    demand: float
    gpus: float
    clouds: tuple[CloudSummary, ...]
    market_against: tuple[Against, ...]


def summarise(runs: Sequence[RunResult]) -> Summary:
    """Summarise the runs of a comparison, in which every cloud ran under the same seeds."""
    by_cloud: dict[str, list[RunResult]] = {}
    for run in runs:
        by_cloud.setdefault(run.cloud, []).append(run)
    seeds = tuple(dict.fromkeys(run.seed for run in runs))
    bootstrap = Bootstrap(len(seeds))
    is_known = all(run.measured for run in runs)
    return Summary(
        runs[0].scenario,
        seeds,
        fmean(run.demand for run in runs),
        fmean(run.gpus for run in runs),
        tuple(_cloud(cloud, theirs, bootstrap) for cloud, theirs in by_cloud.items()),
        _market_against(by_cloud, bootstrap) if is_known and OURS in by_cloud else (),
    )


def _market_against(
    by_cloud: dict[str, list[RunResult]], bootstrap: Bootstrap
) -> tuple[Against, ...]:
    retentions = {cloud: [run.retention for run in runs] for cloud, runs in by_cloud.items()}
    ours, best, found = retentions.pop(OURS), retentions.get(BEST), []
    for cloud, theirs in retentions.items():
        way = (
            None if best is None or cloud == BEST else bootstrap.part_of_the_way(ours, theirs, best)
        )
        difference, reduction = (
            bootstrap.difference(ours, theirs),
            bootstrap.reduction(ours, theirs),
        )
        found.append(Against(cloud, difference, reduction, way))
    return tuple(found)


def _cloud(cloud: str, runs: list[RunResult], bootstrap: Bootstrap) -> CloudSummary:
    def mean(figure: Callable[[RunResult], float]) -> float:
        return fmean(map(figure, runs))

    def mean_total(field: str) -> float:
        return mean(lambda run: run.total(field))

    tenants = [tenant for run in runs for tenant in run.measured]
    paid = sum(tenant.cost for tenant in tenants)
    performance = sum(tenant.performance for tenant in tenants)
    return CloudSummary(
        cloud=cloud,
        retention=bootstrap.mean([run.retention for run in runs]) if tenants else None,
        degradation=bootstrap.mean([1 - run.retention for run in runs]) if tenants else None,
        retention_by_kind={
            kind: bootstrap.mean([_retention_of(kind, run) for run in runs])
            for kind in dict.fromkeys(tenant.kind for tenant in tenants)
        },
        tenants=spread([tenant.retention for tenant in tenants]) if tenants else None,
        utilisation=mean(lambda run: run.utilisation),
        **{account: mean_total(account) for account in ACCOUNTS},
        idle_hours=mean(lambda run: run.idle_hours),
        revocations=mean_total("revocations"),
        moves=mean_total("moves"),
        requests=mean(lambda run: run.requests),
        cost=mean_total("cost"),
        performance_per_dollar=performance / paid if paid else None,
    )


def _retention_of(kind: str, run: RunResult) -> float:
    return fmean(tenant.retention for tenant in run.tenants if tenant.kind == kind)
