"""The figure of cloud scale: where the time goes by size, and what is asked of the market beside
what it could serve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from laissez.sim.boxplot import INK, SOFT
from laissez_bench import simulation
from laissez_experiments.lab.findings import PERCENT
from laissez_experiments.lab.style import ACCENT, dress, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_IN: Final = 0.95
SIZE_IN: Final = 0.38
SMALL: Final = 7.5
# parts that have their figure inside
WRITTEN_IN: Final = ("adapters", "models of the applications")
LEGIBLE: Final = 5.0  # percent: a narrower part has no room for it
PALE: Final = "#f6dfa6"
# parts of the time, where they are found, how they are filled; the market is last, where its figure
# is written beside it
PARTS: Final = (
    ("adapters", "adapter_share", PALE, ""),
    ("models of the applications", "world_share", "#cccccc", ""),
    ("simulator", "simulator_share", "#ffffff", "////"),
    ("market", "market_share", ACCENT, ""),
)


def cloud_scale_figure(rows: Sequence[simulation.Row], paper_asks: Sequence[float]) -> Figure:
    """`paper_asks` are requests/s, for each row, if tenants asked as often as the paper's."""
    figure = new_figure(2 * (PANEL_IN + SIZE_IN * len(rows)))
    shares, rates = figure.subplots(2, 1)
    _shares(shares, rows)
    _rates(rates, rows, paper_asks)
    for axes, top in ((shares, -0.5), (rates, -0.95)):
        axes.set_yticks(
            range(len(rows)), [f"{row.nodes:,} nodes\n{row.tenants:,} tenants" for row in rows]
        )
        axes.set_ylim(len(rows) - 0.5, top)
    return figure


def _shares(axes: Axes, rows: Sequence[simulation.Row]) -> None:
    dress(axes, None)
    axes.set_title("a  where the time of a simulation goes", pad=20)
    left = [0.0 for _ in rows]
    for name, field, fill, hatch in PARTS:
        shares = [getattr(row, field) * PERCENT for row in rows]
        axes.barh(
            range(len(rows)),
            shares,
            0.5,
            left,
            color=fill,
            hatch=hatch,
            edgecolor=INK,
            linewidth=0.6,
            label=name,
        )
        for at, share in enumerate(shares):
            if name in WRITTEN_IN and share >= LEGIBLE:
                axes.text(
                    left[at] + share / 2,
                    at,
                    f"{share:.0f} %",
                    ha="center",
                    va="center",
                    fontsize=SMALL,
                )
            left[at] += share
    beside = ("axes fraction", "data")
    for at, row in enumerate(rows):
        share = f"market {row.market_share * PERCENT:.1f} %"
        axes.annotate(
            share,
            (1.02, at),
            (0, 1),
            beside,
            "offset points",
            va="bottom",
            fontsize=8.5,
            fontweight="bold",
            color=ACCENT,
        )
        axes.annotate(
            f"{row.speed:,.{0 if row.speed >= 10 else 1}f}x real time",
            (1.02, at),
            (0, -1),
            beside,
            "offset points",
            va="top",
            fontsize=8.5,
        )
    axes.set_xlim(0, PERCENT)
    axes.set_xlabel("percent of real time")
    axes.legend(
        ncols=len(PARTS),
        loc="lower left",
        bbox_to_anchor=(0, 0.93),
        frameon=False,
        fontsize=SMALL,
        handlelength=1.2,
        columnspacing=1.4,
        borderpad=0,
    )


def _rates(axes: Axes, rows: Sequence[simulation.Row], paper_asks: Sequence[float]) -> None:
    dress(axes, "x")
    axes.set_title("b  requests per second, asked of the market and what it could serve")
    for at, (row, paper) in enumerate(zip(rows, paper_asks, strict=True)):
        axes.plot(
            [row.asked_per_second, row.market_per_second],
            [at, at],
            color=SOFT,
            linewidth=1,
            zorder=1,
        )
        marks = (
            (row.asked_per_second, "o", "white", "asked"),
            (paper, "D", PALE, "at the paper's rates"),
            (row.market_per_second, "o", ACCENT, "could be served"),
        )
        for value, marker, fill, name in marks:
            axes.plot(
                [value],
                [at],
                marker,
                markersize=6,
                markerfacecolor=fill,
                markeredgecolor=INK,
                zorder=2,
            )
            text = f"{value:,.0f}" if at else f"{name}\n{value:,.0f}"
            axes.annotate(
                text,
                (value, at),
                (0, 6),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=SMALL,
                linespacing=1.1,
            )
    axes.set_xscale("log")
    axes.margins(x=0.12)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xticks([], minor=True)
    axes.set_xlabel(
        "requests/s (asked: of virtual time; could be served: of the market's own time)"
    )
