"""The kinds of settings that maps have, each with the range in which it makes sense. All are
bounded, so none can be infinite.

Prices and instants are whole numbers like everywhere in the market; in a file they are written as
people write them, `"2.00"` and `2026-09-01T02:00:00Z`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from laissez.market.commands import DURATION_MAX_US, PRICE_MAX, TIME_MAX_US
from laissez.operators.errors import MapError

SECOND_US: Final = 1_000_000
MINUTE_US: Final = 60 * SECOND_US
DECIMALS_MAX: Final = 6
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_PRICE: Final = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,6}))?", re.ASCII)

Text: TypeAlias = Annotated[str, Meta(min_length=1, max_length=4000)]
Node: TypeAlias = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$", max_length=1100)
]
Nodes: TypeAlias = Annotated[tuple[Node, ...], Meta(min_length=1)]
Share: TypeAlias = Annotated[float, Meta(gt=0, le=1)]
Weight: TypeAlias = Annotated[float, Meta(ge=0, le=1000)]
Pressure: TypeAlias = Annotated[float, Meta(ge=0, le=1000)]
Seconds: TypeAlias = Annotated[float, Meta(gt=0, le=DURATION_MAX_US / SECOND_US)]
Degrees: TypeAlias = Annotated[float, Meta(ge=-50, le=150)]
Range: TypeAlias = tuple[float, float]


class Price(int):
    """Micro-dollars per hour."""

    @classmethod
    def of(cls, text: object) -> Price:
        """From decimal text such as "2.00". Never from a float: 2.75 is not always 2.75."""
        match = _PRICE.fullmatch(text) if isinstance(text, str) else None
        price = (
            int(match[1] + (match[2] or "").ljust(DECIMALS_MAX, "0")) if match else PRICE_MAX + 1
        )
        if price > PRICE_MAX:
            raise MapError(
                'expected dollars per hour in quotes, from "0" to'
                f' "{PRICE_MAX // 10**DECIMALS_MAX}", such as "2.00"'
            )
        return cls(price)


class Instant(int):
    """Microseconds since 1970."""

    @classmethod
    def of(cls, when: object) -> Instant:
        if not isinstance(when, datetime) or when.tzinfo is None:
            raise MapError("expected a date and time with its offset, such as 2026-09-01T02:00:00Z")
        instant = (when - EPOCH) // timedelta(microseconds=1)
        if not 0 <= instant <= TIME_MAX_US:
            raise MapError("expected a time after 1970 and before 2255")
        return cls(instant)


def dollars(price: int) -> str:
    """A price as people read it: at least two decimals, and no more than it has."""
    whole, micro = divmod(price, 10**DECIMALS_MAX)
    decimals = f"{micro:0{DECIMALS_MAX}d}"
    return f"{whole}.{decimals[:2]}{decimals[2:].rstrip('0')}"


def shown(value: object) -> str:
    """Whatever came, cut short. A number of thousands of digits has no text in Python."""
    try:
        text = repr(value)
    except ValueError:
        text = "a number of thousands of digits"
    return text if len(text) <= 60 else text[:60] + "..."
