"""Sweeps: retention, and how often GPUs change hands, along a parameter of the scenario.

Every point has the same seeds, and two points are compared seed by seed. Where the parameter
changes nothing that tenants are drawn by (see `Setting.varied`), the tenants are the same, as on
two clouds; elsewhere only the random streams are the same.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from statistics import fmean
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec

from laissez.sim.results import RunResult
from laissez.sim.scenario import KINDS, Scenario
from laissez.sim.statistics import Estimate
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.cloud_run import Runs, runs_of
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import (
    TOO_FEW,
    TOO_WIDE,
    Claim,
    Findings,
    Number,
    Row,
    estimated,
    is_above_zero,
    joined,
    shown,
)
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.style import (
    LOOKS,
    Looks,
    caption,
    curve,
    dress,
    new_figure,
    of_cloud,
    whisker,
)

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
RANGE_MIN: Final = 0.04  # of retention: small differences should look small


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One value of the parameter: its place on the axis, its names there and in texts, and the
    scenario with it. At the usual one, the parameter has its value in the other experiments."""

    at: float
    tick: str
    label: str
    scenario: Scenario
    clouds: tuple[str, ...] = ("market",)
    is_usual: bool = False


class Sweep(Runs):
    """The points with their runs."""

    def __init__(self, points: Sequence[Point], plan: Plan, results: Results) -> None:
        super().__init__(plan, results)
        self.points = points
        (self.usual,) = [point for point in points if point.is_usual]
        self._means: dict[tuple[float, str], Estimate] = {}

    @property
    def clouds(self) -> list[str]:
        return list(dict.fromkeys(cloud for point in self.points for cloud in point.clouds))

    def at(self, point: Point, cloud: str = "market") -> list[RunResult]:
        return self.on(cloud, point.scenario)

    def kept(self, point: Point, cloud: str = "market") -> list[float]:
        """Retention, seed by seed."""
        return self.retentions(cloud, point.scenario)

    def retention(self, point: Point, cloud: str = "market") -> Estimate:
        """The mean; asked for often, computed once."""
        if (point.at, cloud) not in self._means:
            self._means[point.at, cloud] = self.bootstrap.mean(self.kept(point, cloud))
        return self._means[point.at, cloud]

    def gains(self, point: Point, base: Point, cloud: str) -> list[float]:
        """The market's retention less that of the other cloud, which ran at `base`."""
        pairs = zip(self.kept(point), self.kept(base, cloud), strict=True)
        return [ours - theirs for ours, theirs in pairs]

    def totals(self, point: Point, *fields: str) -> list[float]:
        """The sum over the market's tenants, seed by seed."""
        return [sum(run.total(field) for field in fields) for run in self.at(point)]

    def dollars_per_hour(self, point: Point, cloud: str = "market") -> float:
        """The mean price of a leased GPU-hour, over all runs."""
        runs = self.at(point, cloud)
        return sum(run.revenue for run in runs) / sum(map(_leased, runs))

    def less(self, ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
        """The share by which the sum of ours is below that of theirs; 0 if theirs is nothing."""
        return self.bootstrap.of(list(zip(ours, theirs, strict=True)), _part_missing)

    def rows(self, parameter: str) -> list[Row]:
        return [
            {parameter: point.label, "cloud": cloud, "seed": run.seed, **_row(run)}
            for point in self.points
            for cloud in point.clouds
            for run in self.at(point, cloud)
        ]

    @property
    def tips(self) -> dict[str, list[str]]:
        """The texts at the points of the curves."""
        return {
            cloud: [
                f"{point.label}, {cloud}: {shown(self.retention(point, cloud))}"
                for point in self.points
                if cloud in point.clouds
            ]
            for cloud in self.clouds
        }


class SweepExperiment(Experiment):
    """`parameter` is its column in the CSV file and `axis` its name in the figure. It means nothing
    to the clouds in `levels`, which ran once and are the same all along the axis."""

    takes_half = True
    parameter: ClassVar[str]
    axis: ClassVar[str]
    levels: ClassVar[Sequence[str]] = ()

    @abstractmethod
    def points(self, plan: Plan) -> list[Point]: ...

    @abstractmethod
    def claims(self, sweep: Sweep) -> list[Claim]: ...

    @abstractmethod
    def text(self, sweep: Sweep) -> str: ...

    def cells(self, plan: Plan) -> Sequence[Cell]:
        points = self.points(plan)
        return [cell for point in points for cell in runs_of(point.scenario, point.clouds, plan)]

    def findings(self, plan: Plan, results: Results) -> Findings:
        sweep = Sweep(self.points(plan), plan, results)
        return Findings(
            claims=self.claims(sweep),
            text=self.text(sweep),
            rows=sweep.rows(self.parameter),
            draw=lambda: drawn(sweep, self.axis, self.levels),
            tips=sweep.tips,
        )


def _part_missing(seeds: Sequence[tuple[float, float]]) -> float:
    whole = sum(theirs for _, theirs in seeds)
    return 1 - sum(ours for ours, _ in seeds) / whole if whole > 0 else 0.0


def _row(run: RunResult) -> Row:
    leased = _leased(run)
    return {
        "gpus": run.gpus,
        "demand": run.demand,
        "retention": run.retention,
        **{f"retention_{kind}": _mean_of(kind, run) for kind in KINDS},
        **{field: run.total(field) for field in (*CHURN, "lost_hours")},
        "idle_hours": run.idle_hours,
        "dollars_per_gpu_hour": run.revenue / leased if leased else None,
    }


def _leased(run: RunResult) -> float:
    return run.gpus * run.hours - run.idle_hours


def _mean_of(kind: str, run: RunResult) -> float | None:
    retentions = [one.retention for one in run.measured if one.kind == kind]
    return fmean(retentions) if retentions else None


def judged(
    claim: str,
    paper: Number | str | None,
    found: Estimate,
    holds: Callable[[Estimate], bool | None] = is_above_zero,
    unit: str = "retention",
    reason: str = "",
    note: str = "",
) -> Claim:
    """A claim about one estimate: by default that it is above zero. The reason is added if the
    claim does not hold."""
    verdict = holds(found)
    why = ""
    if not found.has_interval:
        why = TOO_FEW
    elif verdict is None:
        why = TOO_WIDE
    elif not verdict:
        why = joined("" if found.excludes_zero else "the interval includes 0", reason)
    return estimated(claim, paper, found, verdict, unit, joined(why, note))


def drawn(sweep: Sweep, axis: str, levels: Sequence[str] = ()) -> Figure:
    """Retention along the parameter, cloud by cloud, and below it how much the market's tenants
    change over."""
    figure = new_figure(HEIGHT_IN)
    grid = figure.add_gridspec(2, len(CHURN), height_ratios=HEIGHTS)
    _curves(figure.add_subplot(grid[0, :]), sweep, axis, levels)
    for column, (field, title) in enumerate(CHURN.items()):
        _churn(figure.add_subplot(grid[1, column]), sweep, field, title)
    caption(figure, _caption(sweep, levels))
    return figure


def over_seeds(seeds: int) -> str:
    return f"over {seeds} seed{'s' if seeds > 1 else ''}"


def _caption(sweep: Sweep, levels: Sequence[str]) -> str:
    means = f"Means {over_seeds(sweep.plan.seeds)}"
    if not sweep.retention(sweep.usual).has_interval:
        return f"{means}. Below: the market alone."
    marks = "whiskers and bands" if levels else "whiskers"
    return f"{means}, the same at all points; {marks}: 95 % intervals. Below: the market alone."


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
        elif len(points) == len(sweep.points):
            curve(axes, cloud, [point.at for point in points], means, cloud)
        else:
            # points stand alone where others are missing, a little aside to be seen beside a curve
            low, high = axes.get_xlim()
            aside = (high - low) * BESIDE
            places = [point.at + aside for point in points]
            curve(axes, cloud, places, means, cloud, dash="none")
    low, high = axes.get_ylim()
    more = max(0.0, RANGE_MIN - (high - low)) / 2
    axes.set_ylim(low - more, high + more)
    _label_ends(axes, ends)
    axes.set_xlabel(axis)
    axes.set_ylabel("mean retention")


def _place(axes: Axes, sweep: Sweep, ticks: Sequence[Point]) -> None:
    """The axis of the parameter, with these points named on it."""
    first, last = sweep.points[0].at, sweep.points[-1].at
    aside = (last - first) * ASIDE
    axes.set_xlim(first - aside, last + aside)
    axes.set_xticks([point.at for point in ticks], [point.tick for point in ticks])


def _level(axes: Axes, cloud: str, mean: Estimate) -> None:
    look = LOOKS[cloud]
    line = axes.axhline(mean.value, color=look.line, linestyle=look.dash, linewidth=1.6, zorder=3)
    of_cloud(cloud, line)
    if mean.low is not None and mean.high is not None:
        band = axes.axhspan(mean.low, mean.high, color=look.line, alpha=0.14, linewidth=0, zorder=1)
        of_cloud(cloud, band)


def _label_ends(axes: Axes, ends: Mapping[str, float]) -> None:
    """The name of each curve beside its end, moved up where two would overlap."""
    low, high = axes.get_ylim()
    order = sorted(ends, key=ends.__getitem__)
    wanted = [(ends[cloud] - low) / (high - low) for cloud in order]
    heights = accumulate(wanted, lambda below, own: max(own, below + LABEL_HEIGHT))
    for cloud, height in zip(order, heights, strict=True):
        looks: Looks = {"va": "center", "color": LOOKS[cloud].line, "fontweight": "bold"}
        of_cloud(cloud, axes.annotate(cloud, (1.01, height), xycoords="axes fraction", **looks))


def _churn(axes: Axes, sweep: Sweep, field: str, title: str) -> None:
    dress(axes)
    named = (sweep.points[0], sweep.usual, sweep.points[-1])
    _place(axes, sweep, [point for point in sweep.points if point in named])
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
    for place, mean in zip(places, means, strict=True):
        upright = whisker(axes, mean, place, color=look.line, linewidth=1.2, marker="_", zorder=4)
        of_cloud("market", *upright)
    highest = max(mean.value if mean.high is None else mean.high for mean in means)
    axes.set_ylim(0, highest * 1.12 or 1.0)
    axes.set_title(title, fontsize=9)
    axes.tick_params(labelsize=8)
