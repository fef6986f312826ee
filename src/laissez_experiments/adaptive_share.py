"""The market's gain over fcfs when only some of the tenants trade through adapters, and the groups
of tenants that gain. (Not in the paper.)

The others hold as many GPUs as they need in the mean, as they would on demand today.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Final

import msgspec

from laissez.sim.results import RunResult, TenantResult
from laissez.sim.scenario import Scenario
from laissez.sim.statistics import Estimate
from laissez.sim.workloads.population import ON_DEMAND_TIMES, who_adapts
from laissez_experiments.lab.cloud_run import CloudExperiment, Runs
from laissez_experiments.lab.experiment import Results
from laissez_experiments.lab.findings import (
    PERCENT,
    TOO_FEW,
    Claim,
    Findings,
    Row,
    estimated,
    shown,
)
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.regimes import SLIGHTLY, sized, with_tenants
from laissez_experiments.lab.style import (
    LOOKS,
    beside,
    caption,
    curve,
    dress,
    near,
    new_figure,
    of_cloud,
)
from laissez_experiments.lab.sweeps import over_seeds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHARES: Final = (0.1, 0.4, 0.7, 1.0)
QUICK_SHARES: Final = (0.25, 1.0)
CLOUDS: Final = ("market", "fcfs")
ALL: Final = "all"
ADAPTIVE: Final = "adaptive"
FIXED: Final = "fixed"
HEIGHT_IN: Final = 3.5
ASIDE: Final = {"market": -0.9, "fcfs": 0.9}  # percent: so that no whisker hides another


class AdaptiveShare(CloudExperiment):
    name = "adaptive-share"
    title = "When only some tenants adapt"
    is_beyond = True
    takes_half = True
    clouds = CLOUDS

    def scenarios(self, plan: Plan) -> Sequence[Scenario]:
        return [scenario(share, plan) for share in shares(plan)]

    def findings(self, plan: Plan, results: Results) -> Findings:
        runs = Runs(plan, results)
        found = [Point(share, runs) for share in shares(plan)]
        # all adapt at the last point, so the one before it is the last with fixed tenants
        first, last = found[0], found[-2]
        return Findings(
            claims=[
                *(
                    _claim(
                        f"reduction of degradation against fcfs with {point.label} adaptive"
                        " tenants",
                        point.reduction,
                        "%",
                    )
                    for point in found
                ),
                _claim(
                    f"what adaptive tenants keep more than on fcfs where {first.label} of all"
                    " adapt",
                    first.gain(ADAPTIVE),
                ),
                _claim(
                    f"what fixed tenants keep more than on fcfs where {last.label} of all adapt",
                    last.gain(FIXED),
                ),
            ],
            text=_text(found),
            rows=[row for point in found for row in point.rows()],
            draw=lambda: _drawn(found),
            tips=_tips(found),
        )


def shares(plan: Plan) -> tuple[float, ...]:
    return QUICK_SHARES if plan.quick else SHARES


def scenario(share: float, plan: Plan) -> Scenario:
    """Where all adapt, it is the one of the other experiments, by name too."""
    usual = sized(SLIGHTLY, plan)
    if share == 1:
        return usual
    name = f"{usual.name}, {share:.0%} adapt"
    return msgspec.structs.replace(with_tenants(usual, adaptive=share), name=name)


class Point:
    """One share of adaptive tenants, with its runs."""

    def __init__(self, share: float, runs: Runs) -> None:
        self.share, self.plan, self._runs = share, runs.plan, runs
        self.label = f"{share * PERCENT:g} %"
        self.scenario = scenario(share, runs.plan)
        self.groups = [ADAPTIVE] if share == 1 else [ADAPTIVE, FIXED]

    def runs(self, cloud: str) -> list[RunResult]:
        return self._runs.on(cloud, self.scenario)

    @cached_property
    def reduction(self) -> Estimate | None:
        return self._runs.reduction("fcfs", self.scenario)

    def mean(self, cloud: str, group: str = ALL) -> Estimate:
        return self._runs.bootstrap.mean(self._kept(group, cloud))

    def gain(self, group: str) -> Estimate:
        """The group's retention on the market less that of the same tenants on fcfs."""
        return self._runs.bootstrap.difference(*(self._kept(group, cloud) for cloud in CLOUDS))

    def _kept(self, group: str, cloud: str) -> list[float]:
        """In the mean over the tenants of that group, seed by seed."""
        return [
            fmean(tenant.retention for tenant, one in self._grouped(run) if group in (one, ALL))
            for run in self.runs(cloud)
        ]

    def a_run(self, field: str, group: str, cloud: str) -> float:
        """The sum over the tenants of that group, in the mean of runs."""
        grouped = [pair for run in self.runs(cloud) for pair in self._grouped(run)]
        total: float = sum(getattr(tenant, field) for tenant, one in grouped if one == group)
        return total / self.plan.seeds

    def _grouped(self, run: RunResult) -> list[tuple[TenantResult, str]]:
        adaptive = who_adapts(self.scenario, run.seed)
        return [
            (tenant, ADAPTIVE if number in adaptive else FIXED)
            for number, tenant in enumerate(run.tenants)
        ]

    def rows(self) -> list[Row]:
        return [
            {
                "adaptive_share": self.share,
                "cloud": cloud,
                "seed": run.seed,
                "tenant": tenant.tenant,
                "kind": tenant.kind,
                "trades": group,
                "performance": tenant.performance,
                "retention": tenant.retention,
                "cost": tenant.cost,
            }
            for cloud in CLOUDS
            for run in self.runs(cloud)
            for tenant, group in self._grouped(run)
        ]


