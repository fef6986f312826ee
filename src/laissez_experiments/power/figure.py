"""The figure of power-aware prices: the power of both rows, the price and the tenant of each node,
and the leased share of each row."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import msgspec

from laissez.sim.boxplot import INK, SOFT
from laissez.sim.statistics import SEEDS_MIN, Bootstrap
from laissez_experiments.lab.style import (
    ACCENT,
    SMALL,
    Looks,
    beside,
    caption,
    dress,
    near,
    new_figure,
    with_tips,
)
from laissez_experiments.power.run import BEFORE, NODES, ROWS, SAMPLE_S, Change, Course
from laissez_experiments.power.series import COMFORTABLE, TwoRows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure

HEIGHT_IN: Final = 5.4
MINUTE_S: Final = 60
POINT_S: Final = 30  # of the curves
LABELLED_MIN: Final = 5  # a lease of fewer minutes has no room for its name
COLOURS: Final = ("#d55e00", ACCENT)  # of the rows
DASHES: Final = ("-", "--")
RESAMPLES: Final = 1000  # for each point of a band
PRICES: Final = "cividis"  # darker is cheaper, in grey too


class Stretch(msgspec.Struct, frozen=True):
    """A node with one tenant, or free, for some time, in minutes."""

    node: str
    tenant: str
    begin: float
    end: float


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of each seed. The first one with the jump is shown node by node."""

    rows: TwoRows
    jumped: Sequence[Course]
    calm: Sequence[Course]

    def draw(self) -> Figure:
        figure = new_figure(HEIGHT_IN)
        power, prices, shares = figure.subplots(3, 1, sharex=True, height_ratios=[1.0, 2.0, 1.15])
        _power(power, self.rows)
        mesh = _prices(prices, self.jumped[0])
        bar = figure.colorbar(mesh, ax=prices, pad=0.015, fraction=0.05, aspect=14)
        bar.set_label("$ per hour")
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0)
        _shares(shares, self)
        jump_min = BEFORE * SAMPLE_S / MINUTE_S
        for axes in (power, prices, shares):
            axes.axvline(jump_min, color=INK, linewidth=1, linestyle=":")
        shares.set_xlabel("minutes")
        shares.set_xlim(0, self.jumped[0].end_s / MINUTE_S)
        band = " with 95 % interval" if len(self.jumped) >= SEEDS_MIN else ""
        caption(
            figure,
            f"Dotted: the jump, t = {BEFORE} samples of power. T training, B batch, I inference;"
            f" hatched: nobody's.\nBelow: mean{band} over {len(self.jumped)} seeds.",
        )
        return figure

    @property
    def tips(self) -> dict[str, list[str]]:
        text = (
            f"seed 0: power {self.rows.source}; the price of a node is the rate charged, or its"
            " floor while it is nobody's"
        )
        return {"prices": [text]}


def _power(axes: Axes, rows: TwoRows) -> None:
    dress(axes)
    axes.set_title("power of each row, as a share of what it is provisioned for")
    for at, power in enumerate((rows.pressed, rows.other)):
        edges = [sample * SAMPLE_S / MINUTE_S for sample in range(len(power) + 1)]
        axes.stairs(power, edges, baseline=None, **_look(at))
    _name_rows(axes, (rows.pressed[-1], rows.other[-1]))
    axes.axhline(COMFORTABLE, color=SOFT, linewidth=0.8)
    small: Looks = {"fontsize": SMALL, "color": SOFT, "va": "bottom"}
    near(axes, "prices rise above this", (0, COMFORTABLE), (3, 2), **small)
    axes.margins(y=0.2)


def _look(row: int) -> dict[str, Any]:
    return {"color": COLOURS[row], "linestyle": DASHES[row], "linewidth": 1.6}


def _name_rows(axes: Axes, last: Sequence[float]) -> None:
    """Beside the ends of their curves, the higher one above and the lower one below."""
    for at, value in enumerate(last):
        side = "bottom" if (value, at) == max(zip(last, range(len(last)), strict=True)) else "top"
        name = beside(axes, f"row {at + 1}", value, 1.01, color=COLOURS[at], va=side)
        name.set_in_layout(False)  # there is room for it beside the scale of colours


