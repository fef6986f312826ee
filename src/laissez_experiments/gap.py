"""How much there is to gain, and how much of it the market gains: fcfs, the market, and an
allocator that knows everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from laissez.sim.boxplot import INK, SOFT
from laissez.sim.scenario import Scenario
from laissez.sim.statistics import SEEDS_MIN, Bootstrap, Estimate
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.cloud_run import retentions, runs_of
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import TOO_FEW, Claim, Findings, interval
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.regimes import REGIMES, sized
from laissez_experiments.lab.style import EDGE, LOOKS, dress, new_figure, of_cloud

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN: Final = ("fcfs", "market", "ideal")
ROW_IN: Final = 0.62
FOOT_IN: Final = 0.75


class Gap(Experiment):
    name = "gap-to-ideal"
    title = "How much of the possible gain is gained"
    is_beyond = True
    takes_half = True

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return [
            cell for regime in _regimes(plan) for cell in runs_of(regime, SHOWN, plan.all_seeds)
        ]

    def findings(self, plan: Plan, results: Results) -> Findings:
        regimes = _regimes(plan)
        ways = [_way(regime, plan, results) for regime in regimes]
        parts = ", ".join(
            f"{way.value:.0%} ({regime.name})"
            for way, regime in zip(ways, regimes, strict=True)
            if way is not None
        )
        text = (
            "The cloud `ideal` could not exist: it looks into all applications, foresees their"
            " load and re-assigns GPUs every minute by what they are truly worth, paying each"
            " tenant's real reconfigurations. It plans by linear programs and rounds, so it is no"
            " proven bound. Of the way from fcfs to it, the market goes"
            f" {parts or 'no part that could be told'}."
        )
        return Findings(
            claims=[_claim(regime, way) for regime, way in zip(regimes, ways, strict=True)],
            text=text,
            rows=[
                {
                    "scenario": regime.name,
                    "demand": regime.demand,
                    "cloud": cloud,
                    "seed": seed,
                    "retention": retention,
                }
                for regime in regimes
                for cloud in SHOWN
                for seed, retention in zip(
                    plan.all_seeds, retentions(regime, cloud, plan.all_seeds, results), strict=True
                )
            ],
            draw=lambda: _drawn(regimes, ways, plan, results),
        )


def _regimes(plan: Plan) -> list[Scenario]:
    return [sized(regime, plan) for regime in REGIMES]


def _way(regime: Scenario, plan: Plan, results: Results) -> Estimate | None:
    fcfs, market, ideal = (retentions(regime, cloud, plan.all_seeds, results) for cloud in SHOWN)
    return Bootstrap(plan.seeds).part_of_the_way(market, fcfs, ideal)


def _claim(regime: Scenario, way: Estimate | None) -> Claim:
    return Claim(
        figure=Gap.name,
        claim=f"{regime.name}: of the way from fcfs to ideal, the market goes",
        paper=None,
        measured=None if way is None else way.value * 100,
        interval=interval(way, 100),
        holds=None,
        unit="%",
        note="" if interval(way) else TOO_FEW if way else "there is no way to go",
    )


def _drawn(
    regimes: Sequence[Scenario], ways: Sequence[Estimate | None], plan: Plan, results: Results
) -> Figure:
    figure = new_figure(ROW_IN * len(regimes) + FOOT_IN)
    axes = figure.subplots()
    dress(axes, "x")
    for row, (regime, way) in enumerate(zip(regimes, ways, strict=True)):
        _row(
            axes,
            row,
            {
                cloud: (
                    Bootstrap(plan.seeds).mean(retentions(regime, cloud, plan.all_seeds, results))
                )
                for cloud in SHOWN
            },
            way,
        )
    axes.set_yticks(
        range(len(regimes)), [f"{regime.name}\n(demand {regime.demand:g})" for regime in regimes]
    )
    axes.set_ylim(len(regimes) - 0.45, -0.7)
    axes.set_xlabel(
        f"mean retention{', with 95 % intervals over seeds' if plan.seeds >= SEEDS_MIN else ''}"
    )
    return figure


def _row(axes: Axes, row: int, means: dict[str, Estimate], way: Estimate | None) -> None:
    places = [means[cloud].value for cloud in SHOWN]
    axes.plot(
        [min(places), max(places)],
        [row, row],
        color=EDGE,
        linewidth=5,
        solid_capstyle="round",
        zorder=1,
    )
    for cloud, mean in means.items():
        look = LOOKS[cloud]
        if mean.low is not None and mean.high is not None:
            of_cloud(
                cloud,
                *axes.plot([mean.low, mean.high], [row, row], color=INK, linewidth=1.2, zorder=2),
            )
        of_cloud(
            cloud,
            *axes.plot(
                [mean.value],
                [row],
                marker=look.marker,
                markersize=8,
                color=look.fill,
                markeredgecolor=INK,
                zorder=3,
            ),
        )
        # between the two others, which are never so near to each other that their names would meet
        below = cloud != "market"
        of_cloud(
            cloud,
            axes.annotate(
                cloud,
                (mean.value, row),
                (0, -17 if below else 9),
                textcoords="offset points",
                ha="center",
                fontsize=8.5,
            ),
        )
    if way is not None:
        axes.annotate(
            f"{way.value:.0%}",
            (1.02, row),
            xycoords=("axes fraction", "data"),
            va="center",
            fontweight="bold",
        )
    if row == 0:
        axes.annotate(
            "of the way",
            (1.02, 1.0),
            xycoords="axes fraction",
            va="bottom",
            color=SOFT,
            fontsize=8.5,
        )
