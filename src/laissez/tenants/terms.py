"""The terms on which a tenant trades: what it will not exceed, and how much a price must move
before it is worth a command."""

from __future__ import annotations

import math
from typing import Final

import msgspec

from laissez.market.commands import ORDERS_PER_TENANT_MAX, PRICE_MAX
from laissez.units import MICRO_PER_DOLLAR

PRICE_MIN: Final = 10_000  # one cent per hour: an order below it asks for a gift


class TermsError(ValueError):
    """Terms that cannot be kept to; the message says which one and why."""


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """`price_max` bounds every bid and limit, in micro-dollars per hour; `budget` what is spent in
    all, in micro-dollars.

    The budget is kept by never being able to spend what is left of it within `guard_s` seconds:
    decide more often than that. A price that moved by less than `tolerance` of itself is left as it
    is. `moves_max` nodes are exchanged for better ones at a time; a bid that a rise band cut down
    is tried again after `retry_s` seconds.
    """

    price_max: int = PRICE_MAX
    budget: int | None = None
    guard_s: float = 60.0
    tolerance: float = 0.05
    orders_max: int = 100
    moves_max: int = 1
    retry_s: float = 60.0

    def __post_init__(self) -> None:
        if not 0 <= self.price_max <= PRICE_MAX:
            raise TermsError(
                f"expected price_max from 0 to {PRICE_MAX} micro-dollars per hour, found"
                f" {self.price_max}"
            )
        if self.budget is not None and self.budget < 0:
            raise TermsError(f"expected a budget of 0 micro-dollars or more, found {self.budget}")
        for name, number in (("guard_s", self.guard_s), ("retry_s", self.retry_s)):
            if not 0 < number < math.inf:
                raise TermsError(f"expected {name} above 0 seconds, found {number}")
        if not 0 <= self.tolerance < 1:
            raise TermsError(f"expected a tolerance from 0 to below 1, found {self.tolerance}")
        if not 0 <= self.orders_max <= ORDERS_PER_TENANT_MAX:
            raise TermsError(
                f"expected orders_max from 0 to {ORDERS_PER_TENANT_MAX}, found {self.orders_max}"
            )
        if self.moves_max < 0:
            raise TermsError(f"expected moves_max from 0 on, found {self.moves_max}")

    def price(self, dollars: float) -> int:
        """A price that the market takes: whole micro-dollars per hour, never more than
        `price_max`."""
        price = dollars * MICRO_PER_DOLLAR
        if price >= self.price_max:
            return self.price_max
        return round(price) if price > 0 else 0

    def is_near(self, now: int, before: int | None) -> bool:
        """Whether a price is so near to the one in force that it is not worth a command."""
        return (
            before is not None
            and before <= self.price_max
            and abs(now - before) <= self.tolerance * before
        )
