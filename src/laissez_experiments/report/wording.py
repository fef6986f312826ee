"""How claims are told, in the page and in the terminal: numbers with as many digits as say
something, and the outcome in words."""

from __future__ import annotations

from collections.abc import Iterable
from math import floor, log10
from typing import Final

import msgspec

from laissez_experiments.lab.findings import Claim, Number

DIGITS: Final = 3  # that say something
DECIMALS_MAX: Final = 4
NOTHING: Final = "-"
TIMES: Final = "\u00d7"


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


def verdict(claim: Claim) -> Verdict:
    """What nobody expected to come out one way or the other is measured, and no more; a note would
    say why it is undecided."""
    if claim.holds is None:
        return (
            MEASURED
            if claim.paper is None and claim.measured is not None and not claim.note
            else UNDECIDED
        )
    return HOLDS if claim.holds else FAILS


def tally(claims: Iterable[Claim]) -> dict[Verdict, int]:
    found = [verdict(claim) for claim in claims]
    return {one: found.count(one) for one in VERDICTS}


def in_words(counts: dict[Verdict, int]) -> str:
    """Such as: 7 hold, 1 does not, 2 are undecided and 3 were measured. What there is none of is
    left out."""
    held, failed, undecided, plain = (counts[one] for one in VERDICTS)
    parts = [
        *([f"{held} hold{'s' if held == 1 else ''}"] if held else []),
        *(
            [f"{failed} do{'es' if failed == 1 else ''} not{'' if held else ' hold'}"]
            if failed
            else []
        ),
        *([f"{undecided} {'is' if undecided == 1 else 'are'} undecided"] if undecided else []),
        *([f"{plain} {'was' if plain == 1 else 'were'} measured"] if plain else []),
    ]
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:]))) or "no claims"


def paper_says(claim: Claim) -> str:
    """A unit in words is told once, with what was measured."""
    if claim.paper is None:
        return ""
    if isinstance(claim.paper, str):
        return claim.paper
    return _joined(as_given(claim.paper), claim.unit if is_sign(claim.unit) else "")


def measured(claim: Claim) -> str:
    """With its unit if that is a sign, such as %."""
    if claim.measured is None:
        return NOTHING
    if isinstance(claim.measured, str):
        return claim.measured
    return _joined(
        number(claim.measured, _decimals(claim)), claim.unit if is_sign(claim.unit) else ""
    )


def unit_in_words(claim: Claim) -> str:
    """What goes behind the measured; nothing where the unit is a sign, or nothing was measured."""
    return "" if claim.measured is None or is_sign(claim.unit) else claim.unit


def interval(claim: Claim) -> str:
    """As exact as what was measured."""
    if claim.interval is None:
        return ""
    low, high = (number(end, _decimals(claim)) for end in claim.interval)
    return f"{low} to {high}"


def _decimals(claim: Claim) -> int:
    """Those of what was measured; if that is a whole number by chance, those of its interval."""
    if claim.unit == "$":
        return 2
    known = (
        0 if claim.measured is None or isinstance(claim.measured, str) else decimals(claim.measured)
    )
    return known or decimals(max(claim.interval or (0.0,), key=abs))


def is_sign(unit: str) -> bool:
    return len(unit) <= 1


def decimals(value: Number) -> int:
    """After the point: none for whole numbers, and for what is one but for an error of rounding."""
    near = round(float(value), DECIMALS_MAX)
    if near.is_integer():
        return 0
    return min(DECIMALS_MAX, max(0, DIGITS - 1 - floor(log10(abs(near)))))


def number(value: Number, places: int) -> str:
    text = f"{value:,.{places}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def as_given(value: Number) -> str:
    """Without zeros at its end: who wrote 1.9 did not say 1.90."""
    text = number(value, decimals(value))
    return text.rstrip("0").removesuffix(".") if "." in text else text


def _joined(text: str, sign: str) -> str:
    if sign == "$":
        return f"-${text[1:]}" if text.startswith("-") else f"${text}"
    return f"{text} {sign}" if sign == "%" else f"{text}{TIMES if sign == 'x' else sign}"
