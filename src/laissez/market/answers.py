"""The answers to read-only questions: frozen structs, independent of the state they describe.

Charges are exact integers in micro-dollar-microseconds per hour, a rate times a duration.
`laissez.units` divides them, once, for print.
"""

from __future__ import annotations

import msgspec

from laissez.market.commands import Alternative, Band


class OrderView(msgspec.Struct, frozen=True, gc=False):
    """An open order with its alternatives in force. `sequence` is its time priority among all
    orders (M10), so tenants must not see it."""

    order: int
    tenant: str
    placed_at: int
    sequence: int
    alternatives: tuple[Alternative, ...]


class LeaseView(msgspec.Struct, frozen=True, gc=False):
    """A lease on the books; `end` is `None` while it lasts.

    `charged` is `rate`, or less while the hold caps it; both are 0 once it has ended. `hold_until`
    is when its hold ends or ended, if it had one (M17). `fence` is a fencing token: of two leases
    of a leaf the later one has the higher. It counts the leases of all tenants, so tenants must not
    see it.
    """

    lease: int
    tenant: str
    leaf: str
    order: int
    fence: int
    start: int
    end: int | None
    limit: int | None
    hold_until: int | None
    rate: int
    charged: int


class TenantCounts(msgspec.Struct, frozen=True, gc=False):
    """The numbers of orders and leases that a tenant has now, and of all it ever had."""

    orders_placed: int
    orders_open: int
    leases_started: int
    leases_live: int


class FloorView(msgspec.Struct, frozen=True, gc=False):
    """A node with a floor of its own (M4); `in_force` is the highest on its path."""

    node: str
    own: int
    in_force: int


class ControlsView(msgspec.Struct, frozen=True, gc=False):
    """A node with controls of its own (M15 to M18). The nearest ancestor that sets it decides what
    is `None` here."""

    node: str
    rise: Band | None
    fall: Band | None
    hold_us: int | None
    flash_us: int | None


class BidGroup(msgspec.Struct, frozen=True, gc=False):
    """The number of alternatives with one limit on the path of a node, and at the node itself."""

    limit: int
    orders: int
    here: int


class BookView(msgspec.Struct, frozen=True, gc=False):
    """The settings of a node, and the orders around it.

    `here`, `above` and `below` count the alternatives at the node, above it and below it. `bids`
    are those that would take a leaf of the node, highest limit first; `bids_more` counts the limits
    that are not shown. `best_bid` is the highest bid above 0 at the node itself.
    """

    node: str
    floor: int
    floor_in_force: int
    standing_rate: int
    best_bid: int | None
    here: int
    above: int
    below: int
    bids: tuple[BidGroup, ...]
    bids_more: int
    controls: ControlsView | None
    controls_in_force: ControlsView


class AsksView(msgspec.Struct, frozen=True, gc=False):
    """Totals over some leaves: how many have each ask, how many (`never`) no price opens now, and
    the charge per hour of all their leases."""

    by_ask: dict[int, int]
    never: int
    online: int
    leased: int
    charged: int


class LevelsView(msgspec.Struct, frozen=True, gc=False):
    """Some leaves in columns. An owner is an index into `Market.tenants()`; -1 is an idle leaf, -2
    one that is offline."""

    rates: list[int]
    limits: list[int | None]
    owners: list[int]
    floors: list[int]


class RateSegment(msgspec.Struct, frozen=True, gc=False):
    """The standing rate of a node from `start` to `end` (half-open)."""

    start: int
    end: int
    rate: int


class PriceSegment(msgspec.Struct, frozen=True, gc=False):
    """The rate that a lease was charged from `start` to `end` (half-open); `None` where the detail
    is gone and only the charge is left."""

    start: int
    end: int
    rate: int | None
    charge: int


class LeaseLine(msgspec.Struct, frozen=True, gc=False):
    """A lease on a bill, with its charge within the bill's period. `end` is `None` while it
    lasts."""

    lease: int
    leaf: str
    start: int
    end: int | None
    charge: int


class FeeLine(msgspec.Struct, frozen=True, gc=False):
    """A flash fee on a bill: `rate` from `start` until `end`, with its charge within the bill's
    period."""

    order: int
    scope: str
    rate: int
    start: int
    end: int
    charge: int


class Bill(msgspec.Struct, frozen=True, gc=False):
    """A tenant's charges for `[since, until)`. `carried` comes from closed books. `total` is the
    sum of all others."""

    tenant: str
    since: int
    until: int
    leases: tuple[LeaseLine, ...]
    fees: tuple[FeeLine, ...]
    carried: int
    total: int
