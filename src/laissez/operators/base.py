"""Base prices: what an hour costs when nothing presses, by time of day and week, in UTC.

A base belongs to a node, usually the root of a tree, and holds for everything below. `times` are
looked at from the first to the last and the first that fits names the price; `price` is for all
other hours. A time that ends before it begins goes over midnight, and belongs to the day on which
it began.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import time
from typing import Annotated, Final, Literal, TypeAlias, get_args

import msgspec
from msgspec import Meta

from laissez.config import Price
from laissez.market.commands import PRICE_MAX
from laissez.operators.errors import MapError
from laissez.units import SECOND_US, format_cents

DAY_US: Final = 86_400 * SECOND_US
Day: TypeAlias = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: Final[tuple[Day, ...]] = get_args(Day)
FIRST_DAY: Final = DAYS.index("thu")  # 1970-01-01, where times count from
MIDNIGHT: Final = time()
NOTHING: Final = Price(0)


class Hours(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"start": "from", "end": "to"},
):
    """From `start` to `end` on these days; midnight to midnight is the whole day."""

    price: Price
    days: Annotated[tuple[Day, ...], Meta(min_length=1)] = DAYS
    start: time = MIDNIGHT
    end: time = MIDNIGHT

    def covers(self, now: int) -> bool:
        day, start, end = now // DAY_US, _of_day(self.start), _of_day(self.end)
        at = now % DAY_US
        if start < (end or DAY_US):
            return self._has(day) and start <= at < (end or DAY_US)
        if start == end:
            return self._has(day)
        return (self._has(day) and at >= start) or (self._has(day - 1) and at < end)

    def _has(self, day: int) -> bool:
        return DAYS[(day + FIRST_DAY) % 7] in self.days


@dataclass(frozen=True, kw_only=True)
class Base:
    """The base price at a node, and the bounds of every floor at it and below it (down to the next
    base)."""

    node: str
    price: Price
    floor_max: Price
    floor_min: Price = NOTHING
    times: tuple[Hours, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.floor_min <= self.floor_max <= PRICE_MAX:
            raise MapError(
                "floor_max: expected at least floor_min, which is"
                f' "{format_cents(self.floor_min)}", found "{format_cents(self.floor_max)}"'
            )
        for price in (self.price, *(hours.price for hours in self.times)):
            if not self.floor_min <= price <= self.floor_max:
                between = f'"{format_cents(self.floor_min)}" to "{format_cents(self.floor_max)}"'
                raise MapError(
                    f"price: expected a base price within floor_min and floor_max, {between}, found"
                    f' "{format_cents(price)}"'
                )

    def price_at(self, now: int) -> int:
        return next((hours.price for hours in self.times if hours.covers(now)), self.price)


def _of_day(moment: time) -> int:
    return (
        (moment.hour * 60 + moment.minute) * 60 + moment.second
    ) * SECOND_US + moment.microsecond
