"""Sweeps: what tenants keep, and how much they change over, along a parameter of the scenario.

Every point has the same seeds, and two points are compared seed by seed. Where the parameter
changes nothing that tenants are drawn by (see `Setting.varied`), they are the same tenants, as on
two clouds; elsewhere only the streams of chance are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from statistics import fmean
from typing import TYPE_CHECKING, Final

import msgspec

from laissez.sim.boxplot import SOFT
from laissez.sim.results import RunResult
from laissez.sim.scenario import KINDS, Scenario
from laissez.sim.statistics import Bootstrap, Estimate
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.cloud_run import came_to, runs_of
from laissez_experiments.lab.experiment import Results
from laissez_experiments.lab.findings import (
    PERCENT,
    TOO_FEW,
    TOO_WIDE,
    Claim,
    Number,
    Rows,
    holds_at_least,
    interval,
)
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.style import LOOKS, dress, new_figure, of_cloud, with_tips

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EXCHANGES: Final = ("moves", "revocations")  # a GPU changed hands
CHURN: Final[Mapping[str, str]] = {
    "moves": "moves a run",
    "revocations": "revocations a run",
    "reconfiguring_hours": "GPU-hours reconfiguring",
}
HEIGHT_IN: Final = 4.3
HEIGHTS: Final = (2.1, 1.0)  # of the curves and of the panels below them, to one another
LABEL_HEIGHT: Final = 0.075  # of the curves' panel
ASIDE: Final = 0.05  # of the axis: so much is left free on both sides
BESIDE: Final = 0.012
RANGE_MIN: Final = 0.04  # of retention: what hardly differs should look so


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One value of the parameter: where it is on the axis, what is written there and in texts, and
    the scenario that has it."""

    at: float
    tick: str
    label: str
    scenario: Scenario
    clouds: tuple[str, ...] = ("market",)


def cells_of(points: Sequence[Point], plan: Plan) -> list[Cell]:
    return [
        cell for point in points for cell in runs_of(point.scenario, point.clouds, plan.all_seeds)
    ]


