"""The commands of the market, one frozen struct each.

A command is plain data: it can be stored, sent and replayed. It does not carry its time; the caller
gives that to `Market.apply(command, at)`. Prices are whole micro-dollars per hour, durations whole
microseconds. A tenant names its orders and leases by its own numbers: 1, 2, 3 (M10).
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

PRICE_MAX: Final = 10_000_000_000  # 10,000 dollars per hour: far above any instance on sale
# Enough for every type and zone that a tenant names by hand; bounds the work of one command.
ALTERNATIVES_MAX: Final = 16
ORDERS_PER_TENANT_MAX: Final = 1_000  # open orders; bounds the memory one tenant can claim
DURATION_MAX_US: Final = 366 * 24 * 3_600 * 1_000_000  # no control lasts longer than a year
FRACTION_MAX_PPM: Final = 1_000_000_000  # a band a thousand times its anchor is no band
# In the year 2255 if times count from 1970. JSON numbers are exact up to here.
TIME_MAX_US: Final = 2**53
TENANTS_MAX: Final = 100_000  # that ever placed an order: a hundred times what we plan for
TENANT_NAME_MAX: Final = 200  # characters
SHOWN_MAX: Final = 200  # characters of a sender's text that a refusal repeats


class Alternative(msgspec.Struct, frozen=True, gc=False):
    """One way to fill an order: any leaf below `scope`. It presses with `bid` now and follows up to
    `limit`."""

    scope: str
    bid: int
    limit: int


def at_price(scope: str, price: int) -> Alternative:
    """An alternative with one number, both bid and limit (M3)."""
    return Alternative(scope, price, price)


def at_market(scope: str, limit: int) -> Alternative:
    """An alternative that does not press and only follows, up to `limit` (M3)."""
    return Alternative(scope, 0, limit)


class Band(msgspec.Struct, frozen=True, gc=False):
    """The largest move of a price within one interval: millionths of its anchor."""

    fraction_ppm: int
    interval_us: int


class PlaceOrder(msgspec.Struct, frozen=True, gc=False, tag="place_order"):
    tenant: str
    alternatives: tuple[Alternative, ...]


class AmendOrder(msgspec.Struct, frozen=True, gc=False, tag="amend_order"):
    """Replace all alternatives of an open order. It keeps its id and goes to the back of the queue
    (M10)."""

    tenant: str
    order: int
    alternatives: tuple[Alternative, ...]


class CancelOrder(msgspec.Struct, frozen=True, gc=False, tag="cancel_order"):
    tenant: str
    order: int


class SetLimit(msgspec.Struct, frozen=True, gc=False, tag="set_limit"):
    """Change the limit of a lease; with `None` it is never given up for price (M6)."""

    tenant: str
    lease: int
    limit: int | None


class Relinquish(msgspec.Struct, frozen=True, gc=False, tag="relinquish"):
    """Give a lease up. `budget_spent` says that the tenant's budget is the reason (M13)."""

    tenant: str
    lease: int
    budget_spent: bool = False


class SetFloor(msgspec.Struct, frozen=True, gc=False, tag="set_floor"):
    """Set the operator's standing bid at a node; `None`, like 0, removes it (M4)."""

    node: str
    price: int | None


class SetControls(msgspec.Struct, frozen=True, gc=False, tag="set_controls"):
    """Replace the volatility controls set at a node (M15 to M18); `None` leaves that control to the
    nearest ancestor that sets it."""

    node: str
    rise: Band | None = None
    fall: Band | None = None
    hold_us: int | None = None
    flash_us: int | None = None


class TakeOffline(msgspec.Struct, frozen=True, gc=False, tag="take_offline"):
    leaf: str


class BringOnline(msgspec.Struct, frozen=True, gc=False, tag="bring_online"):
    leaf: str


class AdvanceTime(msgspec.Struct, frozen=True, gc=False, tag="advance_time"):
    """Let time pass. Holds that end on the way end at the time at which they are due."""


class CloseBooks(msgspec.Struct, frozen=True, gc=False, tag="close_books"):
    """Replace the charges before `before` by one amount per tenant and lease, and drop the
    detail."""

    before: int


TenantCommand: TypeAlias = PlaceOrder | AmendOrder | CancelOrder | SetLimit | Relinquish
OperatorCommand: TypeAlias = (
    SetFloor | SetControls | TakeOffline | BringOnline | AdvanceTime | CloseBooks
)
Command: TypeAlias = TenantCommand | OperatorCommand
