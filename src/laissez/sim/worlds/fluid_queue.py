"""A fluid queue with admission control: a request that would wait too long is turned away.

While load and capacity are constant, the wait changes linearly. So every piece of time is computed
exactly, however long it is.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Admitted(NamedTuple):
    """Work that was admitted while the wait went linearly from `first_s` to `last_s`."""

    amount: float
    first_s: float
    last_s: float


class FluidQueue:
    """`waiting` is the work in the queue."""

    def __init__(self) -> None:
        self.waiting = 0.0

    def advance(
        self, seconds: float, load: float, capacity: float, patience_s: float
    ) -> list[Admitted]:
        """Let `seconds` pass with this load and capacity, both in work per second. Returns the
        admitted work; work that waits already stays."""
        bound = capacity * patience_s
        closed_s = min(seconds, max(0.0, self.waiting - bound) / capacity)
        self.waiting -= closed_s * capacity
        open_s = seconds - closed_s
        if open_s <= 0:
            return []
        admitted: list[Admitted] = []
        growth = load - capacity
        limit = bound if growth > 0 else 0.0
        changing_s = min(open_s, (limit - self.waiting) / growth) if growth else open_s
        first_s = self.waiting / capacity
        if changing_s > 0:
            self.waiting = max(0.0, self.waiting + growth * changing_s)
            admitted.append(Admitted(load * changing_s, first_s, self.waiting / capacity))
        if open_s > changing_s:
            self.waiting = limit
            amount, wait_s = min(load, capacity) * (open_s - changing_s), limit / capacity
            admitted.append(Admitted(amount, wait_s, wait_s))
        return admitted


def share_met(objective: float, first: float, last: float) -> float:
    """The mean of `min(1, objective / latency)` over latencies from `first` to `last`."""
    low, high = min(first, last), max(first, last)
    if high <= objective:
        return 1.0
    if high - low < 1e-9 * high:
        return objective / high
    late_from = max(low, objective)
    return (late_from - low + objective * math.log(high / late_from)) / (high - low)
