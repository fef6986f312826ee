"""How many lines of code it takes to bring an application or a signal into the market (the paper's
table of implementation effort)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from laissez.sim.boxplot import INK
from laissez_check.integration import PAPER_HEADROOM_TO_PRICE, Count, count_all, headroom_to_price
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import Claim, Findings, Number
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.style import ACCENT, dress, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PARTS: Final = ("pricing", "profiling")
HEIGHT_IN: Final = 2.7
BAR: Final = 0.36
PAPER_FILL: Final = "#d9d9d9"


class Integration(Experiment):
    """It has no cells: lines are counted from the sources, which takes no time."""

    name = "integration"
    title = "Lines of code per integration"

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return []

    def findings(self, plan: Plan, results: Results) -> Findings:
        return found(count_all(), headroom_to_price())


def found(counts: Sequence[Count], headroom_lines: int) -> Findings:
    return Findings(
        claims=[
            *(_claim(count, part) for count in counts for part in PARTS),
            _from_headroom(headroom_lines),
        ],
        text=_text(counts, headroom_lines),
        rows=[_row(count) for count in counts],
        draw=lambda: _draw(counts),
    )


def _lines(count: Count, part: str) -> tuple[int, int]:
    """Here and in the paper."""
    return (
        (count.pricing, count.paper_pricing)
        if part == "pricing"
        else (count.profiling, count.paper_profiling)
    )


def _claim(count: Count, part: str) -> Claim:
    here, paper = _lines(count, part)
    return Claim(
        figure=Integration.name,
        claim=f"{count.system}: the {part} code has no more lines than the paper's",
        paper=paper,
        measured=here,
        holds=here <= paper,
        unit="lines",
    )


def _from_headroom(lines: int) -> Claim:
    return Claim(
        figure=Integration.name,
        claim="the lines that map power headroom to a proportional price adjustment",
        paper=PAPER_HEADROOM_TO_PRICE,
        measured=lines,
        holds=lines <= PAPER_HEADROOM_TO_PRICE,
        unit="lines",
        note=(
            "one function with its parameter; all maps share what makes a price of it, which is not"
            " counted"
        ),
    )


def _text(counts: Sequence[Count], headroom_lines: int) -> str:
    each = ", ".join(
        f"{count.system} {count.pricing} + {count.profiling} ({count.paper_pricing} +"
        f" {count.paper_profiling})"
        for count in counts
    )
    here, paper = (
        sum(_lines(count, part)[whose] for count in counts for part in PARTS) for whose in (0, 1)
    )
    return (
        "Lines of code that are particular to one application or signal: profiling says what"
        " hardware does for it, pricing what that is worth. They are counted from the sources"
        " as statements, however they are wrapped, without comments, docstrings and imports; what"
        " all share is not counted, nor is what an autoscaler has anyway (planner, performance"
        " model, progress). The paper does not say how it counts, so the figures can be compared"
        f" only roughly. Pricing + profiling, in parentheses the paper's: {each}; in all {here}"
        f" ({paper}). Of these, {headroom_lines} map power headroom to a price"
        f" ({PAPER_HEADROOM_TO_PRICE})."
    )


def _row(count: Count) -> dict[str, Number | str | None]:
    return {
        "system": count.system,
        "pricing": count.pricing,
        "profiling": count.profiling,
        "paper_pricing": count.paper_pricing,
        "paper_profiling": count.paper_profiling,
    }


def _draw(counts: Sequence[Count]) -> Figure:
    figure = new_figure(HEIGHT_IN)
    panels = figure.subplots(1, len(PARTS), sharex=True, sharey=True)
    for axes, part in zip(panels, PARTS, strict=True):
        _panel(axes, part, counts)
    panels[0].set_yticks(range(len(counts)), [count.system for count in counts])
    panels[0].set_ylim(len(counts) - 0.45, -0.55)
    return figure


def _panel(axes: Axes, part: str, counts: Sequence[Count]) -> None:
    dress(axes, "x")
    axes.set_title(part)
    axes.set_xlabel("lines of code")
    for at, count in enumerate(counts):
        here, paper = _lines(count, part)
        for lines, above, name, fill in (
            (paper, -BAR / 2, "paper", PAPER_FILL),
            (here, BAR / 2, "here", ACCENT),
        ):
            axes.barh(at + above, lines, BAR, color=fill, edgecolor=INK, linewidth=0.6)
            text = f"{name} {lines}" if at == 0 else f"{lines}"
            axes.annotate(
                text,
                (lines, at + above),
                (4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
            )
    axes.margins(x=0.25)
