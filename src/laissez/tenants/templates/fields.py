"""The types of a task's fields. Money and durations are whole numbers inside."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, TypeAlias

from msgspec import Meta

from laissez import config
from laissez.config import ConfigError
from laissez.market.commands import DURATION_MAX_US, ORDERS_PER_TENANT_MAX
from laissez.tenants.settings import PRICE_MIN
from laissez.units import SECOND_US, format_price, parse_amount, parse_duration

BUDGET_MAX: Final = 10**15  # micro-dollars: a billion dollars
NAME_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z"

Nodes: TypeAlias = Annotated[int, Meta(ge=1, le=ORDERS_PER_TENANT_MAX)]
Replicas: TypeAlias = Annotated[int, Meta(ge=0, le=ORDERS_PER_TENANT_MAX)]
Hours: TypeAlias = Annotated[float, Meta(gt=0, le=1e9)]
Factor: TypeAlias = Annotated[float, Meta(gt=0, le=1000)]
Name: TypeAlias = Annotated[
    str,
    Meta(
        pattern=NAME_PATTERN,
        description="a name of at most 64 letters, digits, '.', '_' or '-'",
    ),
]
Command: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^(?=\s*\S)[^\0]*\Z",
        description="a command such as ./start.sh, without NUL characters",
    ),
]


class Price(config.Price):
    least = PRICE_MIN


class Money(int):
    """Micro-dollars, written as dollars."""

    expected: ClassVar = 'dollars such as "250"'

    @classmethod
    def of(cls, text: object) -> Money:
        amount = parse_amount(text if isinstance(text, str) else "", BUDGET_MAX)
        if not amount:
            raise ConfigError(f"expected dollars from {format_price(1)} on")
        return cls(amount)


class Seconds(float):
    """Seconds, written as a duration with its unit."""

    expected: ClassVar = "a duration with its unit, such as 90s, 15m, 6h or 2d"
    least_us: ClassVar = 0

    @classmethod
    def of(cls, text: object) -> Seconds:
        us = parse_duration(text if isinstance(text, str) else "")
        if not cls.least_us <= us <= DURATION_MAX_US:
            raise ConfigError(
                f"expected a duration from {cls.least_us // SECOND_US}s to"
                f" {DURATION_MAX_US // (86_400 * SECOND_US)}d"
            )
        return cls(us / SECOND_US)


class Interval(Seconds):
    least_us = SECOND_US
