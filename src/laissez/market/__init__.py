"""The market: a deterministic exchange for leases on a forest of resources.

The rules of `docs/reference/market.md` belong here and nothing else: no I/O, no clock, no
randomness, no floats, no logging, no other package of `laissez`. `Market.apply(command, at)`
changes the market and returns events; its other methods only read.
"""

from laissez.market.commands import (
    AdvanceTime,
    Alternative,
    AmendOrder,
    Band,
    BringOnline,
    CancelOrder,
    CloseBooks,
    Command,
    PlaceOrder,
    Relinquish,
    SetControls,
    SetFloor,
    SetLimit,
    TakeOffline,
    at_market,
    at_price,
)
from laissez.market.events import (
    BooksClosed,
    ControlsSet,
    Event,
    FeeCharged,
    FloorSet,
    LeafBroughtOnline,
    LeafTakenOffline,
    LeaseEnded,
    LeaseStarted,
    LimitSet,
    OrderAmended,
    OrderCancelled,
    OrderPlaced,
    Refused,
)
from laissez.market.market import Market
from laissez.market.reasons import EndReason, Reason
from laissez.market.spec import parse_topology
from laissez.market.topology import Topology, TopologyError

__all__ = [
    "AdvanceTime",
    "Alternative",
    "AmendOrder",
    "Band",
    "BooksClosed",
    "BringOnline",
    "CancelOrder",
    "CloseBooks",
    "Command",
    "ControlsSet",
    "EndReason",
    "Event",
    "FeeCharged",
    "FloorSet",
    "LeafBroughtOnline",
    "LeafTakenOffline",
    "LeaseEnded",
    "LeaseStarted",
    "LimitSet",
    "Market",
    "OrderAmended",
    "OrderCancelled",
    "OrderPlaced",
    "PlaceOrder",
    "Reason",
    "Refused",
    "Relinquish",
    "SetControls",
    "SetFloor",
    "SetLimit",
    "TakeOffline",
    "Topology",
    "TopologyError",
    "at_market",
    "at_price",
    "parse_topology",
]
