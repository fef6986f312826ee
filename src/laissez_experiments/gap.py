"""The gap between fcfs and an allocator that knows everything, and the part of it that the market
closes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from laissez.sim.boxplot import INK, SOFT
from laissez.sim.scenario import Scenario
from laissez.sim.statistics import SEEDS_MIN, Estimate
from laissez_experiments.lab.cloud_run import CloudExperiment, Runs
from laissez_experiments.lab.experiment import Results
from laissez_experiments.lab.findings import TOO_FEW, Claim, Findings, estimated, interval
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.regimes import regimes
from laissez_experiments.lab.style import (
    EDGE,
    LOOKS,
    Looks,
    beside,
    dress,
    near,
    new_figure,
    of_cloud,
    whisker,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW_IN: Final = 0.62
FOOT_IN: Final = 0.75

Ways = Sequence[tuple[Scenario, Estimate | None]]  # the part of the gap closed, by regime


class Gap(CloudExperiment):
    name = "gap-to-ideal"
    title = "How much of the possible gain is gained"
    is_beyond = True
    takes_half = True
    clouds = ("fcfs", "market", "ideal")

    def scenarios(self, plan: Plan) -> Sequence[Scenario]:
        return regimes(plan)

    def findings(self, plan: Plan, results: Results) -> Findings:
        runs = Runs(plan, results)
        ways = [(regime, _way(regime, runs)) for regime in regimes(plan)]
        parts = ", ".join(f"{way.value:.0%} ({regime.name})" for regime, way in ways if way)
        text = (
            "The cloud `ideal` could not exist: it looks into all applications, foresees their"
            " load and re-assigns GPUs every minute by what they are truly worth, paying each"
            " tenant's real reconfigurations. It plans by linear programs and rounds, so it is no"
            " proven bound. Of the way from fcfs to it, the market goes"
            f" {parts or 'no part that could be told'}."
        )
        return Findings(
            claims=[_claim(regime, way) for regime, way in ways],
            text=text,
            rows=[
                {
                    "scenario": regime.name,
                    "demand": regime.demand,
                    "cloud": cloud,
                    "seed": run.seed,
                    "retention": run.retention,
                }
                for regime, _ in ways
                for cloud in self.clouds
                for run in runs.on(cloud, regime)
            ],
            draw=lambda: _drawn(ways, runs),
        )


def _way(regime: Scenario, runs: Runs) -> Estimate | None:
    fcfs, market, ideal = (runs.retentions(cloud, regime) for cloud in Gap.clouds)
    return runs.bootstrap.part_of_the_way(market, fcfs, ideal)


def _claim(regime: Scenario, way: Estimate | None) -> Claim:
    claim = f"{regime.name}: of the way from fcfs to ideal, the market goes"
    note = "" if interval(way) else TOO_FEW if way else "there is no way to go"
    return estimated(claim, None, way, None, "%", note)


def _drawn(ways: Ways, runs: Runs) -> Figure:
    figure = new_figure(ROW_IN * len(ways) + FOOT_IN)
    axes = figure.subplots()
    dress(axes, "x")
    for row, (regime, way) in enumerate(ways):
        retentions = {cloud: runs.retentions(cloud, regime) for cloud in Gap.clouds}
        means = {cloud: runs.bootstrap.mean(kept) for cloud, kept in retentions.items()}
        _row(axes, row, means)
        if way is not None:
            beside(axes, f"{way.value:.0%}", row, va="center", fontweight="bold")
        if row == 0:
            top: Looks = {"xycoords": "axes fraction", "va": "bottom", "color": SOFT}
            axes.annotate("of the way", (1.02, 1.0), **top, fontsize=8.5)
    names = [f"{regime.name}\n(demand {regime.demand:g})" for regime, _ in ways]
    axes.set_yticks(range(len(ways)), names)
    axes.set_ylim(len(ways) - 0.45, -0.7)
    intervals = ", with 95 % intervals over seeds" if runs.plan.seeds >= SEEDS_MIN else ""
    axes.set_xlabel(f"mean retention{intervals}")
    return figure


def _row(axes: Axes, row: int, means: dict[str, Estimate]) -> None:
    places = [mean.value for mean in means.values()]
    ends, rows = [min(places), max(places)], [row, row]
    axes.plot(ends, rows, color=EDGE, linewidth=5, solid_capstyle="round", zorder=1)
    for cloud, mean in means.items():
        look = LOOKS[cloud]
        of_cloud(cloud, *whisker(axes, mean, row, across=True, color=INK, linewidth=1.2, zorder=2))
        mark: Looks = {"marker": look.marker, "color": look.fill, "markeredgecolor": INK}
        of_cloud(cloud, *axes.plot([mean.value], [row], markersize=8, **mark, zorder=3))
        # the market is between the two others, whose names would never overlap
        above = 9 if cloud == "market" else -17
        of_cloud(cloud, near(axes, cloud, (mean.value, row), (0, above), ha="center", fontsize=8.5))
