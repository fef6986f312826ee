"""Money as whole numbers, and as the decimal text that people and the wire use. No floats: cents
must not depend on rounding modes.

A price is whole micro-dollars per hour. A charge is a price times microseconds, so 3.6e9 of it make
one micro-dollar; it is divided only when it is printed, and `split_charge` keeps what is left over.
"""

from __future__ import annotations

import re
from typing import Final

from laissez.market.commands import PRICE_MAX

MICRO_PER_DOLLAR: Final = 1_000_000
CHARGE_PER_MICRO_DOLLAR: Final = 3_600_000_000  # microseconds in an hour
DECIMALS_MAX: Final = 6

_PRICE: Final = re.compile(r"([0-9]+)(?:\.([0-9]{1,6}))?")


class MoneyError(ValueError):
    """A text is not a price; the message says what was expected and what was found."""


def parse_price(text: str) -> int:
    """Micro-dollars per hour from dollars per hour, such as "2.75"."""
    whole, point, decimals = text.partition(".")
    # nearly always; the rest is looked at closely
    if len(whole) < 5 and whole.isdecimal() and whole.isascii() and len(decimals) <= DECIMALS_MAX:
        if not point:
            return int(whole) * MICRO_PER_DOLLAR
        if decimals.isdecimal() and decimals.isascii():
            return int(whole + decimals.ljust(DECIMALS_MAX, "0"))
    return _parse_closely(text)


def _parse_closely(text: str) -> int:
    match = _PRICE.fullmatch(text)
    if match is None:
        raise MoneyError(
            f"expected dollars per hour, digits with at most {DECIMALS_MAX} decimals such as"
            f' "2.75", found {_shown(text)}'
        )
    whole = match[1].lstrip("0").rjust(1, "0")
    decimals = (match[2] or "").ljust(DECIMALS_MAX, "0")
    # The length first: Python refuses to read numbers of thousands of digits.
    if len(whole) > len(str(PRICE_MAX)) or int(whole + decimals) > PRICE_MAX:
        raise MoneyError(
            f"expected at most {format_price(PRICE_MAX)} dollars per hour, found {_shown(text)}"
        )
    return int(whole + decimals)


def format_price(micro: int) -> str:
    """The shortest decimal text of a price. Numbers that no price may have are shown too, for
    messages about them."""
    if micro % MICRO_PER_DOLLAR == 0:
        return str(micro // MICRO_PER_DOLLAR)
    return _decimal(micro).rstrip("0")


def split_charge(charge: int) -> tuple[int, int]:
    """Whole micro-dollars, and the remainder below `CHARGE_PER_MICRO_DOLLAR`."""
    return charge // CHARGE_PER_MICRO_DOLLAR, charge % CHARGE_PER_MICRO_DOLLAR


def dollars(charge: int) -> str:
    """An exact charge in dollars with six decimals, rounded down."""
    return _decimal(split_charge(charge)[0])


def _decimal(micro: int) -> str:
    sign = "-" if micro < 0 else ""
    return f"{sign}{abs(micro) // MICRO_PER_DOLLAR}.{abs(micro) % MICRO_PER_DOLLAR:06d}"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "...")
