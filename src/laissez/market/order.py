"""An order and its alternatives at rest.

An order rests once per alternative, in the book of the alternative's scope, and is never copied to
the leaves below (M2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from laissez.market.node import Node
    from laissez.market.tenant import Tenant


class Resting:
    """One alternative of an open order, with the bid in force and its liability if it is withdrawn
    too soon (M18)."""

    __slots__ = (
        "bid",
        "earlier",
        "last",
        "later",
        "liable",
        "liable_until",
        "limit",
        "order",
        "scope",
    )

    def __init__(self, order: Order, scope: Node, bid: int, limit: int) -> None:
        self.order = order
        self.scope = scope
        self.bid = bid
        self.limit = limit
        # its neighbours in the queue of alternatives with the same limit
        self.earlier: Resting | None = None
        self.later: Resting | None = None
        self.last: Resting | None = None  # the end of that queue, kept by its first
        self.liable = 0
        self.liable_until = 0


class Order:
    """A tenant's wish for one leaf. `id` counts the tenant's own orders and never changes;
    `sequence` is its time priority among all orders and changes with every amendment (M10)."""

    __slots__ = ("alternatives", "id", "placed_at", "sequence", "tenant")

    def __init__(self, id: int, tenant: Tenant, placed_at: int, sequence: int) -> None:
        self.id = id
        self.tenant = tenant
        self.placed_at = placed_at
        self.sequence = sequence
        self.alternatives: tuple[Resting, ...] = ()

    def close(self) -> None:
        """Break the cycle of order and alternatives, so that neither waits for the garbage
        collector."""
        self.alternatives = ()
