"""Market depth for the operator: the order book of a node, its rate history, and all leaves."""

from __future__ import annotations

import msgspec

from laissez.wire.views import Controls, Resource


class Bid(msgspec.Struct, frozen=True):
    """Open orders with the limit `price` that accept a leaf of the node. `here` of them rest at the
    node itself, the others above it."""

    price: str
    orders: int
    here: int


class Ask(msgspec.Struct, frozen=True):
    """Leaves that are idle with this floor, or leased with this limit. `price` is `null` if no
    price wins them now."""

    price: str | None
    leaves: int


class NodeBook(msgspec.Struct, frozen=True):
    """The order book of a node, with its floor and controls.

    `bids` are highest first and `asks` lowest first, at most 50 prices each; `bids_more` and
    `asks_more` count the prices left out. An order with several alternatives on the path counts
    once for each. `rate_now` is what all leases below the node are charged per hour. `best_bid` is
    the highest bid at the node itself.
    """

    node: str
    level: str | None
    at: str
    leaves: int
    online: int
    leased: int
    floor_own: str | None
    floor_in_force: str
    standing_rate: str
    best_bid: str | None
    quote: str | None
    rate_now: str
    controls: Controls | None
    controls_in_force: Controls
    orders_here: int
    orders_above: int
    orders_below: int
    bids: tuple[Bid, ...]
    bids_more: int
    asks: tuple[Ask, ...]
    asks_more: int


class RatePiece(msgspec.Struct, frozen=True):
    start: str
    end: str
    rate: str


class RateHistory(msgspec.Struct, frozen=True):
    """The standing rate of a node: the highest floor or bid on its path. `since` is later than
    requested if older history is not kept, or would exceed the limit on segments."""

    node: str
    since: str
    until: str
    segments: tuple[RatePiece, ...]


class LevelRow(Resource, frozen=True, array_like=True, gc=False):
    """A leaf as a row. `owner` is `null` if it is idle, `rate` is its price, `limit` is its owner's
    (`null` if none), and `floor` is the floor in force."""


class Levels(msgspec.Struct, frozen=True):
    """Every leaf as a row, in the order of the topology.

    `levels` are the names of each tree's levels. The rows reflect all events up to the operator's
    number `n`, and perhaps later ones. In a stream, later messages hold only the rows that changed.
    """

    at: str
    n: int
    levels: dict[str, tuple[str, ...] | None]
    rows: list[LevelRow]
