"""The look of all figures: one width, one type, and one look for each cloud. Clouds differ in
lightness, dash and mark as well as in hue.

Parts of a figure may be marked: `of_cloud` for parts that belong to a cloud, so that the report can
hide them, and `with_tips` for parts that show a text when the pointer is over them. The marks are
ids in the SVG file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import msgspec

from laissez.sim.boxplot import FILLS, INK, SOFT
from laissez.sim.statistics import Estimate
from laissez_experiments.lab.findings import interval

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

WIDTH_IN: Final = 6.6
PNG_DPI: Final = 200
GRID: Final = "#e3e3e3"
EDGE: Final = "#bdbdbd"
ACCENT: Final = "#0072b2"  # the market's own, for figures without other clouds
THIRD: Final = "#5f5f5f"
SMALL: Final = 7.5  # of type
CLOUD_MARK: Final = "cloud"
TIP_MARK: Final = "tip"

SETTINGS: Final[dict[Any, Any]] = {
    "svg.fonttype": "path",  # the same for every reader, whatever fonts they have
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "text.color": INK,
    "text.parse_math": False,
    "axes.labelcolor": SOFT,
    "axes.labelsize": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "hatch.linewidth": 0.6,
}


class Look(msgspec.Struct, frozen=True):
    """The look of a cloud: a fill for boxes and bars; a colour, a dash and a marker for curves."""

    fill: str
    hatch: str
    line: str
    dash: str
    marker: str


LOOKS: Final[Mapping[str, Look]] = {
    "market": Look(FILLS["market"], "", "#0072b2", "-", "o"),
    "fcfs": Look(FILLS["fcfs"], "", "#d08700", "--", "s"),
    "fcfs-p": Look(FILLS["fcfs-p"], "", "#8f7122", ":", "^"),
    "ideal": Look(FILLS["ideal"], "////", "#222222", "-.", "D"),
}

Looks = dict[str, Any]  # of a part of a figure
_numbers = count()


@contextmanager
def styled(name: str) -> Iterator[None]:
    """Figures made and written in here look alike, and the same data gives the same bytes."""
    import matplotlib

    global _numbers  # noqa: PLW0603  each figure counts from 0
    _numbers = count()
    with matplotlib.rc_context({**SETTINGS, "svg.hashsalt": f"laissez {name}"}):
        yield


def new_figure(height_in: float, width_in: float = WIDTH_IN) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width_in, height_in), layout="constrained")


def dress(axes: Axes, grid: str | None = "y") -> None:
    """No frame, a faint grid along the values (`x`, `y`, `both` or none), ticks without marks."""
    if grid is not None:
        axes.grid(axis=grid, color=GRID, linewidth=0.8, zorder=0)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.tick_params(axis="both", which="both", length=0, colors=INK)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(EDGE)


def caption(figure: Figure, text: str) -> None:
    figure.supxlabel(text, fontsize=SMALL, color=SOFT, x=0.02, ha="left")


def near(
    axes: Axes, text: str, at: tuple[float, float], aside: tuple[float, float], **looks: Any
) -> Annotation:
    """Write a text at an offset from a point, in points of type to the right and upwards."""
    return axes.annotate(text, at, aside, textcoords="offset points", **looks)


def beside(axes: Axes, text: str, height: float, x: float = 1.02, **looks: Any) -> Annotation:
    """Write a text to the right of the axes, at that height of the data."""
    return axes.annotate(text, (x, height), xycoords=("axes fraction", "data"), **looks)


def whisker(
    axes: Axes, mean: Estimate, at: float, *, across: bool = False, **looks: Any
) -> list[Artist]:
    """Draw the interval of a mean, if it has one: upright, or `across`. Returns the parts drawn."""
    ends = interval(mean)
    if ends is None:
        return []
    place = [at, at]
    return [*(axes.plot(ends, place, **looks) if across else axes.plot(place, ends, **looks))]


def of_cloud(cloud: str, *artists: Artist) -> None:
    """Mark these as parts of that cloud."""
    for artist in artists:
        artist.set_gid(f"{CLOUD_MARK}:{cloud}:{next(_numbers)}")


def curve(
    axes: Axes,
    cloud: str,
    places: Sequence[float],
    means: Sequence[Estimate],
    key: str,
    *,
    dash: str | None = None,
    fill: str | None = None,
) -> None:
    """Draw means with their intervals along a parameter as parts of that cloud, with its looks
    unless others are given. The findings' tips under `key` belong to the points."""
    look, values = LOOKS[cloud], [mean.value for mean in means]
    line: Looks = {
        "color": look.line,
        "linestyle": dash or look.dash,
        "linewidth": 1.6,
        "zorder": 3,
    }
    of_cloud(cloud, *axes.plot(places, values, **line))
    for place, mean in zip(places, means, strict=True):
        upright = whisker(axes, mean, place, color=look.line, linewidth=1.2, marker="_", zorder=4)
        of_cloud(cloud, *upright)
    marks: Looks = {"marker": look.marker, "edgecolors": look.line, "linewidths": 1}
    points = axes.scatter(places, values, s=34, color=fill or look.fill, **marks, zorder=5)
    with_tips(key, points, cloud)


def with_tips(key: str, artist: Artist, cloud: str = "") -> None:
    """Show the findings' tips under `key` when the pointer is over this: one text, or one for each
    point of a scatter."""
    artist.set_gid(f"{TIP_MARK}:{cloud}:{key}:{next(_numbers)}")
