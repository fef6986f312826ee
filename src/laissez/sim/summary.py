"""A comparison in figures: how each cloud did over all seeds, and the market against each of the
others."""

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
    over all measured tenants of all seeds."""

    cloud: str
    retention: Estimate | None  # none where nobody's is known
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
    # of all measured tenants together; none if they paid nothing
    performance_per_dollar: float | None


class Against(msgspec.Struct, frozen=True):
    """The market less this cloud: `difference` of mean retention, and the `reduction` of mean
    degradation, nothing if there is none to reduce."""

    cloud: str
    difference: Estimate
    reduction: Estimate | None
    # the part of it that the market goes, where the ideal cloud ran too
    way_to_ideal: Estimate | None = None


class Summary(msgspec.Struct, frozen=True):
    scenario: str
    seeds: tuple[int, ...]
    demand: float
    gpus: float
    clouds: tuple[CloudSummary, ...]
    market_against: tuple[Against, ...]


def summarise(runs: Sequence[RunResult]) -> Summary:
    """Of all runs of a comparison, in whatever order of clouds; each cloud ran under the same
    seeds."""
    by_cloud = {
        cloud: [run for run in runs if run.cloud == cloud]
        for cloud in dict.fromkeys(run.cloud for run in runs)
    }
    seeds = tuple(dict.fromkeys(run.seed for run in runs))
    bootstrap = Bootstrap(len(seeds))
    retentions = {cloud: [run.retention for run in theirs] for cloud, theirs in by_cloud.items()}
    is_known = all(run.measured for run in runs)
    others = [cloud for cloud in by_cloud if cloud != OURS] if OURS in by_cloud and is_known else []
    return Summary(
        runs[0].scenario,
        seeds,
        fmean(run.demand for run in runs),
        fmean(run.gpus for run in runs),
        tuple(_cloud(cloud, theirs, bootstrap) for cloud, theirs in by_cloud.items()),
        tuple(
            Against(
                cloud,
                bootstrap.difference(retentions[OURS], retentions[cloud]),
                bootstrap.reduction(retentions[OURS], retentions[cloud]),
                bootstrap.part_of_the_way(retentions[OURS], retentions[cloud], retentions[BEST])
                if BEST in retentions and cloud != BEST
                else None,
            )
            for cloud in others
        ),
    )


def _cloud(cloud: str, runs: list[RunResult], bootstrap: Bootstrap) -> CloudSummary:
    def mean(figure: Callable[[RunResult], float]) -> float:
        return fmean(figure(run) for run in runs)

    tenants = [tenant for run in runs for tenant in run.measured]
    paid, performance = (
        sum(tenant.cost for tenant in tenants),
        sum(tenant.performance for tenant in tenants),
    )
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
        **{account: fmean(run.total(account) for run in runs) for account in ACCOUNTS},
        idle_hours=mean(lambda run: run.idle_hours),
        revocations=mean(lambda run: run.total("revocations")),
        moves=mean(lambda run: run.total("moves")),
        requests=mean(lambda run: run.requests),
        cost=mean(lambda run: run.total("cost")),
        performance_per_dollar=performance / paid if paid else None,
    )


def _retention_of(kind: str, run: RunResult) -> float:
    return fmean(tenant.retention for tenant in run.tenants if tenant.kind == kind)
