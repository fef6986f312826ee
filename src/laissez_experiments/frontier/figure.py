"""Policies in the plane of cost and performance, with the Pareto front and the mixes of spot and on
demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from laissez_experiments.frontier.probe import TODAY, FrontierPoint
from laissez_experiments.frontier.runs import FCFS, ON_DEMAND, SPOT
from laissez_experiments.lab.findings import shown
from laissez_experiments.lab.style import (
    ACCENT,
    EDGE,
    LOOKS,
    THIRD,
    Looks,
    caption,
    dress,
    near,
    new_figure,
    of_cloud,
    whisker,
    with_tips,
)
from laissez_experiments.lab.sweeps import over_seeds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT_IN: Final = 3.9
# the places of the names; all others have theirs below
ASIDE: Final[Mapping[str, tuple[tuple[float, float], str]]] = {
    FCFS: ((0, 14), "center"),
    ON_DEMAND: ((-8, 9), "right"),
}
TEMPLATES: Final[Mapping[str, str]] = {ON_DEMAND: "D", SPOT: "v"}  # their markers
SIZE: Final = 46
ROOM: Final = 1.12  # times the largest cost
BOX: Final = {"facecolor": "white", "edgecolor": EDGE, "linewidth": 0, "alpha": 0.75, "pad": 0.6}


def drawn(points: Sequence[FrontierPoint], front: Sequence[FrontierPoint], seeds: int) -> Figure:
    """`front` is the Pareto set of the market's points, the cheapest first."""
    figure = new_figure(HEIGHT_IN)
    axes = figure.subplots()
    dress(axes, "both")
    by_name = {point.policy: point for point in points}
    _line(axes, front, color=ACCENT, linewidth=3.0, alpha=0.25)
    mixed = by_name[SPOT], by_name[ON_DEMAND]
    _line(axes, mixed, color=THIRD, linestyle=":", linewidth=1.2, alpha=1.0)
    for point in points:
        _mark(axes, point)
    dearest = max((point.cost.high or point.cost.value for point in points), default=0.0) or 1.0
    axes.set_xlim(-0.06 * dearest, ROOM * dearest)
    axes.set_ylim(-0.04, 1.13)
    axes.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    axes.set_xlabel(
        "cheaper  \N{LEFTWARDS ARROW}   cost, times that of the needed GPU-hours at list prices"
    )
    axes.set_ylabel("share of the work done in time   \N{RIGHTWARDS ARROW}  better")
    whiskers = " Whiskers: 95 % intervals." if points[0].cost.has_interval else ""
    caption(
        figure,
        f"Means {over_seeds(seeds)}. Filled: budgets, in the unit of the costs.{whiskers}\n"
        "Thick line: Pareto set of the market's means; dotted: mixes of spot and on demand.",
    )
    return figure


def tips(points: Sequence[FrontierPoint]) -> dict[str, list[str]]:
    return {
        point.policy: [
            (
                f"{_long_name(point.policy)}: cost {shown(point.cost, 2)}, performance"
                f" {shown(point.performance, 2)}"
            )
        ]
        for point in points
    }


def _line(axes: Axes, points: Sequence[FrontierPoint], **looks: Any) -> None:
    of_cloud(
        "market",
        *axes.plot(*zip(*(point.mean for point in points), strict=True), **looks, zorder=2),
    )


def _mark(axes: Axes, point: FrontierPoint) -> None:
    """Budgets are filled and named below the front; the policies of today are not filled, and most
    are named above it."""
    policy, is_budget = point.policy, point.policy not in TODAY
    cloud = "fcfs" if policy == FCFS else "market"
    look, (cost, performance) = LOOKS[cloud], point.mean
    thin: Looks = {"color": look.line, "linewidth": 0.9, "alpha": 0.6, "zorder": 3}
    of_cloud(cloud, *whisker(axes, point.cost, performance, across=True, **thin))
    of_cloud(cloud, *whisker(axes, point.performance, cost, **thin))
    looks: Looks = {"color": look.fill if is_budget else "white", "edgecolors": look.line}
    marker = TEMPLATES.get(policy, look.marker)
    edge: Looks = {"linewidths": 1.4, "zorder": 5, "clip_on": False}
    dot = axes.scatter(cost, performance, s=SIZE, marker=marker, **looks, **edge)
    with_tips(policy, dot, cloud)
    aside, at = ASIDE.get(policy, ((7, -9), "left"))
    text = policy if is_budget else _long_name(policy)
    name: Looks = {"ha": at, "va": "center", "color": look.line, "bbox": BOX, "zorder": 4}
    weight = "bold" if is_budget else "normal"
    of_cloud(cloud, near(axes, text, point.mean, aside, **name, fontweight=weight))


def _long_name(policy: str) -> str:
    if policy not in TODAY:
        return f"budget {policy}"
    return "on demand on fcfs, at list prices" if policy == FCFS else f"{policy} on the market"
