"""How all figures look: one width, one type, one look for each cloud, told apart by lightness, dash
and mark as well as by hue.

Parts of a figure may be marked: `of_cloud` for what belongs to a cloud, so that the report can hide
it, and `with_tips` for what has something to say when the pointer is over it. The marks are ids in
the SVG file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import msgspec

from laissez.sim.boxplot import FILLS, INK, SOFT

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_IN: Final = 6.6
PNG_DPI: Final = 200
GRID: Final = "#e3e3e3"
EDGE: Final = "#bdbdbd"
ACCENT: Final = "#0072b2"  # the market's own, for figures without other clouds
SECOND: Final = "#e69f00"
THIRD: Final = "#5f5f5f"
CLOUD_MARK: Final = "cloud"
TIP_MARK: Final = "tip"

SETTINGS: Final[dict[Any, Any]] = {
    "svg.fonttype": "path",  # what a reader sees does not depend on the fonts it has
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
    """Of a cloud: boxes and bars are filled, curves have a colour, a dash and a marker."""

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


def of_cloud(cloud: str, *artists: Artist) -> None:
    """These belong to that cloud."""
    for artist in artists:
        artist.set_gid(f"{CLOUD_MARK}:{cloud}:{next(_numbers)}")


def with_tips(key: str, artist: Artist, cloud: str = "") -> None:
    """What the findings' tips have under `key` is shown when the pointer is over this: one text, or
    one for each point of a scatter."""
    artist.set_gid(f"{TIP_MARK}:{cloud}:{key}:{next(_numbers)}")
