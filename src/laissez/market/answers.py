"""What the market's read-only questions answer with: frozen structs, detached from the state they
describe.

Charges are exact integers in micro-dollar-microseconds per hour (a rate times a duration);
`money.dollars` divides them, once, for print.
"""

from __future__ import annotations

import msgspec

from laissez.market.commands import Alternative, Band


class OrderView(msgspec.Struct, frozen=True, gc=False):
    """An open order with its alternatives in force. `sequence` is its time priority among the
    orders of all tenants (M10), so it is not for tenants to see."""

    order: int
    tenant: str
    placed_at: int
    sequence: int
    alternatives: tuple[Alternative, ...]


class LeaseView(msgspec.Struct, frozen=True, gc=False):
    """A lease on the books; `end` is `None` while it lasts.

    `charged` is `rate`, or less while the hold caps it; both are 0 once it has ended. `hold_until`
    is when its hold ends or ended, if it had one (M17). `fence` is a fencing token: of two leases
    of a leaf the later one has the higher. It counts the leases of all tenants, so it is not for
    tenants to see.
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
    """How many orders and leases a tenant has, and ever had."""

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
    """A node with controls of its own (M15 to M18); `None` is left to the nearest ancestor that
    sets it."""

    node: str
    rise: Band | None
    fall: Band | None
    hold_us: int | None
    flash_us: int | None


class BidGroup(msgspec.Struct, frozen=True, gc=False):
    """Alternatives on the path of a node that rest with one limit: how many, and how many of them
    at the node itself."""

    limit: int
    orders: int
    here: int


class BookView(msgspec.Struct, frozen=True, gc=False):
    """What is set at a node and what rests around it.

    `here`, `above` and `below` count alternatives at the node, at nodes above it and at nodes below
    it. `bids` are those that would take a leaf of the node, highest limit first; `bids_more` is how
    many more limits there are. `best_bid` is the highest above 0 at the node itself.
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
    """Some leaves together: how many at each ask, how many (`never`) that no price opens now, and
    what all of their leases are charged."""

    by_ask: dict[int, int]
    never: int
    online: int
    leased: int
    charged: int


class LevelsView(msgspec.Struct, frozen=True, gc=False):
    """Some leaves in columns. An owner is its place in `Market.tenants()`; -1 is an idle leaf, -2
    one that is offline."""

    rates: list[int]
    limits: list[int | None]
    owners: list[int]
    floors: list[int]


class RateSegment(msgspec.Struct, frozen=True, gc=False):
    """From `start` to `end` (half-open) the standing rate of a node was `rate`."""

    start: int
    end: int
    rate: int


class PriceSegment(msgspec.Struct, frozen=True, gc=False):
    """From `start` to `end` (half-open) a lease was charged `rate`; `None` stands for a
    carried-forward amount whose detail was closed."""

    start: int
    end: int
    rate: int | None
    charge: int


class LeaseLine(msgspec.Struct, frozen=True, gc=False):
    """One lease on a bill: when it was held (`end` is `None` while it lasts) and what it cost
    within the bill's period."""

    lease: int
    leaf: str
    start: int
    end: int | None
    charge: int


class FeeLine(msgspec.Struct, frozen=True, gc=False):
    """One flash fee on a bill: `rate` from `start` until `end`, and what of it fell within the
    bill's period."""

    order: int
    scope: str
    rate: int
    start: int
    end: int
    charge: int


class Bill(msgspec.Struct, frozen=True, gc=False):
    """What a tenant owes for `[since, until)`. `carried` is what closed books hold; `total` is the
    sum of everything above it."""

    tenant: str
    since: int
    until: int
    leases: tuple[LeaseLine, ...]
    fees: tuple[FeeLine, ...]
    carried: int
    total: int
