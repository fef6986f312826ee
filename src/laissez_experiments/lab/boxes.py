"""Panels of box plots, one box for each cloud, and below it every tenant as a dot that says who it
is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import msgspec

from laissez.sim.boxplot import SOFT, draw_box
from laissez.sim.results import TenantResult
from laissez.sim.statistics import WHISKERS, spread
from laissez_experiments.lab.style import LOOKS, dress, new_figure, of_cloud, with_tips

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW_IN: Final = 0.5
PANEL_IN: Final = 0.36  # its title and the space around it
FOOT_IN: Final = 0.6
BOX_ABOVE: Final = 0.14  # of a row: so far the box is above its middle, and the dots below
BOX_HEIGHT: Final = 0.4
DOTS_BELOW: Final = 0.24
DOTS_HEIGHT: Final = 0.2
GOLDEN: Final = 0.618  # dots side by side are never at the same height

CAPTION: Final = (
    f"Box: quartiles and median; whiskers: {WHISKERS[0]}th to {WHISKERS[1]}th percentile; diamond"
    " and figure: mean; dots: tenants."
)

Values = Sequence[tuple[int, TenantResult, float]]  # seed, tenant and the value that is shown


class Panel(msgspec.Struct, frozen=True):
    """`notes` are beside the box of a cloud, below its mean."""

    title: str
    clouds: Mapping[str, Values]
    notes: Mapping[str, str] = {}


class Drawing(msgspec.Struct, frozen=True):
    draw: Callable[[], Figure]
    tips: Mapping[str, Sequence[str]]


def boxes(panels: Sequence[Panel], label: str, digits: int = 3) -> Drawing:
    """`digits` are those of the means beside the boxes."""

    def draw() -> Figure:
        rows = [len(panel.clouds) for panel in panels]
        figure = new_figure(sum(rows) * ROW_IN + len(panels) * PANEL_IN + FOOT_IN)
        all_axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False, height_ratios=rows)[
            :, 0
        ]
        for at, (axes, panel) in enumerate(zip(all_axes, panels, strict=True)):
            _panel(axes, at, panel, digits)
        all_axes[-1].set_xlabel(label)
        figure.supxlabel(CAPTION, fontsize=7.5, color=SOFT, x=0.02, ha="left")
        return figure

    tips = {
        _key(at, cloud): [_tip(seed, tenant, value, digits) for seed, tenant, value in values]
        for at, panel in enumerate(panels)
        for cloud, values in panel.clouds.items()
    }
    return Drawing(draw, tips)


def _panel(axes: Axes, at: int, panel: Panel, digits: int) -> None:
    dress(axes, "x")
    axes.set_title(panel.title)
    for row, (cloud, values) in enumerate(panel.clouds.items()):
        numbers, look = [value for _, _, value in values], LOOKS[cloud]
        heights = [
            row + DOTS_BELOW + (each * GOLDEN % 1 - 0.5) * DOTS_HEIGHT
            for each in range(len(values))
        ]
        dots = axes.scatter(
            numbers, heights, s=5, color=look.line, alpha=0.35, linewidths=0, zorder=2
        )
        with_tips(_key(at, cloud), dots, cloud)
        of_cloud(
            cloud,
            *draw_box(axes, row - BOX_ABOVE, spread(numbers), look.fill, look.hatch, BOX_HEIGHT),
        )
        note = panel.notes.get(cloud, "")
        beside: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "va": "center"}
        mean = axes.annotate(
            f"{fmean(numbers):.{digits}f}",
            (1.02, row - (BOX_ABOVE if note else 0)),
            fontweight="bold",
            **beside,
        )
        of_cloud(
            cloud,
            mean,
            axes.annotate(note, (1.02, row + DOTS_BELOW), fontsize=7.5, color=SOFT, **beside),
        )
    axes.set_yticks(range(len(panel.clouds)), list(panel.clouds))
    axes.set_ylim(len(panel.clouds) - 0.45, -0.55)


def _key(at: int, cloud: str) -> str:
    return f"panel{at}-{cloud}"


def _tip(seed: int, tenant: TenantResult, value: float, digits: int) -> str:
    return (
        f"{tenant.tenant}, seed {seed}: {value:.{digits}f} ({tenant.held_hours:.1f} GPU-hours,"
        f" ${tenant.cost:,.2f})"
    )
