"""What an experiment found: each claim with what was measured, a figure, the rows behind it, and
what to say about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from laissez.sim.statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PERCENT: Final = 100.0

Number = float | int
Rows = Sequence[Mapping[str, Number | str | None]]


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """`paper` is what the paper says, None where the question is ours; `holds` is None where
    nothing could be decided, and `note` says why.

    Numbers are in `unit`: `%` for percent, `x` for a ratio, `$`, `requests/s` and so on.
    """

    figure: str
    claim: str
    paper: Number | str | None
    measured: Number | str | None
    interval: tuple[float, float] | None = None
    holds: bool | None
    unit: str = ""
    note: str = ""


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """`text` is one paragraph: the set-up and what the figure shows, with the measured numbers in
    it. `draw` makes the figure.

    `rows` go into the CSV file, all with the same keys. `tips` are shown when the pointer is over
    that part of the figure (`style.with_tips`).
    """

    claims: Sequence[Claim]
    text: str
    rows: Rows
    draw: Callable[[], Figure] | None
    tips: Mapping[str, Sequence[str]] = {}


def interval(estimate: Estimate | None, times: float = 1.0) -> tuple[float, float] | None:
    """As a claim has it; None where there are too few seeds for one."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return None
    return estimate.low * times, estimate.high * times


TOO_FEW = "too few seeds to decide"
TOO_WIDE = "the interval is too wide to decide"


def holds_at_least(estimate: Estimate | None, paper: float) -> bool | None:
    """Whether there is an effect (the interval excludes zero) that is not smaller than the paper's
    (the interval reaches it)."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return None
    return estimate.low > 0 and estimate.high >= paper


def reaches(estimate: Estimate, part: float) -> bool | None:
    """Whether it is that part or more: all of the interval is, or none of it; nothing is decided
    where it is on both sides."""
    if estimate.low is None or estimate.high is None:
        return None
    if estimate.low < part <= estimate.high:
        return None
    return estimate.low >= part
