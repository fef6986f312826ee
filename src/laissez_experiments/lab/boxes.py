"""Panels of box plots: one box for each cloud, and below the box a dot with a tip for each
tenant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Final

import msgspec

from laissez.sim.boxplot import SOFT, draw_box
from laissez.sim.results import TenantResult
from laissez.sim.statistics import WHISKERS, spread
from laissez_experiments.lab.style import (
    LOOKS,
    SMALL,
    beside,
    caption,
    dress,
    new_figure,
    of_cloud,
    with_tips,
)

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


class Boxes(msgspec.Struct, frozen=True):
    """`digits` are those of the means beside the boxes."""

    panels: Sequence[Panel]
    label: str
    digits: int = 3

    def draw(self) -> Figure:
        rows = [len(panel.clouds) for panel in self.panels]
        figure = new_figure(sum(rows) * ROW_IN + len(rows) * PANEL_IN + FOOT_IN)
        grid = figure.subplots(len(rows), 1, sharex=True, squeeze=False, height_ratios=rows)
        for at, panel in enumerate(self.panels):
            self._panel(grid[at, 0], at, panel)
        grid[-1, 0].set_xlabel(self.label)
        caption(figure, CAPTION)
        return figure

    @property
    def tips(self) -> dict[str, list[str]]:
        return {
            _key(at, cloud): [self._tip(*value) for value in values]
            for at, panel in enumerate(self.panels)
            for cloud, values in panel.clouds.items()
        }

    def _tip(self, seed: int, tenant: TenantResult, value: float) -> str:
        return (
            f"{tenant.tenant}, seed {seed}: {value:.{self.digits}f} ({tenant.held_hours:.1f}"
            f" GPU-hours, ${tenant.cost:,.2f})"
        )

    def _panel(self, axes: Axes, at: int, panel: Panel) -> None:
        dress(axes, "x")
        axes.set_title(panel.title)
        for row, (cloud, values) in enumerate(panel.clouds.items()):
            numbers, look = [value for _, _, value in values], LOOKS[cloud]
            middle = row + DOTS_BELOW
            heights = [middle + (n * GOLDEN % 1 - 0.5) * DOTS_HEIGHT for n in range(len(numbers))]
            dots = axes.scatter(
                numbers, heights, s=5, color=look.line, alpha=0.35, linewidths=0, zorder=2
            )
            with_tips(_key(at, cloud), dots, cloud)
            box = spread(numbers), look.fill, look.hatch, BOX_HEIGHT
            of_cloud(cloud, *draw_box(axes, row - BOX_ABOVE, *box))
            note, mean = panel.notes.get(cloud, ""), f"{fmean(numbers):.{self.digits}f}"
            height = row - (BOX_ABOVE if note else 0)
            name = beside(axes, mean, height, fontweight="bold", va="center")
            below = beside(axes, note, middle, fontsize=SMALL, color=SOFT, va="center")
            of_cloud(cloud, name, below)
        axes.set_yticks(range(len(panel.clouds)), list(panel.clouds))
        axes.set_ylim(len(panel.clouds) - 0.45, -0.55)


def _key(at: int, cloud: str) -> str:
    return f"panel{at}-{cloud}"
