"""The findings of an experiment: its claims with their measurements, a figure, the rows behind the
figure and a paragraph of text. Also the rules by which a claim holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from laissez.sim.statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PERCENT: Final = 100.0

Number = float | int
Row = dict[str, Number | str | None]
Rows = Sequence[Row]


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """`paper` is the paper's statement, or None if the question is ours. If the measurement decides
    nothing, `holds` has no value and `note` gives the reason.

    Numbers are in `unit`: `%` for percent, `x` for a ratio, `$`, `requests/s` and so on. `figure`
    is the name of the experiment; its outcome fills it in.
    """

    figure: str = ""
    claim: str
    paper: Number | str | None
    measured: Number | str | None
    interval: tuple[float, float] | None = None
    holds: bool | None
    unit: str = ""
    note: str = ""


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """`text` is one paragraph: the set-up and the main result, with the measured numbers. `draw`
    makes the figure.

    `rows` go into the CSV file, all with the same keys. `tips` appear when the pointer is over
    that part of the figure (`style.with_tips`).
    """

    claims: Sequence[Claim]
    text: str
    rows: Rows
    draw: Callable[[], Figure] | None
    tips: Mapping[str, Sequence[str]] = {}


TOO_FEW: Final = "too few seeds to decide"
TOO_WIDE: Final = "the interval is too wide to decide"


def estimated(
    claim: str,
    paper: Number | str | None,
    found: Estimate | None,
    holds: bool | None,
    unit: str,
    note: str = "",
) -> Claim:
    """A claim about an estimate, in percent where the unit says so."""
    times = PERCENT if unit.startswith("%") else 1.0
    return Claim(
        claim=claim,
        paper=paper,
        measured=None if found is None else found.value * times,
        interval=interval(found, times),
        holds=holds,
        unit=unit,
        note=note,
    )


def joined(*notes: str) -> str:
    return "; ".join(filter(None, notes))


def interval(estimate: Estimate | None, times: float = 1.0) -> tuple[float, float] | None:
    """The interval as a claim has it; None where there are too few seeds for one."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return None
    return estimate.low * times, estimate.high * times


def shown(estimate: Estimate, digits: int = 3) -> str:
    """The figure for a text, and its interval where there is one."""
    text = f"{estimate.value:.{digits}f}"
    if (ends := interval(estimate)) is None:
        return text
    return f"{text} [{ends[0]:.{digits}f}, {ends[1]:.{digits}f}]"


def holds_at_least(estimate: Estimate | None, paper: float, above: float = 0.0) -> bool | None:
    """Whether there is an effect (the interval is above zero) that is not smaller than the paper's
    (the interval reaches it)."""
    if (ends := interval(estimate)) is None:
        return None
    return ends[0] > above and ends[1] >= paper


def is_above_zero(estimate: Estimate | None) -> bool | None:
    return None if (ends := interval(estimate)) is None else ends[0] > 0


def is_below_zero(estimate: Estimate | None) -> bool | None:
    return None if (ends := interval(estimate)) is None else ends[1] < 0


def reaches(estimate: Estimate, part: float) -> bool | None:
    """Whether the value is that part or more. Undecided where the interval is on both sides."""
    ends = interval(estimate)
    if ends is None or ends[0] < part <= ends[1]:
        return None
    return ends[0] >= part


def is_within(estimate: Estimate, bound: float) -> bool | None:
    """Whether the value is at most that far from zero. Undecided where the interval reaches
    beyond a bound."""
    ends = interval(estimate)
    if ends is None:
        return None
    if ends[0] > bound or ends[1] < -bound:
        return False
    return True if -bound <= ends[0] and ends[1] <= bound else None
