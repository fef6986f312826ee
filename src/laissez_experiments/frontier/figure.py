"""Policies in the plane of cost and performance, with the Pareto front and the mixes of spot and on
demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from laissez.sim.boxplot import SOFT
from laissez.sim.statistics import Estimate
from laissez_experiments.frontier.runs import FCFS, ON_DEMAND, SPOT
from laissez_experiments.lab.findings import shown
from laissez_experiments.lab.style import (
    ACCENT,
    EDGE,
    LOOKS,
    THIRD,
    dress,
    new_figure,
    of_cloud,
    with_tips,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT_IN: Final = 3.9
# All others have theirs below.
ASIDE: Final[Mapping[str, tuple[tuple[float, float], str]]] = {
    FCFS: ((0, 14), "center"),
    ON_DEMAND: ((-8, 9), "right"),
}
TEMPLATES: Final[Mapping[str, str]] = {ON_DEMAND: "D", SPOT: "v"}  # their markers
SIZE: Final = 46
ROOM: Final = 1.12  # times the largest cost


class FrontierPoint(msgspec.Struct, frozen=True):
    policy: str
    cost: Estimate
    performance: Estimate


def drawn(points: Sequence[FrontierPoint], front: Sequence[FrontierPoint], seeds: int) -> Figure:
    """`front` is the Pareto set of the market's points, the cheapest first."""
    figure = new_figure(HEIGHT_IN)
    axes = figure.subplots()
    dress(axes, "both")
    by_name = {point.policy: point for point in points}
    _line(axes, front, ACCENT, "-", 3.0, 0.25)
    _line(axes, [by_name[SPOT], by_name[ON_DEMAND]], THIRD, ":", 1.2, 1.0)
    for point in points:
        _whiskers(axes, point)
        _mark(axes, point)
    axes.set_xlim(-0.06 * _dearest(points), ROOM * _dearest(points))
    axes.set_ylim(-0.04, 1.13)
    axes.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    axes.set_xlabel(
        "cheaper  \N{LEFTWARDS ARROW}   cost, times that of the needed GPU-hours at list prices"
    )
    axes.set_ylabel("share of the work done in time   \N{RIGHTWARDS ARROW}  better")
    figure.supxlabel(_caption(points, seeds), fontsize=7.5, color=SOFT, x=0.02, ha="left")
    return figure


def tips(points: Sequence[FrontierPoint]) -> dict[str, list[str]]:
    return {
        point.policy: [
            (
                f"{_long_name(point)}: cost {shown(point.cost, 2)}, performance"
                f" {shown(point.performance, 2)}"
            )
        ]
        for point in points
    }


def _caption(points: Sequence[FrontierPoint], seeds: int) -> str:
    whiskers = " Whiskers: 95 % intervals." if points[0].cost.has_interval else ""
    lines = "Thick line: Pareto set of the market's means; dotted: mixes of spot and on demand."
    return (
        f"Means over {seeds} seed{'s' if seeds > 1 else ''}. Filled: budgets, in the unit of the"
        f" costs.{whiskers}\n{lines}"
    )


def _dearest(points: Sequence[FrontierPoint]) -> float:
    return max((point.cost.high or point.cost.value for point in points), default=0.0) or 1.0


def _cloud(point: FrontierPoint) -> str:
    return "fcfs" if point.policy == FCFS else "market"


def _line(
    axes: Axes, points: Sequence[FrontierPoint], colour: str, dash: str, width: float, alpha: float
) -> None:
    places, heights = (
        [point.cost.value for point in points],
        [point.performance.value for point in points],
    )
    of_cloud(
        "market",
        *axes.plot(
            places, heights, color=colour, linestyle=dash, linewidth=width, alpha=alpha, zorder=2
        ),
    )


def _whiskers(axes: Axes, point: FrontierPoint) -> None:
    colour, (x, y) = LOOKS[_cloud(point)].line, (point.cost, point.performance)
    if x.low is None or x.high is None or y.low is None or y.high is None:
        return
    for places, heights in (([x.low, x.high], [y.value] * 2), ([x.value] * 2, [y.low, y.high])):
        of_cloud(
            _cloud(point),
            *axes.plot(places, heights, color=colour, linewidth=0.9, alpha=0.6, zorder=3),
        )


def _mark(axes: Axes, point: FrontierPoint) -> None:
    """Budgets are filled and named below the front, the policies of today are not, and most are
    named above it."""
    look, is_budget = LOOKS[_cloud(point)], _is_budget(point)
    marker = TEMPLATES.get(point.policy, look.marker)
    fill = look.fill if is_budget else "white"
    place = (point.cost.value, point.performance.value)
    with_tips(
        point.policy,
        axes.scatter(
            *place,
            s=SIZE,
            marker=marker,
            color=fill,
            edgecolors=look.line,
            linewidths=1.4,
            zorder=5,
            clip_on=False,
        ),
        _cloud(point),
    )
    aside, at = ASIDE.get(point.policy, ((7, -9), "left"))
    name = axes.annotate(
        point.policy if is_budget else _long_name(point),
        place,
        aside,
        textcoords="offset points",
        ha=at,
        va="center",
        color=look.line,
        fontweight="bold" if is_budget else "normal",
        bbox={"facecolor": "white", "edgecolor": EDGE, "linewidth": 0, "alpha": 0.75, "pad": 0.6},
        zorder=4,
    )
    of_cloud(_cloud(point), name)


def _is_budget(point: FrontierPoint) -> bool:
    return point.policy not in (FCFS, ON_DEMAND, SPOT)


def _long_name(point: FrontierPoint) -> str:
    if _is_budget(point):
        return f"budget {point.policy}"
    return (
        "on demand on fcfs, at list prices"
        if point.policy == FCFS
        else f"{point.policy} on the market"
    )
