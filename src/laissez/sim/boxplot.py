"""A box plot of the tenants' retention by cloud: a figure to publish (SVG, PNG), or text for a
terminal.

The name of each cloud stands beside its box. The fills differ in lightness and not only in hue, so
that they can be distinguished on grey paper and by colour-blind readers.
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
HATCHED: Final = "ideal"  # a bound, not a real cloud
INK: Final = "#222222"
SOFT: Final = "#5f5f5f"
WIDTH_IN: Final = 6.6
ROW_IN: Final = 0.52
BOX_HEIGHT: Final = 0.56
PNG_DPI: Final = 200


class PlotError(Exception):
    """The plot cannot be drawn, or not into that file."""


def retentions(runs: Sequence[RunResult]) -> dict[str, list[float]]:
    """The retention of every measured tenant of every run, by cloud."""
    found: dict[str, list[float]] = {}
    for run in runs:
        found.setdefault(run.cloud, []).extend(tenant.retention for tenant in run.measured)
    return found


def check_plot(path: Path) -> None:
    """Raise if nothing can be drawn into `path`, before hours of simulation."""
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
        hatch = "////" if cloud == HATCHED else ""
        draw_box(axes, row, each, FILLS.get(cloud, OTHER_FILL), hatch)
        place: dict[str, Any] = {"xy": (1.02, row), "xycoords": ("axes fraction", "data")}
        axes.annotate(f"{each.mean:.3f}", **place, va="center", fontweight="bold")
    _style(axes, spreads)
    if title:
        top: dict[str, Any] = {"ha": "left", "va": "top", "fontsize": 11, "fontweight": "bold"}
        figure.text(0.02, 1 - 0.16 / height, title, **top)
    if note:
        bottom: dict[str, Any] = {"ha": "left", "va": "bottom", "fontsize": 7.5, "color": SOFT}
        figure.text(0.02, 0.12 / height, note, **bottom)
    return figure


def draw_box(
    axes: Axes, row: float, each: Spread, fill: str, hatch: str, height: float = BOX_HEIGHT
) -> list[Artist]:
    """Draw a horizontal box in that row, and return its parts."""
    thin: dict[str, Any] = {"color": INK, "linewidth": 1, "zorder": 2}
    parts: list[Artist] = [*axes.plot([each.low, each.high], [row, row], **thin)]
    for end in (each.low, each.high):
        parts += axes.plot([end, end], [row - height / 5, row + height / 5], **thin)
    box: dict[str, Any] = {
        "y": row,
        "width": each.quartile_range,
        "height": height,
        "left": each.first_quartile,
        "zorder": 3,
    }
    parts += axes.barh(**box, color=fill, edgecolor="#c4c4c4", linewidth=0, hatch=hatch)
    parts += axes.barh(**box, color="none", edgecolor=INK, linewidth=0.9)
    # a white rim makes the line visible on a dark fill
    middle, ends = [each.median] * 2, [row - height / 2, row + height / 2]
    for colour, width in (("white", 3.4), (INK, 1.6)):
        line: dict[str, Any] = {"color": colour, "linewidth": width, "zorder": 4}
        parts += axes.plot(middle, ends, **line, solid_capstyle="butt")
    colours: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": INK}
    parts += axes.plot([each.mean], [row], marker="D", markersize=5.5, **colours, zorder=5)
    return parts


def _style(axes: Axes, spreads: Mapping[str, Spread]) -> None:
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
    """The meaning of the marks, for below the figure."""
    return (
        f"Box: quartiles and median; whiskers: {WHISKERS[0]}th to {WHISKERS[1]}th percentile;"
        f" diamond: mean. {tenants:,} tenants a cloud, {seeds} seed{'s' if seeds > 1 else ''}."
    )


def text_box(each: Spread, width: int, low: float = 0.0, high: float = 1.0) -> str:
    """A box as one line from `low` to `high`: `├──▒▒▒┃▒▒◆▒──┤`, with the mean as a diamond."""

    def place(value: float) -> int:
        share = (min(max(value, low), high) - low) / (high - low)
        return round(share * (width - 1))

    line = [" "] * width
    box = (each.first_quartile, each.third_quartile)
    for mark, (start, end) in (("─", (each.low, each.high)), ("▒", box)):
        for at in range(place(start), place(end) + 1):
            line[at] = mark
    if place(each.low) < place(each.first_quartile):
        line[place(each.low)] = "├"
    if place(each.third_quartile) < place(each.high):
        line[place(each.high)] = "┤"
    line[place(each.median)] = "┃"
    line[place(each.mean)] = "◆"
    return "".join(line)