class Sweep:
    """The points with what came of them. `usual` is the one of them at which the parameter is what
    it is elsewhere."""

    def __init__(self, points: Sequence[Point], usual: Point, plan: Plan, results: Results) -> None:
        self.points, self.usual, self.plan = points, usual, plan
        self._results = results
        self._means: dict[tuple[float, str], Estimate] = {}

    @cached_property
    def bootstrap(self) -> Bootstrap:
        return Bootstrap(self.plan.seeds)

    @property
    def clouds(self) -> list[str]:
        return list(dict.fromkeys(cloud for point in self.points for cloud in point.clouds))

    def runs(self, point: Point, cloud: str = "market") -> list[RunResult]:
        return came_to(point.scenario, cloud, self.plan.all_seeds, self._results)

    def retentions(self, point: Point, cloud: str = "market") -> list[float]:
        return [run.retention for run in self.runs(point, cloud)]

    def retention(self, point: Point, cloud: str = "market") -> Estimate:
        """The mean; asked for often, reckoned once."""
        if (point.at, cloud) not in self._means:
            self._means[point.at, cloud] = self.bootstrap.mean(self.retentions(point, cloud))
        return self._means[point.at, cloud]

    def gains(self, point: Point, base: Point, cloud: str) -> list[float]:
        """What tenants of the market keep more than those of the other cloud, which ran at
        `base`."""
        return [
            ours - theirs
            for ours, theirs in zip(
                self.retentions(point), self.retentions(base, cloud), strict=True
            )
        ]

    def totals(self, point: Point, *fields: str) -> list[float]:
        """Of the market's tenants together."""
        return [sum(run.total(field) for field in fields) for run in self.runs(point)]

    def dollars_per_hour(self, point: Point, cloud: str = "market") -> float:
        """What a leased GPU costs an hour, over all runs."""
        runs = self.runs(point, cloud)
        return sum(run.revenue for run in runs) / sum(map(_leased, runs))

    def less(self, ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
        """By which part the sum of ours is below that of theirs; of nothing, no part is."""
        return self.bootstrap.of(list(zip(ours, theirs, strict=True)), _part_missing)

    def rows(self, parameter: str) -> Rows:
        return [
            {parameter: point.label, "cloud": cloud, "seed": run.seed, **_row(run)}
            for point in self.points
            for cloud in point.clouds
            for run in self.runs(point, cloud)
        ]


def _part_missing(seeds: Sequence[tuple[float, float]]) -> float:
    whole = sum(theirs for _, theirs in seeds)
    return 1 - sum(ours for ours, _ in seeds) / whole if whole > 0 else 0.0


def _row(run: RunResult) -> dict[str, Number | str | None]:
    leased = _leased(run)
    return {
        "gpus": run.gpus,
        "demand": run.demand,
        "retention": run.retention,
        **{f"retention_{kind}": _mean_of(kind, run) for kind in KINDS},
        "moves": run.total("moves"),
        "revocations": run.total("revocations"),
        "reconfiguring_hours": run.total("reconfiguring_hours"),
        "lost_hours": run.total("lost_hours"),
        "idle_hours": run.idle_hours,
        "dollars_per_gpu_hour": run.revenue / leased if leased else None,
    }


def _leased(run: RunResult) -> float:
    return run.gpus * run.hours - run.idle_hours


def _mean_of(kind: str, run: RunResult) -> float | None:
    retentions = [one.retention for one in run.measured if one.kind == kind]
    return fmean(retentions) if retentions else None


def is_above_zero(estimate: Estimate) -> bool | None:
    return holds_at_least(estimate, 0.0)


def judged(
    figure: str,
    claim: str,
    paper: Number | str | None,
    found: Estimate,
    holds: Callable[[Estimate], bool | None] = is_above_zero,
    unit: str = "retention",
    reason: str = "",
    note: str = "",
) -> Claim:
    """A claim about one estimate: by default that it is above zero. In percent where the unit says
    so. The reason is for one that does not hold."""
    times, verdict = (PERCENT if unit == "%" else 1.0), holds(found)
    return Claim(
        figure=figure,
        claim=claim,
        paper=paper,
        measured=found.value * times,
        interval=interval(found, times),
        holds=verdict,
        unit=unit,
        note="; ".join(filter(None, (_why(found, verdict, reason), note))),
    )


def _why(found: Estimate, verdict: bool | None, reason: str) -> str:
    """Why a claim is not said to hold."""
    if not found.has_interval:
        return TOO_FEW
    if verdict is None:
        return TOO_WIDE
    return (
        ""
        if verdict
        else "; ".join(
            filter(None, ("" if found.excludes_zero else "the interval includes 0", reason))
        )
    )


def shown(estimate: Estimate, digits: int = 3) -> str:
    """For a text: the figure, and its interval where there is one."""
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.{digits}f}"
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def drawn(sweep: Sweep, axis: str, levels: Sequence[str] = ()) -> Figure:
    """Retention along the parameter, cloud by cloud, and below it how much the market's tenants
    change over.

    `levels` are clouds to which the parameter means nothing: they ran once and are the same all
    along the axis.
    """
    figure = new_figure(HEIGHT_IN)
    grid = figure.add_gridspec(2, len(CHURN), height_ratios=HEIGHTS)
    _curves(figure.add_subplot(grid[0, :]), sweep, axis, levels)
    for column, (field, title) in enumerate(CHURN.items()):
        _churn(figure.add_subplot(grid[1, column]), sweep, field, title)
    figure.supxlabel(_caption(sweep, levels), fontsize=7.5, color=SOFT, x=0.02, ha="left")
    return figure


def tips(sweep: Sweep) -> dict[str, list[str]]:
    """What the points of the curves say."""
    return {
        cloud: [
            f"{point.label}, {cloud}: {shown(sweep.retention(point, cloud))}"
            for point in sweep.points
            if cloud in point.clouds
        ]
        for cloud in sweep.clouds
    }


def _caption(sweep: Sweep, levels: Sequence[str]) -> str:
    seeds = f"{sweep.plan.seeds} seed{'s' if sweep.plan.seeds > 1 else ''}"
    if not sweep.retention(sweep.usual).has_interval:
        return f"Means over {seeds}. Below: the market alone."
    marks = "whiskers and bands" if levels else "whiskers"
    return (
        f"Means over {seeds}, the same at all points; {marks}: 95 % intervals. Below: the market"
        " alone."
    )


def _curves(axes: Axes, sweep: Sweep, axis: str, levels: Sequence[str]) -> None:
    dress(axes)
    _place(axes, sweep, sweep.points)
    ends: dict[str, float] = {}
    for cloud in sweep.clouds:
        points = [point for point in sweep.points if cloud in point.clouds]
        means = [sweep.retention(point, cloud) for point in points]
        ends[cloud] = means[-1].value
        if cloud in levels:
            _level(axes, cloud, means[0])
        else:
            _line(axes, cloud, points, means, is_whole=len(points) == len(sweep.points))
    _widen(axes)
    _label_ends(axes, ends)
    axes.set_xlabel(axis)
    axes.set_ylabel("mean retention")


