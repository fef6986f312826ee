"""The figure of scalability: for each operation requests per second and latency against the size of
the tree, and the service below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from laissez.sim.boxplot import INK, SOFT
from laissez_bench import market, service
from laissez_experiments.lab.style import ACCENT, SMALL, Looks, dress, near, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

UPPER_IN: Final = 4.1
LOWER_IN: Final = 0.8  # and for each load
LOAD_IN: Final = 0.24
US_PER_MS: Final = 1_000
THOUSAND: Final = 1_000
LATENCIES_MS: Final[Mapping[float, str]] = {
    0.001: "1 us",
    0.01: "10 us",
    0.1: "100 us",
    1: "1 ms",
    10: "10 ms",
}
DASHED: Final[Looks] = {"color": INK, "linestyle": "--", "linewidth": 1}
DOTS: Final[Looks] = {"color": ACCENT, "markersize": 4}
OPEN: Final = {"markerfacecolor": "white"}
# behind a value, so that it is readable on the line of the paper too
CLEAR: Final = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}

MarketRows = Mapping[tuple[str, int], market.Row]  # by operation and leaves


class Scale(msgspec.Struct, frozen=True):
    """`operations` are those shown, in order, with their names; `served` the loads of the service
    with their names, none if not measured. The last two are the paper's figures."""

    operations: Mapping[str, str]
    measured: MarketRows
    served: Sequence[tuple[str, service.Row]]
    paper_per_second: float
    paper_ms: float

    def draw(self) -> Figure:
        lower_in = LOWER_IN + LOAD_IN * len(self.served) if self.served else 0.0
        figure = new_figure(UPPER_IN + lower_in)
        if not self.served:
            self._market(figure)
            return figure
        heights = UPPER_IN, lower_in
        upper, lower = figure.subfigures(2, 1, squeeze=False, height_ratios=heights)[:, 0]
        self._market(upper)
        self._service(lower)
        return figure

    @property
    def _papers(self) -> tuple[tuple[float, str], tuple[float, str]]:
        """The paper's rate and latency, with their names."""
        return (
            (self.paper_per_second / THOUSAND, f"paper: {self.paper_per_second:,.0f}/s"),
            (self.paper_ms, f"paper: {self.paper_ms:g} ms"),
        )

    def _market(self, figure: Figure | SubFigure) -> None:
        grid = figure.subplots(2, len(self.operations), sharex=True, sharey="row", squeeze=False)
        for column, (operation, words) in enumerate(self.operations.items()):
            rows = [row for (each, _), row in self.measured.items() if each == operation]
            rows.sort(key=lambda row: row.leaves)
            leaves = [row.leaves for row in rows]
            rates, latencies = grid[:, column]
            dress(rates)
            rates.set_title(f"{'abc'[column]}  {words}")
            rates.plot(leaves, [row.per_second / THOUSAND for row in rows], "-o", **DOTS)
            dress(latencies)
            latencies.plot(leaves, [row.p99_us / US_PER_MS for row in rows], "-o", **DOTS)
            latencies.plot(leaves, [row.p50_us / US_PER_MS for row in rows], ":o", **DOTS, **OPEN)
            for axes, (line, _) in zip((rates, latencies), self._papers, strict=True):
                axes.axhline(line, **DASHED)
            if column == 0:
                self._name_lines(rates, latencies, rows)
        rates, latencies = grid[:, 0]
        rates.set_ylim(bottom=0)
        rates.set_ylabel("thousand requests/s")
        latencies.set_xscale("log")
        latencies.margins(x=0.12)
        latencies.set_yscale("log")
        latencies.set_ylim(min(LATENCIES_MS) / 2, self.paper_ms * 4)
        latencies.set_yticks(list(LATENCIES_MS), list(LATENCIES_MS.values()))
        latencies.set_yticks([], minor=True)
        latencies.set_ylabel("latency")
        sizes = sorted({leaves for _, leaves in self.measured})
        names = [f"{each // THOUSAND}k" if each >= THOUSAND else f"{each}" for each in sizes]
        latencies.set_xticks(sizes, names)
        latencies.set_xticks([], minor=True)
        figure.supxlabel("leaves in the tree (in process, one run)", fontsize=9, color=SOFT)

    def _name_lines(self, rates: Axes, latencies: Axes, rows: Sequence[market.Row]) -> None:
        """Beside the lines, in the first column alone: they are the same in all."""
        right: Looks = {"ha": "right", "fontsize": SMALL}
        within = ("axes fraction", "data")
        for axes, (line, text) in zip((rates, latencies), self._papers, strict=True):
            near(axes, text, (0.98, line), (0, 3), xycoords=within, **right)
        last = rows[-1].leaves
        slowest, fastest = max(row.p99_us for row in rows), min(row.p50_us for row in rows)
        near(latencies, "99th percentile", (last, slowest / US_PER_MS), (4, 6), **right)
        near(latencies, "median", (last, fastest / US_PER_MS), (4, -5), va="top", **right)

    def _service(self, figure: SubFigure) -> None:
        title = "d  through the service, every answer durable"
        figure.suptitle(title, x=0.01, ha="left", fontsize=10)
        rates, latencies = figure.subplots(1, 2, sharey=True)
        names, rows = zip(*self.served, strict=True)
        thousands = [row.per_second / THOUSAND for row in rows]
        rates.barh(range(len(rows)), thousands, 0.6, color=ACCENT)
        for at, row in enumerate(rows):
            _write_value(rates, thousands[at], at, f"{thousands[at]:.1f}")
            latencies.plot([row.p50_ms, row.p99_ms], [at, at], color=ACCENT, linewidth=1.5)
            latencies.plot([row.p50_ms], [at], "o", color=ACCENT, markersize=5, **OPEN)
            latencies.plot([row.p99_ms], [at], "o", color=ACCENT, markersize=5)
            _write_value(latencies, row.p99_ms, at, f"{row.p99_ms:.0f}")
        ends, sides = (max(thousands), max(row.p99_ms for row in rows)), ("right", "left")
        panels = zip((rates, latencies), ends, sides, self._papers, strict=True)
        for axes, end, side, (line, text) in panels:
            dress(axes, "x")
            axes.axvline(line, **DASHED)
            above: Looks = {"xycoords": ("data", "axes fraction"), "va": "bottom"}
            near(axes, text, (line, 1), (0, 2), ha=side, fontsize=SMALL, **above)
            axes.set_xlim(0, max(line, end) * 1.15)
        rates.set_yticks(range(len(rows)), names)
        rates.set_ylim(len(rows) - 0.4, -0.6)
        rates.set_xlabel("thousand requests/s answered")
        latencies.set_xlabel("median (open) to p99 (filled), ms")


def _write_value(axes: Axes, at: float, row: int, text: str) -> None:
    near(axes, text, (at, row), (6, 0), va="center", fontsize=SMALL, bbox=CLEAR)
