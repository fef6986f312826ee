"""The whole state of a market, and nothing that acts on it.

Commands set everything here, or it follows from what they set. `revision` counts the changes so
far: one per accepted command that changes something, one per instant at which holds end. It orders
changes of the same microsecond.
"""

from __future__ import annotations

from typing import Any, Final

from laissez.market.events import Event
from laissez.market.field_types import is_whole
from laissez.market.forest import Forest
from laissez.market.lease import Lease
from laissez.market.node import Node
from laissez.market.order import Order
from laissez.market.tenant import Tenant

ORDERS_MAX: Final = 1_000_000  # open orders that a tenant may be allowed


class State:
    __slots__ = (
        "closed_before",
        "events",
        "fence",
        "forest",
        "holds",
        "now",
        "orders_per_tenant_max",
        "revision",
        "sequence",
        "tenants",
        "with_controls",
    )

    def __init__(self, forest: Forest, orders_per_tenant_max: int) -> None:
        self.forest = forest
        self.orders_per_tenant_max = orders_per_tenant_max
        self.now = 0
        self.revision = 0
        # Time priority and fencing tokens count over all tenants, so tenants must not see either.
        self.sequence = 0  # of the order that was placed or amended last
        self.fence = 0  # of the lease that started last
        self.closed_before = 0
        self.tenants: dict[str, Tenant] = {}
        # heap of (end, fence, lease); may hold leases that ended early
        self.holds: list[tuple[int, int, Lease]] = []
        self.with_controls: list[Node] = []
        self.events: list[Event] = []  # of the command being applied

    def tenant(self, name: str) -> Tenant:
        """The tenant of this name, added if it is new."""
        known = self.tenants.get(name)
        if known is None:
            known = Tenant(name, len(self.tenants) + 1)
            self.tenants[name] = known
        return known

    def open_orders(self) -> list[Order]:
        """Every open order, by time priority."""
        return sorted(
            [order for tenant in self.tenants.values() for order in tenant.orders.values()],
            key=_sequence,
        )

    def next_sequence(self) -> int:
        self.sequence += 1
        return self.sequence


def _sequence(order: Order) -> int:
    return order.sequence


def check_orders_max(most: Any) -> None:
    if not is_whole(most) or not 1 <= most <= ORDERS_MAX:
        raise ValueError(
            f"orders_per_tenant_max: expected a whole number from 1 to {ORDERS_MAX:,}, found"
            f" {most!r}"
        )