def _place(axes: Axes, sweep: Sweep, ticks: Sequence[Point]) -> None:
    """The axis of the parameter, with these points named on it."""
    first, last = sweep.points[0].at, sweep.points[-1].at
    aside = (last - first) * ASIDE
    axes.set_xlim(first - aside, last + aside)
    axes.set_xticks([point.at for point in ticks], [point.tick for point in ticks])


def _line(
    axes: Axes, cloud: str, points: Sequence[Point], means: Sequence[Estimate], is_whole: bool
) -> None:
    """Where points are missing none are joined, for what is between them is not known; they stand a
    little aside, to be seen beside a curve."""
    low, high = axes.get_xlim()
    aside = 0.0 if is_whole else (high - low) * BESIDE
    look, places, values = (
        LOOKS[cloud],
        [point.at + aside for point in points],
        [mean.value for mean in means],
    )
    dash = look.dash if is_whole else "none"
    of_cloud(
        cloud, *axes.plot(places, values, color=look.line, linestyle=dash, linewidth=1.6, zorder=3)
    )
    _whiskers(axes, cloud, places, means)
    with_tips(
        cloud,
        axes.scatter(
            places,
            values,
            s=34,
            marker=look.marker,
            color=look.fill,
            edgecolors=look.line,
            linewidths=1,
            zorder=5,
        ),
        cloud,
    )


def _whiskers(axes: Axes, cloud: str, places: Sequence[float], means: Sequence[Estimate]) -> None:
    for place, mean in zip(places, means, strict=True):
        if mean.low is not None and mean.high is not None:
            of_cloud(
                cloud,
                *axes.plot(
                    [place, place],
                    [mean.low, mean.high],
                    color=LOOKS[cloud].line,
                    linewidth=1.2,
                    marker="_",
                    zorder=4,
                ),
            )


def _level(axes: Axes, cloud: str, mean: Estimate) -> None:
    look = LOOKS[cloud]
    of_cloud(
        cloud,
        axes.axhline(mean.value, color=look.line, linestyle=look.dash, linewidth=1.6, zorder=3),
    )
    if mean.low is not None and mean.high is not None:
        of_cloud(
            cloud,
            axes.axhspan(mean.low, mean.high, color=look.line, alpha=0.14, linewidth=0, zorder=1),
        )


def _widen(axes: Axes) -> None:
    low, high = axes.get_ylim()
    more = max(0.0, RANGE_MIN - (high - low)) / 2
    axes.set_ylim(low - more, high + more)


def _label_ends(axes: Axes, ends: Mapping[str, float]) -> None:
    """The name of each curve beside its end, moved up where two would be in each other's way."""
    low, high = axes.get_ylim()
    order = sorted(ends, key=ends.__getitem__)
    wanted = [(ends[cloud] - low) / (high - low) for cloud in order]
    heights = accumulate(wanted, lambda below, own: max(own, below + LABEL_HEIGHT))
    for cloud, height in zip(order, heights, strict=True):
        name = axes.annotate(
            cloud,
            (1.01, height),
            xycoords="axes fraction",
            va="center",
            color=LOOKS[cloud].line,
            fontweight="bold",
        )
        of_cloud(cloud, name)


def _churn(axes: Axes, sweep: Sweep, field: str, title: str) -> None:
    dress(axes)
    ticks = [
        point for point in sweep.points if point in (sweep.points[0], sweep.usual, sweep.points[-1])
    ]
    _place(axes, sweep, ticks)
    means = [sweep.bootstrap.mean(sweep.totals(point, field)) for point in sweep.points]
    look, places = LOOKS["market"], [point.at for point in sweep.points]
    of_cloud(
        "market",
        *axes.plot(
            places,
            [mean.value for mean in means],
            color=look.line,
            linewidth=1.4,
            marker=look.marker,
            markersize=3.5,
            zorder=3,
            clip_on=False,
        ),
    )
    _whiskers(axes, "market", places, means)
    axes.set_ylim(
        0, max(mean.value if mean.high is None else mean.high for mean in means) * 1.12 or 1.0
    )
    axes.set_title(title, fontsize=9)
    axes.tick_params(labelsize=8)
