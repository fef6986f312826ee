"""The events of the market, one frozen struct each, in the past tense.

An event with a `tenant` is for that tenant and the operator, and holds nothing about any other
tenant (M12). An event without one is for the operator alone. `at` is when it happened: the end of a
hold between two commands is before the command that made it known.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from laissez.market.commands import Alternative, Band
from laissez.market.reasons import EndReason, Reason


class OrderPlaced(msgspec.Struct, frozen=True, gc=False, tag="order_placed"):
    """The order is in the market with these alternatives in force. `clipped` says that a rise band
    lowered a bid (M15)."""

    at: int
    tenant: str
    order: int
    alternatives: tuple[Alternative, ...]
    clipped: bool


class OrderAmended(msgspec.Struct, frozen=True, gc=False, tag="order_amended"):
    at: int
    tenant: str
    order: int
    alternatives: tuple[Alternative, ...]
    clipped: bool


class OrderCancelled(msgspec.Struct, frozen=True, gc=False, tag="order_cancelled"):
    at: int
    tenant: str
    order: int


class LeaseStarted(msgspec.Struct, frozen=True, gc=False, tag="lease_started"):
    """`order` is filled: its tenant owns `leaf` from now on. Until `hold_until`, if there is a
    hold, the lease cannot be lost for price (M17)."""

    at: int
    tenant: str
    lease: int
    leaf: str
    order: int
    rate: int
    limit: int
    hold_until: int | None


class LeaseEnded(msgspec.Struct, frozen=True, gc=False, tag="lease_ended"):
    """The lease is over. Two prices explain it: the rate (the floor, if that was the reason) and
    the owner's limit (M13)."""

    at: int
    tenant: str
    lease: int
    leaf: str
    reason: EndReason
    rate: int
    limit: int | None


class LimitSet(msgspec.Struct, frozen=True, gc=False, tag="limit_set"):
    at: int
    tenant: str
    lease: int
    leaf: str
    limit: int | None


class FeeCharged(msgspec.Struct, frozen=True, gc=False, tag="fee_charged"):
    """A flash fee (M18): the tenant is charged `rate` from `at` until `until` for a bid withdrawn
    from `scope` too soon."""

    at: int
    tenant: str
    order: int
    scope: str
    rate: int
    until: int


class FloorSet(msgspec.Struct, frozen=True, gc=False, tag="floor_set"):
    """The floor in force at a node (0: none). `clipped` says that a fall band held it up (M16)."""

    at: int
    node: str
    price: int
    clipped: bool


class ControlsSet(msgspec.Struct, frozen=True, gc=False, tag="controls_set"):
    at: int
    node: str
    rise: Band | None
    fall: Band | None
    hold_us: int | None
    flash_us: int | None


class LeafTakenOffline(msgspec.Struct, frozen=True, gc=False, tag="leaf_taken_offline"):
    at: int
    leaf: str


class LeafBroughtOnline(msgspec.Struct, frozen=True, gc=False, tag="leaf_brought_online"):
    at: int
    leaf: str


class BooksClosed(msgspec.Struct, frozen=True, gc=False, tag="books_closed"):
    at: int
    before: int


class Refused(msgspec.Struct, frozen=True, gc=False, tag="refused"):
    """The command changed nothing. `subject` names the place, `found` the value given and `bound`
    the bound that it violates."""

    at: int
    tenant: str | None
    reason: Reason
    subject: str
    found: int | None
    bound: int | None


TenantEvent: TypeAlias = (
    OrderPlaced | OrderAmended | OrderCancelled | LeaseStarted | LeaseEnded | LimitSet | FeeCharged
)
OperatorEvent: TypeAlias = (
    FloorSet | ControlsSet | LeafTakenOffline | LeafBroughtOnline | BooksClosed
)
Event: TypeAlias = TenantEvent | OperatorEvent | Refused
