"""Order books, rate histories and levels, for the operator."""

from __future__ import annotations

import msgspec

from laissez.wire.views import Controls


class Bid(msgspec.Struct, frozen=True):
    """Orders with limit `price` that would take a leaf of the node; `here` of them rest at the node
    itself, the others above it."""

    price: str
    orders: int
    here: int


class Ask(msgspec.Struct, frozen=True):
    """Leaves that are idle at this floor or leased with this limit; `null`: no price wins them
    now."""

    price: str | None
    leaves: int


class NodeBook(msgspec.Struct, frozen=True):
    """The controls and floors of a node, the bids on it and the asks below it.

    `bids` are highest first and `asks` lowest first, 50 prices each; `bids_more` and `asks_more`
    are how many prices are left out. An order with several alternatives on the path counts at each.
    `rate_now` is what all leases below are charged per hour. `best_bid` presses at the node itself.
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
    """The standing rate of a node: the highest floor or bid on its path, of anyone. `since` is
    later than asked where no more is kept or shown."""

    node: str
    since: str
    until: str
    segments: tuple[RatePiece, ...]


class LevelRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A leaf: its path, whether it is online, its owner (`null`: idle), what presses on it, its
    owner's limit (`null`: none) and the floor in force."""

    leaf: str
    online: bool
    owner: str | None
    rate: str
    limit: str | None
    floor: str


class Levels(msgspec.Struct, frozen=True):
    """Every leaf as a row, in the order of the topology.

    `levels` are the names of each tree's levels. All events up to the operator's number `n` are in
    it, perhaps some later ones too. Later messages of a stream have only the rows that changed.
    """

    at: str
    n: int
    levels: dict[str, tuple[str, ...] | None]
    rows: list[LevelRow]