def _claim(claim: str, found: Estimate | None, unit: str = "retention") -> Claim:
    decided = found is not None and found.has_interval
    return estimated(claim, None, found, None, unit, "" if decided else TOO_FEW)


def _text(points: Sequence[Point]) -> str:
    tenants, seeds = len(points[0].runs("market")[0].tenants), points[0].plan.seeds
    return (
        f"{tenants} tenants on the slightly oversubscribed cluster, under {seeds}"
        f" seed{'s' if seeds > 1 else ''}. Some trade through adapters; the others hold as many"
        f" GPUs as they need in the mean, at a limit of {ON_DEMAND_TIMES:g} times the highest list"
        " price, whatever the cloud. "
        + " ".join(f"Where {point.label} adapt, {_told(point)}." for point in points)
        + f" {_bought(points[0])}"
    )


def _bought(fewest: Point) -> str:
    """The GPUs of each group and their cost at the smallest share of adaptive tenants."""
    paid = [fewest.a_run("cost", FIXED, cloud) for cloud in CLOUDS]
    held = [fewest.a_run("held_hours", ADAPTIVE, cloud) for cloud in CLOUDS]
    return (
        f"Where it is {fewest.label}, fixed tenants pay {paid[0]:.0f} dollars a run on the market"
        f" and {paid[1]:.0f} on fcfs; adaptive ones hold {held[0]:.1f} GPU-hours against"
        f" {held[1]:.1f}, and have a GPU taken away"
        f" {fewest.a_run('revocations', ADAPTIVE, 'market'):.0f} times a run."
    )


def _told(point: Point) -> str:
    less = None if point.reduction is None else point.reduction.value * PERCENT
    reduction = "" if less is None else f", a degradation that is {_compared(less)}"
    groups = "; ".join(
        f"{group} tenants keep {point.mean('market', group).value:.3f} against"
        f" {point.mean('fcfs', group).value:.3f}"
        for group in point.groups
    )
    told = (
        f"tenants keep {point.mean('market').value:.3f} on the market and"
        f" {point.mean('fcfs').value:.3f} on fcfs{reduction}"
    )
    return told if len(point.groups) == 1 else f"{told}; {groups}"


def _compared(less: float) -> str:
    if not round(less):
        return "about the same"
    return f"{abs(less):.0f} % {'smaller' if less >= 0 else 'larger'}"


def _tips(points: Sequence[Point]) -> dict[str, list[str]]:
    return {
        f"{group}-{cloud}": [
            f"{point.label} adapt; {group} tenants, {cloud}: {shown(point.mean(cloud, group))}"
            for point in points
            if group in (ALL, *point.groups)
        ]
        for group in (ALL, ADAPTIVE, FIXED)
        for cloud in CLOUDS
    }


def _drawn(points: Sequence[Point]) -> Figure:
    figure = new_figure(HEIGHT_IN)
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, title in ((left, "all tenants"), (right, "filled: who adapt; hollow: who do not")):
        dress(axes)
        axes.set_title(title)
        axes.set_xticks([point.share * PERCENT for point in points])
        axes.set_xlim(0, 112)
        axes.set_xlabel("tenants with adapters (%)")
    for cloud in CLOUDS:
        for axes, group in ((left, ALL), (right, ADAPTIVE), (right, FIXED)):
            members = [point for point in points if group in (ALL, *point.groups)]
            means = [point.mean(cloud, group) for point in members]
            places = [point.share * PERCENT + ASIDE[cloud] for point in members]
            fill = "white" if group == FIXED else None
            curve(axes, cloud, places, means, f"{group}-{cloud}", fill=fill)
    _names(left, points[-1])
    for point in points:
        _reduction(left, point)
    left.set_ylabel("mean retention")
    left.margins(y=0.12)
    whiskers = " Whiskers: 95 % intervals." if points[0].mean("market").has_interval else ""
    caption(
        figure,
        f"Means {over_seeds(points[0].plan.seeds)}.{whiskers} Left, above: the market's"
        " degradation against that of fcfs.",
    )
    return figure


def _names(axes: Axes, last: Point) -> None:
    """Name the curves at their ends: the higher one above its end, the lower one below."""
    lower, higher = sorted(CLOUDS, key=lambda cloud: last.mean(cloud).value)
    for cloud, side in ((lower, "top"), (higher, "bottom")):
        looks = {"color": LOOKS[cloud].line, "va": side, "fontweight": "bold"}
        of_cloud(cloud, beside(axes, cloud, last.mean(cloud).value, 1.01, **looks))


def _reduction(axes: Axes, point: Point) -> None:
    """Write the reduction of degradation above the means."""
    if point.reduction is None:
        return
    less = point.reduction.value
    top = max(mean.high or mean.value for mean in map(point.mean, CLOUDS))
    sign = "\N{MINUS SIGN}" if less > 0 else "+"
    if round(less, 2) == 0:
        sign = "\N{PLUS-MINUS SIGN}"
    at, looks = (point.share * PERCENT, top), {"ha": "center", "va": "bottom", "fontsize": 8.5}
    colour = LOOKS["market"].line
    of_cloud("market", near(axes, f"{sign}{abs(less):.0%}", at, (0, 6), color=colour, **looks))
