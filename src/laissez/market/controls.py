"""Volatility controls: the operator's settings at a node that slow prices down there and below (M15
to M18).

Each kind is looked up by itself: the nearest setting of that kind governs, from the node up. Bands
count intervals from the command that set them, and measure against the value at the start of the
current interval, which the price logs still hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from laissez.market.node import Node
    from laissez.market.pricelog import PriceLog

PPM: Final = 1_000_000
RISE: Final = 0
FALL: Final = 1
HOLD: Final = 2
FLASH: Final = 3


class Controls:
    """The settings of one node; 0 for an interval or a duration means that this node does not set
    that kind."""

    __slots__ = (
        "fall_interval",
        "fall_ppm",
        "flash",
        "hold",
        "revision",
        "rise_interval",
        "rise_ppm",
        "set_at",
    )

    def __init__(self, set_at: int, revision: int) -> None:
        self.set_at = set_at
        self.revision = revision
        self.rise_ppm = 0
        self.rise_interval = 0
        self.fall_ppm = 0
        self.fall_interval = 0
        self.hold = 0
        self.flash = 0

    def interval_start(self, interval: int, now: int) -> int:
        return now - (now - self.set_at) % interval

    def anchor(self, log: PriceLog | None, interval: int, now: int) -> int:
        """The value of `log` at the start of the interval that `now` is in."""
        if log is None:
            return 0
        start = self.interval_start(interval, now)
        if start == self.set_at:
            return log.price_at_revision(self.revision)
        return log.price_before(start)

    def sets(self, kind: int) -> bool:
        if kind == RISE:
            return self.rise_interval > 0
        if kind == FALL:
            return self.fall_interval > 0
        return self.hold > 0 if kind == HOLD else self.flash > 0


def governing(node: Node | None, kind: int) -> Controls | None:
    """The nearest setting of a kind on the path of a node, from itself up."""
    while node is not None:
        if node.controls is not None and node.controls.sets(kind):
            return node.controls
        node = node.above
    return None


def clipped_bid(scope: Node, bid: int, now: int) -> int:
    """The bid in force after the rise band that governs the scope (M15)."""
    controls = governing(scope, RISE)
    if controls is None:
        return bid
    anchor = 0
    node: Node | None = scope
    while node is not None:
        anchor = max(anchor, controls.anchor(node.log, controls.rise_interval, now))
        node = node.above
    return min(bid, anchor + anchor * controls.rise_ppm // PPM) if anchor else bid


def clipped_floor(node: Node, price: int, now: int) -> int:
    """The floor in force after the fall band that governs the node (M16)."""
    controls = governing(node, FALL)
    if controls is None:
        return price
    anchor = controls.anchor(node.floor_log, controls.fall_interval, now)
    return max(price, anchor - anchor * controls.fall_ppm // PPM)


def hold_of(leaf: Node) -> int:
    """The hold of a lease that starts at this leaf now (M17); 0 without a hold."""
    controls = governing(leaf, HOLD)
    return 0 if controls is None else controls.hold


def flash_of(scope: Node) -> int:
    """The time that a bid at this scope must stand to be free of a fee (M18); 0 without fees."""
    controls = governing(scope, FLASH)
    return 0 if controls is None else controls.flash
