"""The example as a picture: for each cloud who was on which machine when, and below it what HW1
cost on the market and why it changed hands."""

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
    dress,
    new_figure,
    of_cloud,
    with_tips,
)
from laissez_experiments.motivation.run import CONTESTED, DUE_H, PRICES, Finished, Quote, Story

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

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


class Look(msgspec.Struct, frozen=True):
    """Of a task: its bars, what is written on them, and its lines."""

    fill: str
    ink: str
    line: str


TASKS: Final = {"A": Look(ACCENT, "white", ACCENT), "B": Look("#f3d08a", INK, LOOKS["fcfs"].line)}


def draw(stories: Mapping[str, Story]) -> Figure:
    figure = new_figure(6.0)
    *charts, prices = figure.subplots(
        len(stories) + 1, 1, sharex=True, height_ratios=[3.0] * len(stories) + [3.4]
    )
    for axes, (cloud, story) in zip(charts, stories.items(), strict=True):
        _chart(axes, cloud, story)
    _prices(prices, stories["market"])
    prices.set_xlim(
        0,
        max(one.at for story in stories.values() for one in story.tasks.values()) / HOUR_US
        + LATE_H,
    )
    prices.set_xlabel("hours")
    figure.supxlabel(CAPTION, fontsize=7.5, color=SOFT, x=0.02, ha="left", multialignment="left")
    return figure


def tips(stories: Mapping[str, Story]) -> dict[str, list[str]]:
    return {
        _key(cloud, task, at): [
            (
                f"{task} {piece.what} on {piece.machine.upper()}, {piece.start / HOUR_US:.3f} to"
                f" {piece.end / HOUR_US:.3f} h"
                if piece.what != "lost"
                else (
                    f"{task}'s work of {(piece.end - piece.start) / HOUR_US:.3f} h on"
                    f" {piece.machine.upper()} is lost"
                )
            )
        ]
        for cloud, story in stories.items()
        for task, one in story.tasks.items()
        for at, piece in enumerate(one.pieces)
    }


def _key(cloud: str, task: str, at: int) -> str:
    return f"{cloud}-{task}-{at}"


def _chart(axes: Axes, cloud: str, story: Story) -> None:
    dress(axes, "x")
    axes.set_title(TITLES[cloud])
    for place, (task, one) in enumerate(story.tasks.items()):
        _bars(axes, cloud, task, one)
        said = axes.annotate(
            f"{task}: {one.at / HOUR_US:.2f} h, ${one.cost:.3f}",
            (1.01, 0.72 - 0.3 * place),
            xycoords="axes fraction",
            va="center",
            color=TASKS[task].line,
        )
        of_cloud(cloud, said)
    axes.axvline(DUE_H, color=TASKS["B"].line, linestyle=":", linewidth=1.2, zorder=1)
    if cloud == "fcfs":
        axes.annotate(
            "B is due",
            (DUE_H, len(ROWS) - 1),
            xytext=(-4, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            color=TASKS["B"].line,
        )
    axes.set_yticks(range(len(ROWS)), [machine.upper() for machine in ROWS])
    axes.set_ylim(len(ROWS) - 0.5, -0.5)


def _bars(axes: Axes, cloud: str, task: str, one: Finished) -> None:
    look = TASKS[task]
    for at, piece in enumerate(one.pieces):
        row, start, hours = (
            ROWS.index(piece.machine),
            piece.start / HOUR_US,
            (piece.end - piece.start) / HOUR_US,
        )
        fill, hatch = {
            "works": (look.fill, ""),
            "restarts": ("white", ""),
            "lost": ("none", "//////"),
        }[piece.what]
        edge = "white" if piece.what == "lost" else INK
        bar = axes.barh(
            row,
            hours,
            left=start,
            height=BAR,
            facecolor=fill,
            hatch=hatch,
            edgecolor=edge,
            linewidth=0.7,
            zorder=3,
        )
        with_tips(_key(cloud, task, at), bar[0], cloud)
        if piece.what == "works":
            of_cloud(cloud, _named(axes, task, start, row))
        elif piece.what == "lost" and hours > SHORT_H:
            of_cloud(cloud, _named(axes, f"{task}: lost", start, row))
    for machine, at in one.checkpoints:
        row = ROWS.index(machine)
        of_cloud(
            cloud,
            *axes.plot(
                (at / HOUR_US,) * 2,
                (row - 0.5, row + 0.5),
                color=INK,
                linewidth=2.0,
                solid_capstyle="butt",
                zorder=4,
            ),
        )


def _named(axes: Axes, words: str, start: float, row: int) -> Annotation:
    look = TASKS[words[0]]
    box = {"facecolor": look.fill, "edgecolor": "none", "pad": 1.5}
    return axes.annotate(
        words,
        (start, row),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        color=look.ink,
        fontweight="bold",
        bbox=box,
        zorder=5,
    )


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
        times, numbers = _steps(quotes, field, end)
        axes.plot(
            times,
            numbers,
            color=colour,
            linestyle=dash,
            linewidth=width,
            drawstyle="steps-post",
            solid_capstyle="butt",
        )
    axes.annotate(
        "what it costs",
        (end / HOUR_US, quotes[-1].rate),
        xytext=(0, 5),
        textcoords="offset points",
        ha="right",
        color=SOFT,
    )
    kept = [quote for quote in quotes if quote.limit is not None]
    pressed = [quote for quote in quotes if quote.bid is not None and quote.limit is not None]
    if kept:
        highest, last = max(quote.limit or 0.0 for quote in kept), kept[-1].limit or 0.0
        _beside(
            axes,
            kept[-1].at,
            highest,
            f"A's limit: up to ${highest:.2f}, at last ${last:.2f}",
            TASKS["A"],
        )
    if pressed:
        bid = pressed[-1].bid or 0.0
        _beside(axes, pressed[-1].at, bid, f"B's bid: ${bid:.2f}", TASKS["B"])
    axes.set_yscale("log")
    axes.set_ylim(0.4, PRICE_MAX)
    axes.set_yticks([0.5, 1, 2, 5], ["0.50", "1.00", "2.00", "5.00"])
    axes.minorticks_off()
    axes.set_ylabel("$ per hour")


def _beside(axes: Axes, at: int, number: float, words: str, look: Look) -> None:
    axes.annotate(
        words,
        (at / HOUR_US, number),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        color=look.line,
    )


def _steps(quotes: list[Quote], field: str, end: int) -> tuple[list[float], list[float]]:
    """From one change to the next; where there is none, nothing is drawn."""
    numbers = [getattr(quote, field) for quote in quotes]
    times = [quote.at / HOUR_US for quote in quotes]
    return [*times, end / HOUR_US], [
        float("nan") if number is None else number for number in [*numbers, numbers[-1]]
    ]
