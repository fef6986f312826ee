"""The figure of scalability: for each operation requests per second and latency against the size of
the tree, and the service below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from laissez.sim.boxplot import INK, SOFT
from laissez_bench import market, service
from laissez_experiments.lab.style import ACCENT, dress, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

UPPER_IN: Final = 4.1
LOWER_IN: Final = 0.8  # and for each load
LOAD_IN: Final = 0.24
SMALL: Final = 7.5
US_PER_MS: Final = 1_000
THOUSAND: Final = 1_000
LATENCIES_MS: Final[Mapping[float, str]] = {
    0.001: "1 us",
    0.01: "10 us",
    0.1: "100 us",
    1: "1 ms",
    10: "10 ms",
}

MarketRows = Mapping[tuple[str, int], market.Row]
Served = Sequence[tuple[str, service.Row]]


def scalability_figure(
    operations: Mapping[str, str],
    measured: MarketRows,
    served: Served,
    paper_per_second: float,
    paper_ms: float,
) -> Figure:
    """`operations` are those that are shown, in order, with their names; `served` the loads of the
    service, described; none if not measured."""
    lower_in = LOWER_IN + LOAD_IN * len(served) if served else 0.0
    figure = new_figure(UPPER_IN + lower_in)
    if not served:
        _market(figure, operations, measured, paper_per_second, paper_ms)
        return figure
    upper, lower = figure.subfigures(2, 1, squeeze=False, height_ratios=(UPPER_IN, lower_in))[:, 0]
    _market(upper, operations, measured, paper_per_second, paper_ms)
    _service(lower, served, paper_per_second, paper_ms)
    return figure


def _market(
    figure: Figure | SubFigure,
    operations: Mapping[str, str],
    measured: MarketRows,
    paper_per_second: float,
    paper_ms: float,
) -> None:
    grid = figure.subplots(2, len(operations), sharex=True, sharey="row", squeeze=False)
    for column, (operation, words) in enumerate(operations.items()):
        rows = sorted(
            (row for (each, _), row in measured.items() if each == operation),
            key=lambda row: row.leaves,
        )
        leaves = [row.leaves for row in rows]
        rates, latencies = grid[:, column]
        dress(rates)
        rates.set_title(f"{'abc'[column]}  {words}")
        rates.plot(
            leaves, [row.per_second / THOUSAND for row in rows], "-o", color=ACCENT, markersize=4
        )
        rates.axhline(paper_per_second / THOUSAND, color=INK, linestyle="--", linewidth=1)
        dress(latencies)
        latencies.plot(
            leaves, [row.p99_us / US_PER_MS for row in rows], "-o", color=ACCENT, markersize=4
        )
        latencies.plot(
            leaves,
            [row.p50_us / US_PER_MS for row in rows],
            ":o",
            color=ACCENT,
            markersize=4,
            markerfacecolor="white",
        )
        latencies.axhline(paper_ms, color=INK, linestyle="--", linewidth=1)
        if column == 0:
            _name_lines(rates, latencies, rows, paper_per_second, paper_ms)
    first = grid[0, 0], grid[1, 0]
    first[0].set_ylim(bottom=0)
    first[0].set_ylabel("thousand requests/s")
    first[1].set_xscale("log")
    first[1].margins(x=0.12)
    first[1].set_yscale("log")
    first[1].set_ylim(min(LATENCIES_MS) / 2, paper_ms * 4)
    first[1].set_yticks(list(LATENCIES_MS), list(LATENCIES_MS.values()))
    first[1].set_yticks([], minor=True)
    first[1].set_ylabel("latency")
    _ticks_at(first[1], sorted({leaves for _, leaves in measured}))
    figure.supxlabel("leaves in the tree (in process, one run)", fontsize=9, color=SOFT)


def _ticks_at(axes: Axes, leaves: Sequence[int]) -> None:
    axes.set_xticks(
        leaves, [f"{each // THOUSAND}k" if each >= THOUSAND else f"{each}" for each in leaves]
    )
    axes.set_xticks([], minor=True)


def _name_lines(
    rates: Axes,
    latencies: Axes,
    rows: Sequence[market.Row],
    paper_per_second: float,
    paper_ms: float,
) -> None:
    """Beside them, in the first column alone: they are the same in all."""
    for axes, at, text in (
        (rates, paper_per_second / THOUSAND, f"paper: {paper_per_second:,.0f}/s"),
        (latencies, paper_ms, f"paper: {paper_ms:g} ms"),
    ):
        axes.annotate(
            text,
            (0.98, at),
            (0, 3),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            ha="right",
            fontsize=SMALL,
        )
    last, slowest, fastest = (
        rows[-1].leaves,
        max(row.p99_us for row in rows),
        min(row.p50_us for row in rows),
    )
    latencies.annotate(
        "99th percentile",
        (last, slowest / US_PER_MS),
        (4, 6),
        textcoords="offset points",
        ha="right",
        fontsize=SMALL,
    )
    latencies.annotate(
        "median",
        (last, fastest / US_PER_MS),
        (4, -5),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=SMALL,
    )


def _service(figure: SubFigure, served: Served, paper_per_second: float, paper_ms: float) -> None:
    figure.suptitle("d  through the service, every answer durable", x=0.01, ha="left", fontsize=10)
    rates, latencies = figure.subplots(1, 2, sharey=True)
    at = range(len(served))
    rates.barh(at, [row.per_second / THOUSAND for _, row in served], 0.6, color=ACCENT)
    for each, (_, row) in enumerate(served):
        _write_value(rates, row.per_second / THOUSAND, each, f"{row.per_second / THOUSAND:.1f}")
        latencies.plot([row.p50_ms, row.p99_ms], [each, each], color=ACCENT, linewidth=1.5)
        latencies.plot(
            [row.p50_ms], [each], "o", color=ACCENT, markersize=5, markerfacecolor="white"
        )
        latencies.plot([row.p99_ms], [each], "o", color=ACCENT, markersize=5)
        _write_value(latencies, row.p99_ms, each, f"{row.p99_ms:.0f}")
    ends = max(row.per_second for _, row in served) / THOUSAND, max(row.p99_ms for _, row in served)
    papers = (
        (paper_per_second / THOUSAND, f"paper: {paper_per_second:,.0f}/s", "right"),
        (paper_ms, f"paper: {paper_ms:g} ms", "left"),
    )
    for axes, end, (line, text, side) in zip((rates, latencies), ends, papers, strict=True):
        dress(axes, "x")
        axes.axvline(line, color=INK, linestyle="--", linewidth=1)
        axes.annotate(
            text,
            (line, 1),
            (0, 2),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha=side,
            va="bottom",
            fontsize=SMALL,
        )
        axes.set_xlim(0, max(line, end) * 1.15)
    rates.set_yticks(at, [text for text, _ in served])
    rates.set_ylim(len(served) - 0.4, -0.6)
    rates.set_xlabel("thousand requests/s answered")
    latencies.set_xlabel("median (open) to p99 (filled), ms")


def _write_value(axes: Axes, at: float, row: int, text: str) -> None:
    """Beside the bar or dot, and readable on the line of the paper too."""
    behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    axes.annotate(
        text,
        (at, row),
        (6, 0),
        textcoords="offset points",
        va="center",
        fontsize=SMALL,
        bbox=behind,
    )
