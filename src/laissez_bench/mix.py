"""The commands of the benchmark's tenants: training renegotiates 3 times a second, inference 10
times, as in the paper's evaluation.

A training tenant mostly moves the limits of its leases, as its checkpoints age; an inference tenant
follows its demand with orders. Prices are drawn so that most orders wait and a few leases change
hands. They are drawn beforehand, because the generator shares the machine with the server.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from laissez.wire.requests import (
    Alternative,
    AmendOrder,
    AskQuote,
    CancelOrder,
    PlaceOrder,
    SetLimit,
)

Message: TypeAlias = PlaceOrder | AmendOrder | CancelOrder | SetLimit | AskQuote

HOLD_LIMITS = (4_000_000, 9_000_000)  # of leases
WAITING_BIDS = (1_500_000, 3_500_000)  # of waiting orders: below the limits of leases
# percent
TRAINING = {PlaceOrder: 5, AmendOrder: 25, CancelOrder: 5, SetLimit: 45, AskQuote: 20}
INFERENCE = {PlaceOrder: 18, AmendOrder: 27, CancelOrder: 18, SetLimit: 17, AskQuote: 20}
EAGER = 0.02  # the share of orders with bids above many limits of leases, which change hands
POOL = 1_024  # alternatives and limits to draw from
QUOTED = "h100"


class Held(msgspec.Struct):
    """The key, leases and orders that a tenant starts with."""

    key: str
    leases: list[str]
    orders: list[str]


class Event(msgspec.Struct, gc=False):
    type: str
    order: str | None = None
    lease: str | None = None


class Pool:
    """The prices and scopes that all tenants draw from."""

    def __init__(self, scopes: Sequence[str], seed: int) -> None:
        draw = random.Random(f"{seed}/pool")

        def price(between: tuple[int, int]) -> str:
            return f"{draw.randint(*between) / 1_000_000:.6f}"

        self.alternatives = [
            (
                Alternative(
                    draw.choice(scopes),
                    price(HOLD_LIMITS if draw.random() < EAGER else WAITING_BIDS),
                ),
            )
            for _ in range(POOL)
        ]
        self.limits = [price(HOLD_LIMITS) for _ in range(POOL)]


class Tenant:
    """Draws one tenant's commands, and learns its orders and leases from the answers."""

    def __init__(self, number: int, held: Held, pool: Pool, seed: int, reads: bool = True) -> None:
        self._draw = random.Random(f"{seed}/{number}").random
        self._pool = pool
        self._made = 0
        self._prefix = f"{seed:x}-{number:x}-"
        self.key = held.key
        self.orders = held.orders.copy()
        self.leases = held.leases.copy()
        mixture = TRAINING if number % 2 else INFERENCE
        self._kinds = [
            kind
            for kind, percent in mixture.items()
            for _ in range(percent)
            if reads or kind is not AskQuote
        ]

    def next(self) -> Message:
        self._made += 1
        id = f"{self._prefix}{self._made:08}"
        draw, orders, leases = self._draw, self.orders, self.leases
        kind, choice = self._kinds[int(draw() * len(self._kinds))], int(draw() * POOL)
        if kind is SetLimit and leases:
            lease = leases[int(draw() * len(leases))]
            return SetLimit(id=id, lease=lease, limit=self._pool.limits[choice])
        if kind is AmendOrder and orders:
            order = orders[int(draw() * len(orders))]
            alternatives = self._pool.alternatives[choice]
            return AmendOrder(id=id, order=order, alternatives=alternatives)
        if kind is CancelOrder and len(orders) >= 3:
            return CancelOrder(id=id, order=orders.pop(int(draw() * len(orders))))
        if kind is AskQuote:
            return AskQuote(id=id, scope=QUOTED)
        return PlaceOrder(id=id, alternatives=self._pool.alternatives[choice])

    def heard(self, event: Event) -> None:
        kind, order, lease = event.type, event.order, event.lease
        if kind == "order.placed" and order is not None:
            self.orders.append(order)
        elif kind == "lease.started" and lease is not None:
            self.leases.append(lease)
            if order in self.orders:
                self.orders.remove(order)
        elif kind == "lease.ended" and lease in self.leases:
            self.leases.remove(lease)

    def refused(self, message: Message) -> None:
        """Forget the order or lease of a refused command: it is gone."""
        for name, mine in (("order", self.orders), ("lease", self.leases)):
            if (subject := getattr(message, name, None)) in mine:
                mine.remove(subject)
