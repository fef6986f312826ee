"""The lines of code that bring an application or a signal into the market (the paper's table of
implementation effort)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from laissez.sim.boxplot import INK
from laissez_check.integration import PAPER_HEADROOM_TO_PRICE, Count, count_all, headroom_to_price
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import Claim, Findings
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.style import ACCENT, dress, near, new_figure

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
    claims = [
        _claim(f"{count.system}: the {part} code has no more lines than the paper's", here, paper)
        for count in counts
        for part, here, paper in _lines(count)
    ]
    from_headroom = _claim(
        "the lines that map power headroom to a proportional price adjustment",
        headroom_lines,
        PAPER_HEADROOM_TO_PRICE,
        "one function with its parameter; all maps share what makes a price of it, which is not"
        " counted",
    )
    return Findings(
        claims=[*claims, from_headroom],
        text=_text(counts, headroom_lines),
        rows=[count._asdict() for count in counts],
        draw=lambda: _draw(counts),
    )


def _lines(count: Count) -> list[tuple[str, int, int]]:
    """Each part with its lines here and in the paper."""
    return [(part, getattr(count, part), getattr(count, f"paper_{part}")) for part in PARTS]


def _claim(claim: str, here: int, paper: int, note: str = "") -> Claim:
    return Claim(
        claim=claim, paper=paper, measured=here, holds=here <= paper, unit="lines", note=note
    )


def _text(counts: Sequence[Count], headroom_lines: int) -> str:
    each = ", ".join(
        f"{count.system} {count.pricing} + {count.profiling} ({count.paper_pricing} +"
        f" {count.paper_profiling})"
        for count in counts
    )
    lines = [one for count in counts for one in _lines(count)]
    here, paper = sum(one[1] for one in lines), sum(one[2] for one in lines)
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


def _draw(counts: Sequence[Count]) -> Figure:
    figure = new_figure(HEIGHT_IN)
    panels = figure.subplots(1, len(PARTS), sharex=True, sharey=True)
    for axes, part in zip(panels, PARTS, strict=True):
        dress(axes, "x")
        axes.set_title(part)
        axes.set_xlabel("lines of code")
    for at, count in enumerate(counts):
        for axes, (_, here, paper) in zip(panels, _lines(count), strict=True):
            _bar(axes, paper, at - BAR / 2, f"paper {paper}" if at == 0 else f"{paper}", PAPER_FILL)
            _bar(axes, here, at + BAR / 2, f"here {here}" if at == 0 else f"{here}", ACCENT)
    for axes in panels:
        axes.margins(x=0.25)
    panels[0].set_yticks(range(len(counts)), [count.system for count in counts])
    panels[0].set_ylim(len(counts) - 0.45, -0.55)
    return figure


def _bar(axes: Axes, lines: int, at: float, text: str, fill: str) -> None:
    axes.barh(at, lines, BAR, color=fill, edgecolor=INK, linewidth=0.6)
    near(axes, text, (lines, at), (4, 0), va="center", fontsize=8)
