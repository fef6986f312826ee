"""The example as a picture: for each cloud the tasks on each machine over time, and below it the
price of HW1 on the market, with the limit and the bid that decided it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from laissez.sim.boxplot import INK, SOFT
from laissez.units import HOUR_US
from laissez_experiments.lab.style import (
    ACCENT,
    EDGE,
    LOOKS,
    Looks,
    caption,
    dress,
    near,
    new_figure,
    of_cloud,
    with_tips,
)
from laissez_experiments.motivation.run import CONTESTED, DUE_H, PRICES, Finished, Quote, Story
from laissez_experiments.motivation.task import Piece

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROWS: Final = tuple(PRICES)
BAR: Final = 0.72
TITLES: Final = {
    "fcfs": "fcfs: first come, first served",
    "fcfs-p": "fcfs-p: B may preempt A",
    "market": "market: bids and limits decide",
}
SHORT_H: Final = 0.02  # shorter bars are not named
LATE_H: Final = 0.01  # of free space after the last bar
CAPTION: Final = (
    "Filled: work; white: a restart; hatched: work that is lost; black lines: checkpoints of A.\n"
    "On the right: when each task is done, and what it pays."
)
PRICE_MAX: Final = 10.0


Stories = Mapping[str, Story]  # by cloud


class Look(msgspec.Struct, frozen=True):
    """The look of a task: its bars, the names on them, and its lines."""

    fill: str
    ink: str
    line: str


TASKS: Final = {"A": Look(ACCENT, "white", ACCENT), "B": Look("#f3d08a", INK, LOOKS["fcfs"].line)}


def draw(stories: Stories) -> Figure:
    figure = new_figure(6.0)
    heights = [3.0] * len(stories) + [3.4]
    *charts, prices = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    for axes, (cloud, story) in zip(charts, stories.items(), strict=True):
        _chart(axes, cloud, story)
    _prices(prices, stories["market"])
    last = max(one.at for story in stories.values() for one in story.tasks.values())
    prices.set_xlim(0, last / HOUR_US + LATE_H)
    prices.set_xlabel("hours")
    caption(figure, CAPTION)
    return figure


def tips(stories: Stories) -> dict[str, list[str]]:
    return {
        _key(cloud, task, at): [_tip(task, piece)]
        for cloud, story in stories.items()
        for task, one in story.tasks.items()
        for at, piece in enumerate(one.pieces)
    }


def _tip(task: str, piece: Piece) -> str:
    start, end, machine = piece.start / HOUR_US, piece.end / HOUR_US, piece.machine.upper()
    if piece.what == "lost":
        return f"{task}'s work of {end - start:.3f} h on {machine} is lost"
    return f"{task} {piece.what} on {machine}, {start:.3f} to {end:.3f} h"


def _key(cloud: str, task: str, at: int) -> str:
    return f"{cloud}-{task}-{at}"


def _chart(axes: Axes, cloud: str, story: Story) -> None:
    dress(axes, "x")
    axes.set_title(TITLES[cloud])
    for place, (task, one) in enumerate(story.tasks.items()):
        _bars(axes, cloud, task, one)
        said, at = f"{task}: {one.hours:.2f} h, ${one.cost:.3f}", (1.01, 0.72 - 0.3 * place)
        looks: Looks = {"va": "center", "color": TASKS[task].line}
        of_cloud(cloud, axes.annotate(said, at, xycoords="axes fraction", **looks))
    axes.axvline(DUE_H, color=TASKS["B"].line, linestyle=":", linewidth=1.2, zorder=1)
    if cloud == "fcfs":
        looks = {"ha": "right", "va": "center", "color": TASKS["B"].line}
        near(axes, "B is due", (DUE_H, len(ROWS) - 1), (-4, 0), **looks)
    axes.set_yticks(range(len(ROWS)), [machine.upper() for machine in ROWS])
    axes.set_ylim(len(ROWS) - 0.5, -0.5)


def _bars(axes: Axes, cloud: str, task: str, one: Finished) -> None:
    fills = {"works": TASKS[task].fill, "restarts": "white", "lost": "none"}
    for at, piece in enumerate(one.pieces):
        row, start = ROWS.index(piece.machine), piece.start / HOUR_US
        hours, is_lost = (piece.end - piece.start) / HOUR_US, piece.what == "lost"
        looks: Looks = {"facecolor": fills[piece.what], "linewidth": 0.7, "zorder": 3}
        looks |= {"hatch": "//////", "edgecolor": "white"} if is_lost else {"edgecolor": INK}
        bar = axes.barh(row, hours, left=start, height=BAR, **looks)
        with_tips(_key(cloud, task, at), bar[0], cloud)
        if piece.what == "works":
            _name(axes, cloud, task, task, (start, row))
        elif is_lost and hours > SHORT_H:
            _name(axes, cloud, task, f"{task}: lost", (start, row))
    for machine, at in one.checkpoints:
        row = ROWS.index(machine)
        looks = {"color": INK, "linewidth": 2.0, "solid_capstyle": "butt", "zorder": 4}
        line = axes.plot((at / HOUR_US,) * 2, (row - 0.5, row + 0.5), **looks)
        of_cloud(cloud, *line)


def _name(axes: Axes, cloud: str, task: str, words: str, at: tuple[float, float]) -> None:
    look = TASKS[task]
    box = {"facecolor": look.fill, "edgecolor": "none", "pad": 1.5}
    bold: Looks = {"fontweight": "bold", "bbox": box, "zorder": 5}
    of_cloud(cloud, near(axes, words, at, (6, 0), va="center", color=look.ink, **bold))


def _prices(axes: Axes, market: Story) -> None:
    dress(axes)
    axes.set_title(f"{CONTESTED.upper()} on the market")
    end = max(one.at for one in market.tasks.values())
    quotes = [quote for quote in market.quotes if quote.at < end]
    for field, colour, dash, width in (
        ("rate", EDGE, "-", 5.0),
        ("limit", TASKS["A"].line, "-", 1.6),
        ("bid", TASKS["B"].line, "--", 1.6),
    ):
        looks: Looks = {"color": colour, "linestyle": dash, "linewidth": width}
        steps: Looks = {"drawstyle": "steps-post", "solid_capstyle": "butt"}
        axes.plot(*_steps(quotes, field, end), **looks, **steps)
    last = end / HOUR_US, quotes[-1].rate
    near(axes, "what it costs", last, (0, 5), ha="right", color=SOFT)
    kept = [quote for quote in quotes if quote.limit is not None]
    pressed = [quote for quote in kept if quote.bid is not None]
    if kept:
        highest, limit = max(quote.limit or 0.0 for quote in kept), kept[-1].limit or 0.0
        words = f"A's limit: up to ${highest:.2f}, at last ${limit:.2f}"
        _beside(axes, kept[-1].at, highest, words, TASKS["A"])
    if pressed:
        bid = pressed[-1].bid or 0.0
        _beside(axes, pressed[-1].at, bid, f"B's bid: ${bid:.2f}", TASKS["B"])
    axes.set_yscale("log")
    axes.set_ylim(0.4, PRICE_MAX)
    axes.set_yticks([0.5, 1, 2, 5], ["0.50", "1.00", "2.00", "5.00"])
    axes.minorticks_off()
    axes.set_ylabel("$ per hour")


def _beside(axes: Axes, at: int, price: float, words: str, look: Look) -> None:
    near(axes, words, (at / HOUR_US, price), (6, 0), va="center", color=look.line)


def _steps(quotes: list[Quote], field: str, end: int) -> tuple[list[float], list[float]]:
    """From one change to the next, with a gap where the field has no value."""
    numbers = [getattr(quote, field) for quote in [*quotes, quotes[-1]]]
    times = [quote.at / HOUR_US for quote in quotes]
    return [*times, end / HOUR_US], [
        float("nan") if number is None else number for number in numbers
    ]
