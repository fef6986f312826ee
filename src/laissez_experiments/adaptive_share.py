"""What the market gains over fcfs when only some of the tenants trade through adapters, and who
gains. (Not in the paper.)

The others hold as many GPUs as they need in the mean, as they would on demand today.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Final

import msgspec

from laissez.sim.boxplot import SOFT
from laissez.sim.results import RunResult, TenantResult
from laissez.sim.scenario import Scenario
from laissez.sim.statistics import Bootstrap, Estimate
from laissez.sim.workloads.population import ON_DEMAND_TIMES, who_adapts
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.cloud_run import came_to, retentions, runs_of
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import PERCENT, TOO_FEW, Claim, Findings, Rows, interval
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.regimes import SLIGHTLY, sized, with_tenants
from laissez_experiments.lab.style import LOOKS, dress, new_figure, of_cloud, with_tips
from laissez_experiments.lab.sweeps import shown

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


class AdaptiveShare(Experiment):
    name = "adaptive-share"
    title = "When only some tenants adapt"
    is_beyond = True
    takes_half = True

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return [
            cell
            for share in shares(plan)
            for cell in runs_of(scenario(share, plan), CLOUDS, plan.all_seeds)
        ]

    def findings(self, plan: Plan, results: Results) -> Findings:
        found = [Point(plan, share, results) for share in shares(plan)]
        # all adapt in the last of all: nobody is left who does not
        first, last = found[0], found[-2]
        return Findings(
            claims=[
                *(
                    _claim(
                        f"reduction of degradation against fcfs with {point.label} adaptive"
                        " tenants",
                        point.reduction,
                        "%",
                        PERCENT,
                    )
                    for point in found
                ),
                _claim(
                    f"what adaptive tenants keep more than on fcfs where {first.label} of all"
                    " adapt",
                    first.gain(ADAPTIVE),
                    "retention",
                ),
                _claim(
                    f"what fixed tenants keep more than on fcfs where {last.label} of all adapt",
                    last.gain(FIXED),
                    "retention",
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
    return (
        usual
        if share == 1
        else msgspec.structs.replace(
            with_tenants(usual, adaptive=share), name=f"{usual.name}, {share:.0%} adapt"
        )
    )


class Point:
    """One share of adaptive tenants, and what came of it."""

    def __init__(self, plan: Plan, share: float, results: Results) -> None:
        self.plan, self.share, self._results = plan, share, results
        self.label = f"{share * PERCENT:g} %"
        self.scenario = scenario(share, plan)
        self._bootstrap = Bootstrap(plan.seeds)

    @property
    def groups(self) -> list[str]:
        return [ADAPTIVE] if self.share == 1 else [ADAPTIVE, FIXED]

    def runs(self, cloud: str) -> list[RunResult]:
        return came_to(self.scenario, cloud, self.plan.all_seeds, self._results)

    @cached_property
    def reduction(self) -> Estimate | None:
        return self._bootstrap.reduction(
            *(
                retentions(self.scenario, cloud, self.plan.all_seeds, self._results)
                for cloud in CLOUDS
            )
        )

    def mean(self, cloud: str, group: str = ALL) -> Estimate:
        return self._bootstrap.mean(self._kept(group, cloud))

    def gain(self, group: str) -> Estimate:
        """What they keep more on the market than the same tenants on fcfs."""
        return self._bootstrap.difference(*(self._kept(group, cloud) for cloud in CLOUDS))

    def _kept(self, group: str, cloud: str) -> list[float]:
        """In the mean over the tenants of that group, seed by seed."""
        return [
            fmean(tenant.retention for tenant, one in self._grouped(run) if group in (one, ALL))
            for run in self.runs(cloud)
        ]

    def a_run(self, field: str, group: str, cloud: str) -> float:
        """The sum over the tenants of that group, in the mean of runs."""
        total: float = sum(
            getattr(tenant, field)
            for run in self.runs(cloud)
            for tenant, one in self._grouped(run)
            if one == group
        )
        return total / self.plan.seeds

    def _grouped(self, run: RunResult) -> list[tuple[TenantResult, str]]:
        adaptive = who_adapts(self.scenario, run.seed)
        return [
            (tenant, ADAPTIVE if number in adaptive else FIXED)
            for number, tenant in enumerate(run.tenants)
        ]

    def rows(self) -> Rows:
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


def _claim(claim: str, found: Estimate | None, unit: str, times: float = 1.0) -> Claim:
    return Claim(
        figure=AdaptiveShare.name,
        claim=claim,
        paper=None,
        measured=None if found is None else found.value * times,
        interval=interval(found, times),
        holds=None,
        unit=unit,
        note="" if found is not None and found.has_interval else TOO_FEW,
    )


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
    """Where hardly anyone gives way: who gets GPUs, and for how much."""
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
    return (
        f"{abs(less):.0f} % {'smaller' if less >= 0 else 'larger'}"
        if round(less)
        else "about the same"
    )


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
        _curve(left, cloud, ALL, points)
        for group in (ADAPTIVE, FIXED):
            _curve(right, cloud, group, [point for point in points if group in point.groups])
    _names(left, points[-1])
    for point in points:
        _reduction(left, point)
    left.set_ylabel("mean retention")
    left.margins(y=0.12)
    figure.supxlabel(_caption(points), fontsize=7.5, color=SOFT, x=0.02, ha="left")
    return figure


def _caption(points: Sequence[Point]) -> str:
    seeds = points[0].plan.seeds
    whiskers = " Whiskers: 95 % intervals." if points[0].mean("market").has_interval else ""
    return (
        f"Means over {seeds} seed{'s' if seeds > 1 else ''}.{whiskers} Left, above: the market's"
        " degradation against that of fcfs."
    )


def _curve(axes: Axes, cloud: str, group: str, points: Sequence[Point]) -> None:
    """Fixed tenants have hollow marks."""
    look, means = LOOKS[cloud], [point.mean(cloud, group) for point in points]
    places, values = (
        [point.share * PERCENT + ASIDE[cloud] for point in points],
        [one.value for one in means],
    )
    of_cloud(
        cloud,
        *axes.plot(places, values, color=look.line, linestyle=look.dash, linewidth=1.6, zorder=3),
    )
    for place, one in zip(places, means, strict=True):
        if one.low is not None and one.high is not None:
            of_cloud(
                cloud,
                *axes.plot(
                    [place, place],
                    [one.low, one.high],
                    color=look.line,
                    linewidth=1.2,
                    marker="_",
                    zorder=4,
                ),
            )
    fill = "white" if group == FIXED else look.fill
    marks = axes.scatter(
        places,
        values,
        s=34,
        marker=look.marker,
        color=fill,
        edgecolors=look.line,
        linewidths=1.2,
        zorder=5,
    )
    with_tips(f"{group}-{cloud}", marks, cloud)


def _names(axes: Axes, last: Point) -> None:
    """Beside the ends of the curves, the one of the higher curve not below it and the other not
    above it."""
    lower, higher = sorted(CLOUDS, key=lambda cloud: last.mean(cloud).value)
    for cloud, side in ((lower, "top"), (higher, "bottom")):
        place = (1.01, last.mean(cloud).value)
        of_cloud(
            cloud,
            axes.annotate(
                cloud,
                place,
                xycoords=("axes fraction", "data"),
                color=LOOKS[cloud].line,
                va=side,
                fontweight="bold",
            ),
        )


def _reduction(axes: Axes, point: Point) -> None:
    """Above what tenants keep: by how much less they lose on the market."""
    if point.reduction is None:
        return
    top = max(mean.high or mean.value for mean in map(point.mean, CLOUDS))
    sign = (
        "\N{PLUS-MINUS SIGN}"
        if round(point.reduction.value, 2) == 0
        else "\N{MINUS SIGN}"
        if point.reduction.value > 0
        else "+"
    )
    text = f"{sign}{abs(point.reduction.value):.0%}"
    place = (point.share * PERCENT, top)
    name = axes.annotate(
        text,
        place,
        (0, 6),
        textcoords="offset points",
        ha="center",
        va="bottom",
        color=LOOKS["market"].line,
        fontsize=8.5,
    )
    of_cloud("market", name)
