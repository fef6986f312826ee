"""What the tenants of the benchmark ask for: training renegotiates 3 times a second, inference 10
times, as in the paper's evaluation.

A training tenant mostly moves the limits of what it holds, as its checkpoints age; an inference
tenant follows its demand with orders. Prices are drawn so that most orders wait and a few change
hands.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from laissez_bench.cluster import HOLD_LIMITS, WAITING_BIDS, Held

Message: TypeAlias = dict[str, Any]

TRAINING_PER_SECOND, INFERENCE_PER_SECOND = 3, 10
# percent
TRAINING = {"place_order": 5, "amend_order": 25, "cancel_order": 5, "set_limit": 45, "quote": 20}
INFERENCE = {"place_order": 18, "amend_order": 27, "cancel_order": 18, "set_limit": 17, "quote": 20}
EAGER = 0.02  # the share of orders that bid above the limits of many who hold, and so change hands


class Tenant:
    """Draws one tenant's commands, and learns from the answers what it holds."""

    def __init__(self, number: int, held: Held, scopes: Sequence[str], seed: int) -> None:
        self._draw = random.Random(f"{seed}/{number}")
        self._scopes = scopes
        self._made = 0
        self.prefix = f"{seed}-{number}-"
        self.orders = held.orders.copy()
        self.leases = held.leases.copy()
        mixture = TRAINING if number % 2 else INFERENCE
        self._kinds = [kind for kind, percent in mixture.items() for _ in range(percent)]
        self._makers: dict[str, Callable[[], Message]] = {
            "place_order": self._place,
            "amend_order": self._amend,
            "cancel_order": self._cancel,
            "set_limit": self._set_limit,
            "quote": self._quote,
        }

    def next(self) -> Message:
        self._made += 1
        message = self._makers[self._draw.choice(self._kinds)]()
        message["id"] = f"{self.prefix}{self._made}"
        return message

    def heard(self, event: Message) -> None:
        kind = event["type"]
        if kind == "order.placed":
            self.orders.append(event["order"])
        elif kind == "lease.started":
            self.leases.append(event["lease"])
            if event["order"] in self.orders:
                self.orders.remove(event["order"])
        elif kind == "lease.ended" and event["lease"] in self.leases:
            self.leases.remove(event["lease"])

    def _price(self, between: tuple[int, int]) -> str:
        return f"{self._draw.randint(*between) / 1_000_000:.6f}"

    def _alternatives(self) -> list[Message]:
        between = HOLD_LIMITS if self._draw.random() < EAGER else WAITING_BIDS
        return [{"scope": self._draw.choice(self._scopes), "limit": self._price(between)}]

    def _place(self) -> Message:
        return {"type": "place_order", "alternatives": self._alternatives()}

    def _amend(self) -> Message:
        if not self.orders:
            return self._place()
        return {
            "type": "amend_order",
            "order": self._draw.choice(self.orders),
            "alternatives": self._alternatives(),
        }

    def _cancel(self) -> Message:
        if len(self.orders) < 3:
            return self._place()
        return {
            "type": "cancel_order",
            "order": self.orders.pop(self._draw.randrange(len(self.orders))),
        }

    def _set_limit(self) -> Message:
        if not self.leases:
            return self._place()
        return {
            "type": "set_limit",
            "lease": self._draw.choice(self.leases),
            "limit": self._price(HOLD_LIMITS),
        }

    def _quote(self) -> Message:
        return {"type": "quote", "scope": "h100"}


def shares(tenants: int) -> list[int]:
    """How often each tenant is drawn, relative to the others: inference more often than
    training."""
    return [
        TRAINING_PER_SECOND if number % 2 else INFERENCE_PER_SECOND for number in range(tenants)
    ]
