"""The wording of claims, in the page and in the terminal: numbers with significant digits, and the
outcome in words."""

from __future__ import annotations

from collections.abc import Iterable
from math import floor, log10
from typing import Final

import msgspec

from laissez_experiments.lab.findings import Claim, Number

DIGITS: Final = 3  # that are significant
DECIMALS_MAX: Final = 4
NOTHING: Final = "-"
SIGNS: Final = {"x": "\u00d7"}  # in place of the unit


class Verdict(msgspec.Struct, frozen=True):
    """`key` is for programs and style sheets."""

    key: str
    sign: str
    words: str


HOLDS: Final = Verdict("holds", "✓", "holds")
FAILS: Final = Verdict("fails", "✗", "does not hold")
UNDECIDED: Final = Verdict("undecided", "?", "undecided")
MEASURED: Final = Verdict("neutral", "•", "measured")
VERDICTS: Final = (HOLDS, FAILS, UNDECIDED, MEASURED)
# of one claim, and of several
FORMS: Final = {
    HOLDS: ("holds", "hold"),
    FAILS: ("does not hold", "do not hold"),
    UNDECIDED: ("is undecided", "are undecided"),
    MEASURED: ("was measured", "were measured"),
}


def verdict(claim: Claim) -> Verdict:
    """A claim of ours that expects no outcome is merely measured; a note says why another is
    undecided."""
    if claim.holds is not None:
        return HOLDS if claim.holds else FAILS
    is_open = claim.paper is None and claim.measured is not None and not claim.note
    return MEASURED if is_open else UNDECIDED


def tally(claims: Iterable[Claim]) -> dict[Verdict, int]:
    found = [verdict(claim) for claim in claims]
    return {one: found.count(one) for one in VERDICTS}


def in_words(counts: dict[Verdict, int]) -> str:
    """For example: 7 hold, 1 does not, 2 are undecided and 3 were measured. Counts of zero are left
    out."""
    parts = [f"{count} {FORMS[one][count != 1]}" for one, count in counts.items() if count]
    if counts[HOLDS]:
        parts[1:] = [part.removesuffix(" hold") for part in parts[1:]]
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:]))) or "no claims"


def paper_says(claim: Claim) -> str:
    """The paper's number. A unit in words stands with the measured number alone."""
    if claim.paper is None:
        return ""
    return claim.paper if isinstance(claim.paper, str) else _with_sign(claim, as_given(claim.paper))


def measured(claim: Claim) -> str:
    """The measured number, with its unit if that is a sign, such as %."""
    if claim.measured is None:
        return NOTHING
    if isinstance(claim.measured, str):
        return claim.measured
    return _with_sign(claim, number(claim.measured, _decimals(claim)))


def unit_in_words(claim: Claim) -> str:
    """The unit behind the measured number; empty if it is a sign, or nothing was measured."""
    return "" if claim.measured is None or is_sign(claim.unit) else claim.unit


def interval(claim: Claim) -> str:
    """The interval, with the digits of the measured number."""
    if claim.interval is None:
        return ""
    low, high = (number(end, _decimals(claim)) for end in claim.interval)
    return f"{low} to {high}"


def _decimals(claim: Claim) -> int:
    """The decimals of the measured number; if it is whole by chance, those of its interval."""
    if claim.unit == "$":
        return 2
    known = decimals(claim.measured) if isinstance(claim.measured, float | int) else 0
    return known or decimals(max(claim.interval or (0.0,), key=abs))


def is_sign(unit: str) -> bool:
    return len(unit) <= 1


def decimals(value: Number) -> int:
    """The decimals to show: none for whole numbers, nor for those that differ by rounding alone."""
    near = round(float(value), DECIMALS_MAX)
    if near.is_integer():
        return 0
    return min(DECIMALS_MAX, max(0, DIGITS - 1 - floor(log10(abs(near)))))


def number(value: Number, places: int) -> str:
    text = f"{value:,.{places}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def as_given(value: Number) -> str:
    """Without zeros at its end: 1.9 is not 1.90."""
    text = number(value, decimals(value))
    return text.rstrip("0").removesuffix(".") if "." in text else text


def _with_sign(claim: Claim, text: str) -> str:
    if not is_sign(claim.unit):
        return text
    if claim.unit == "$":
        return f"-${text[1:]}" if text.startswith("-") else f"${text}"
    return f"{text} %" if claim.unit == "%" else f"{text}{SIGNS.get(claim.unit, claim.unit)}"
