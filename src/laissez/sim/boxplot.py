"""A box plot of the tenants' retention, cloud by cloud: as a figure to publish (SVG, PNG), and as
text for a terminal.

Clouds are told apart by their names beside the boxes. The fills differ in lightness and not only in
hue: on grey paper and for everybody's eyes too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from laissez.sim.results import RunResult
from laissez.sim.statistics import WHISKERS, Spread, spread

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES: Final = (".svg", ".png")
# dark, middle, light, white
FILLS: Final = {"market": "#0072b2", "fcfs": "#e69f00", "fcfs-p": "#f6dfa6", "ideal": "#ffffff"}
OTHER_FILL: Final = "#b3b3b3"
HATCHED: Final = "ideal"  # nobody can build it
INK: Final = "#222222"
SOFT: Final = "#5f5f5f"
WIDTH_IN: Final = 6.6
ROW_IN: Final = 0.52
BOX_HEIGHT: Final = 0.56
PNG_DPI: Final = 200


class PlotError(Exception):
    """A plot cannot be drawn here, or not into that file."""


def retentions(runs: Sequence[RunResult]) -> dict[str, list[float]]:
    """Of every measured tenant of every run, by cloud, in the order in which the clouds come."""
    found: dict[str, list[float]] = {}
    for run in runs:
        found.setdefault(run.cloud, []).extend(tenant.retention for tenant in run.measured)
    return found


def check_plot(path: Path) -> None:
    """Raise if nothing could be drawn into `path`: better before hours of simulation than after."""
    if path.suffix not in SUFFIXES:
        raise PlotError(
            f"{path}: expected a name that ends in {' or '.join(SUFFIXES)}, found"
            f" {path.suffix or 'no ending'}"
        )
    if not path.parent.is_dir():
        raise PlotError(f"{path}: expected a folder {path.parent}, found none")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise PlotError(
            "a plot needs matplotlib, which is not installed: pip install 'laissezcloud[sim]'"
        ) from None


def write_boxplot(
    values: Mapping[str, Sequence[float]], path: Path, title: str = "", note: str = ""
) -> None:
    """Draw the values of each cloud into `path`. The same values give the same bytes."""
    check_plot(path)
    if not all(values.values()):
        raise PlotError(f"{path}: expected tenants whose retention is known, found none")
    import matplotlib

    settings: dict[Any, Any] = {
        "svg.hashsalt": "laissez",
        "svg.fonttype": "path",
        "font.family": "DejaVu Sans",
        "font.size": 9.5,
        "text.color": INK,
        "text.parse_math": False,
    }
    with matplotlib.rc_context(settings):
        figure = _figure({cloud: spread(each) for cloud, each in values.items()}, title, note)
        metadata = {"Date": None, "Creator": None} if path.suffix == ".svg" else {"Software": None}
        figure.savefig(path, dpi=PNG_DPI, metadata=metadata)


def _figure(spreads: Mapping[str, Spread], title: str, note: str) -> Figure:
    from matplotlib.figure import Figure

    head, foot = 0.55 if title else 0.2, 0.88 if note else 0.68
    height = ROW_IN * len(spreads) + head + foot
    figure = Figure(figsize=(WIDTH_IN, height))
    axes = figure.add_axes((0.12, foot / height, 0.74, 1 - (head + foot) / height))
    for row, (cloud, each) in enumerate(spreads.items()):
        draw_box(axes, row, each, FILLS.get(cloud, OTHER_FILL), "////" if cloud == HATCHED else "")
        axes.annotate(
            f"{each.mean:.3f}",
            (1.02, row),
            xycoords=("axes fraction", "data"),
            va="center",
            fontweight="bold",
        )
    _dress(axes, spreads)
    if title:
        figure.text(
            0.02, 1 - 0.16 / height, title, ha="left", va="top", fontsize=11, fontweight="bold"
        )
    if note:
        figure.text(0.02, 0.12 / height, note, ha="left", va="bottom", fontsize=7.5, color=SOFT)
    return figure


def draw_box(
    axes: Axes, row: float, each: Spread, fill: str, hatch: str, height: float = BOX_HEIGHT
) -> list[Artist]:
    """A box lying in that row; all that it is made of."""
    parts: list[Artist] = [
        *axes.plot([each.low, each.high], [row, row], color=INK, linewidth=1, zorder=2)
    ]
    for end in (each.low, each.high):
        parts += axes.plot(
            [end, end], [row - height / 5, row + height / 5], color=INK, linewidth=1, zorder=2
        )
    place: dict[str, Any] = {
        "y": row,
        "width": each.quartile_range,
        "height": height,
        "left": each.first_quartile,
    }
    parts += axes.barh(**place, color=fill, edgecolor="#c4c4c4", linewidth=0, hatch=hatch, zorder=3)
    parts += axes.barh(**place, color="none", edgecolor=INK, linewidth=0.9, zorder=3)
    # a rim in white, so that the line is seen on a dark fill too
    for colour, width in (("white", 3.4), (INK, 1.6)):
        middle, ends = [each.median] * 2, [row - height / 2, row + height / 2]
        parts += axes.plot(
            middle, ends, color=colour, linewidth=width, solid_capstyle="butt", zorder=4
        )
    parts += axes.plot(
        [each.mean],
        [row],
        marker="D",
        markersize=5.5,
        markerfacecolor="white",
        markeredgecolor=INK,
        zorder=5,
    )
    return parts


def _dress(axes: Axes, spreads: Mapping[str, Spread]) -> None:
    axes.set_yticks(range(len(spreads)), list(spreads), fontsize=10.5)
    axes.set_ylim(len(spreads) - 0.45, -0.55)
    axes.set_xlim(
        min(0.0, *(each.low for each in spreads.values())) - 0.015,
        max(1.0, *(each.high for each in spreads.values())) + 0.015,
    )
    axes.set_xlabel(
        "retention: a tenant's performance over what it achieves alone", color=SOFT, fontsize=9
    )
    axes.annotate(
        "mean", (1.02, 1.0), xycoords="axes fraction", va="bottom", color=SOFT, fontsize=8.5
    )
    axes.grid(axis="x", color="#e3e3e3", linewidth=0.8, zorder=0)
    axes.set_axisbelow(True)
    axes.tick_params(axis="both", length=0, colors=INK)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#bdbdbd")


def caption(tenants: int, seeds: int) -> str:
    """What the marks mean, for below the figure."""
    return (
        f"Box: quartiles and median; whiskers: {WHISKERS[0]}th to {WHISKERS[1]}th percentile;"
        f" diamond: mean. {tenants:,} tenants a cloud, {seeds} seed{'s' if seeds > 1 else ''}."
    )


def text_box(each: Spread, width: int, low: float = 0.0, high: float = 1.0) -> str:
    """One box as a line of `width` characters from `low` to `high`: `├──▒▒▒┃▒▒◆▒──┤`, with the mean
    as a diamond."""

    def place(value: float) -> int:
        share = (min(max(value, low), high) - low) / (high - low)
        return round(share * (width - 1))

    line = [" "] * width
    for mark, start, end in (
        ("─", each.low, each.high),
        ("▒", each.first_quartile, each.third_quartile),
    ):
        for at in range(place(start), place(end) + 1):
            line[at] = mark
    if place(each.low) < place(each.first_quartile):
        line[place(each.low)] = "├"
    if place(each.third_quartile) < place(each.high):
        line[place(each.high)] = "┤"
    line[place(each.median)] = "┃"
    line[place(each.mean)] = "◆"
    return "".join(line)
