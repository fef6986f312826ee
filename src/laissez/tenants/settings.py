"""The settings of an adapter: bounds of its spending, and the tolerance of its prices."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from laissez.market.commands import ORDERS_PER_TENANT_MAX, PRICE_MAX
from laissez.tenants.inputs import Checked, Positive
from laissez.units import MICRO_PER_DOLLAR

PRICE_MIN: Final = 10_000  # one cent per hour: no order asks for less


class AdapterSettings(Checked, frozen=True, kw_only=True):
    """`price_max` bounds every bid and limit, in micro-dollars per hour. `budget` bounds the total
    spent, in micro-dollars; the adapter keeps what can be charged within `guard_s` seconds below
    what is left of it, so decide more often than that.

    A price within `tolerance` of the one in force is left alone. At most `moves_max` nodes at a
    time are exchanged for better ones. A bid that a rise band cut down is tried again after
    `retry_s` seconds.
    """

    price_max: Annotated[int, Meta(ge=0, le=PRICE_MAX)] = PRICE_MAX
    budget: Annotated[int, Meta(ge=0)] | None = None
    guard_s: Positive = 60.0
    tolerance: Annotated[float, Meta(ge=0, lt=1)] = 0.05
    orders_max: Annotated[int, Meta(ge=0, le=ORDERS_PER_TENANT_MAX)] = 100
    moves_max: Annotated[int, Meta(ge=0)] = 1
    retry_s: Positive = 60.0

    def price(self, dollars: float) -> int:
        """Whole micro-dollars per hour, between 0 and `price_max`."""
        price = dollars * MICRO_PER_DOLLAR
        if price >= self.price_max:
            return self.price_max
        return round(price) if price > 0 else 0

    def is_near(self, wanted: int, in_force: int | None) -> bool:
        """Whether a price is too close to the one in force to be worth a command."""
        return (
            in_force is not None
            and in_force <= self.price_max
            and abs(wanted - in_force) <= self.tolerance * in_force
        )
