"""Money, times and durations: whole numbers inside, text outside. This is the only place that
parses and prints them.

A price is whole micro-dollars per hour, written as dollars ("2.75"). A charge is a price times
microseconds, so 3.6e9 of it make one micro-dollar; it is divided only when it is printed. A time is
whole microseconds since 1970, written as RFC 3339 in UTC. There are no floats: cents must not
depend on rounding modes.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from laissez.market.commands import PRICE_MAX

MICRO_PER_DOLLAR: Final = 1_000_000
CHARGE_PER_MICRO_DOLLAR: Final = 3_600_000_000  # microseconds in an hour
DECIMALS_MAX: Final = 6
AMOUNT_MAX: Final = 10**18 - 1  # what fits 64 bits

_DECIMAL: Final = re.compile(r"([0-9]+)(?:\.([0-9]{1,6}))?")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
SECOND_US: Final = 1_000_000
HOUR_S: Final = 3_600
HOUR_US: Final = HOUR_S * SECOND_US
_UNITS_S: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_DURATION: Final = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,6}))?([smhd])")
_TIME: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,6})?([Zz]|[+-]\d{2}:\d{2})"
)


_SCALE: Final[list[int]] = [10 ** (DECIMALS_MAX - decimals) for decimals in range(DECIMALS_MAX + 1)]


class MoneyError(ValueError):
    """The text is not an amount of money. The message names the expected and the found value."""


def parse_price(text: str) -> int:
    """Micro-dollars per hour from dollars per hour, such as "2.75"."""
    # The fast path, for nearly all prices: at most four digits, which is below the highest price,
    # then perhaps a point and decimals.
    point = text.find(".")
    if point < 0:
        whole, decimals, digits = len(text), 0, text
    else:
        whole, decimals, digits = point, len(text) - point - 1, text[:point] + text[point + 1 :]
    if (
        0 < whole < 5
        and (point < 0 or 0 < decimals <= DECIMALS_MAX)
        and digits.isdecimal()
        and digits.isascii()
    ):
        return int(digits) * _SCALE[decimals]
    return parse_amount(text, PRICE_MAX, "dollars per hour")


def parse_amount(text: str, most: int = AMOUNT_MAX, unit: str = "dollars") -> int:
    """Micro-dollars from dollars, such as "250.50"."""
    match = _DECIMAL.fullmatch(text)
    if match is None:
        raise MoneyError(
            f"expected {unit}, digits with at most {DECIMALS_MAX} decimals such as"
            f' "2.75", found {_shown(text)}'
        )
    whole = match[1].lstrip("0").rjust(1, "0")
    decimals = (match[2] or "").ljust(DECIMALS_MAX, "0")
    # Check the length first: Python refuses to parse thousands of digits.
    if len(whole) > len(str(most)) or int(whole + decimals) > most:
        raise MoneyError(f"expected at most {format_price(most)} {unit}, found {_shown(text)}")
    return int(whole + decimals)


def format_price(micro: int) -> str:
    """The shortest decimal text of a price. Invalid prices are formatted too, for messages."""
    if micro % MICRO_PER_DOLLAR == 0:
        return str(micro // MICRO_PER_DOLLAR)
    return format_amount(micro).rstrip("0")


def format_cents(micro: int) -> str:
    """A price with at least two decimals, as people read it."""
    whole, _, decimals = format_price(micro).partition(".")
    return f"{whole}.{decimals.ljust(2, '0')}"


def micro_dollars(charge: int) -> int:
    """Whole micro-dollars of an exact charge, rounded down."""
    return charge // CHARGE_PER_MICRO_DOLLAR


def dollars(charge: int) -> str:
    """An exact charge in dollars with six decimals, rounded down."""
    return format_amount(micro_dollars(charge))


def format_amount(micro: int) -> str:
    """Dollars with six decimals."""
    sign = "-" if micro < 0 else ""
    return f"{sign}{abs(micro) // MICRO_PER_DOLLAR}.{_six_digits(abs(micro) % MICRO_PER_DOLLAR)}"


def _six_digits(number: int) -> str:
    """Six digits with leading zeros; much faster than a format specification."""
    return str(1_000_000 + number)[1:]


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "...")


class TimeError(ValueError):
    """The text is not a time or a duration. The message names the expected and the found value."""


@lru_cache(16)  # thousands of times in a row share a second
def _format_second(second: int) -> str:
    # not strftime: it writes the year 1 without zeros
    return (_EPOCH + timedelta(seconds=second)).isoformat()[:19]


@lru_cache(64)  # the commands of a frame share one time
def format_time(us: int) -> str:
    return f"{_format_second(us // SECOND_US)}.{_six_digits(us % SECOND_US)}Z"


def parse_time(text: str) -> int:
    """Microseconds since 1970 from text such as "2026-11-15T08:30:00Z" or
    "2026-11-15T09:30:00.25+01:00"."""
    try:
        if _TIME.fullmatch(text) is None:
            raise ValueError
        moment = datetime.fromisoformat(text.upper().replace(" ", "T"))
        return (moment - _EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        raise TimeError(
            f'expected a time such as "2026-11-15T08:30:00Z", found {text[:40]!r}'
        ) from None


def parse_duration(text: str) -> int:
    """Microseconds from text such as "90s", "15m", "1.5h" or "2d"."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise TimeError(
            f"expected a duration with its unit, such as 90s, 15m, 6h or 2d, found {_shown(text)}"
        )
    micro = int(match[1] + (match[2] or "").ljust(DECIMALS_MAX, "0"))
    return micro * _UNITS_S[match[3]]