def _prices(axes: Axes, course: Course) -> QuadMesh:
    from matplotlib.patches import Rectangle

    axes.set_title("what each node costs, and whose it is (seed 0)")
    nodes = _nodes(course)
    times = [*sorted({change.at_s for change in course.changes}), course.end_s]
    states = [course.at(at) for at in times[:-1]]
    mesh = axes.pcolormesh(
        [at / MINUTE_S for at in times],
        range(len(nodes) + 1),
        [[state[node].price for state in states] for node in nodes],
        cmap=PRICES,
    )
    hatched: Looks = {"fill": False, "hatch": "/////", "edgecolor": "white"}
    for one in stretches(course):
        at, length = nodes.index(one.node), one.end - one.begin
        if not one.tenant:
            free = Rectangle((one.begin, at), length, 1, **hatched, linewidth=0, alpha=0.75)
            axes.add_patch(free)
            continue
        axes.plot([one.begin, one.begin], [at + 0.1, at + 0.9], color="white", linewidth=1)
        if length >= LABELLED_MIN:
            _name_tenant(axes, one, at)
    axes.axhline(NODES, color="white", linewidth=3)
    axes.set_ylim(len(nodes), 0)
    axes.set_yticks([NODES / 2, NODES * 1.5], ["row 1", "row 2"])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    with_tips("prices", mesh)
    return mesh


def _name_tenant(axes: Axes, one: Stretch, at: int) -> None:
    from matplotlib.patheffects import withStroke

    looks: Looks = {"va": "center", "fontsize": SMALL, "color": "white"}
    text = near(axes, short(one.tenant), (one.begin, at + 0.5), (3, 0), **looks)
    text.set_path_effects([withStroke(linewidth=1.8, foreground=INK)])


def _shares(axes: Axes, shown: Shown) -> None:
    dress(axes)
    axes.set_title("leased nodes of each row (thin: row 1 without the jump)")
    times = range(0, shown.jumped[0].end_s, POINT_S)
    minutes = [at / MINUTE_S for at in times]
    bootstrap = Bootstrap(len(shown.jumped), RESAMPLES)
    last: list[float] = []
    for at, row in enumerate(ROWS):
        each = [[_leased(course, row, time) for time in times] for course in shown.jumped]
        means = [bootstrap.mean(point) for point in zip(*each, strict=True)]
        axes.plot(minutes, [mean.value for mean in means], **_look(at))
        lows, highs = (
            [bound for mean in means if (bound := getattr(mean, end)) is not None]
            for end in ("low", "high")
        )
        if lows:
            axes.fill_between(minutes, lows, highs, color=COLOURS[at], alpha=0.18, linewidth=0)
        last.append(means[-1].value)
    _name_rows(axes, last)
    calm = [fmean(_leased(course, ROWS[0], time) for course in shown.calm) for time in times]
    axes.plot(minutes, calm, color=SOFT, linewidth=0.9)
    axes.set_ylim(0, NODES + 0.6)
    axes.set_yticks(range(NODES + 1))


def _leased(course: Course, row: str, at_s: int) -> int:
    return sum(bool(one.tenant) for one in course.row(row, at_s))


def _nodes(course: Course) -> list[str]:
    return sorted({change.node for change in course.changes})


def stretches(course: Course) -> list[Stretch]:
    """Every node's time, by its tenant."""
    found = []
    for node in _nodes(course):
        mine = [change for change in course.changes if change.node == node]
        turns = [
            mine[0],
            *(after for before, after in pairwise(mine) if after.tenant != before.tenant),
            Change(course.end_s, node, "", 0.0),
        ]
        found += [
            Stretch(node, turn.tenant, turn.at_s / MINUTE_S, until.at_s / MINUTE_S)
            for turn, until in pairwise(turns)
        ]
    return found


def short(tenant: str) -> str:
    """`T1` for `training-1`."""
    kind, _, number = tenant.partition("-")
    return f"{kind[:1].upper()}{number}"
