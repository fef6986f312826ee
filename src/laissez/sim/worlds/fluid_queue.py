"""A fluid queue with a door: what comes is taken in as long as it need not wait too long, and is
turned away otherwise.

While the load and the capacity stay as they are, the wait rises or falls in straight lines, so all
of it can be computed exactly, however long or short the piece of time is that is looked at.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Taken(NamedTuple):
    """So much was taken in while the wait went evenly from `first_s` to `last_s`."""

    amount: float
    first_s: float
    last_s: float


class FluidQueue:
    """`waiting` is what is in it now, in the unit of what comes."""

    def __init__(self) -> None:
        self.waiting = 0.0

    def passed(
        self, seconds: float, coming: float, capacity: float, patience_s: float
    ) -> list[Taken]:
        """What was taken in during `seconds` in which `coming` came and `capacity` could be done
        per second. Whoever waits already stays."""
        taken: list[Taken] = []
        bound = capacity * patience_s
        shut_s = min(seconds, max(0.0, self.waiting - bound) / capacity)
        self.waiting -= shut_s * capacity
        left_s = seconds - shut_s
        if left_s <= 0:
            return taken
        more = coming - capacity
        limit = bound if more > 0 else 0.0
        moving_s = min(left_s, (limit - self.waiting) / more) if more else left_s
        first_s = self.waiting / capacity
        if moving_s > 0:
            self.waiting = max(0.0, self.waiting + more * moving_s)
            taken.append(Taken(coming * moving_s, first_s, self.waiting / capacity))
        if left_s > moving_s:
            self.waiting = limit
            taken.append(
                Taken(
                    min(coming, capacity) * (left_s - moving_s), limit / capacity, limit / capacity
                )
            )
        return taken


def share_met(objective: float, first: float, last: float) -> float:
    """The mean of `min(1, objective / latency)` over latencies that go evenly from `first` to
    `last`."""
    low, high = min(first, last), max(first, last)
    if high <= objective:
        return 1.0
    if high - low < 1e-9 * high:
        return objective / high
    late_from = max(low, objective)
    return (late_from - low + objective * math.log(high / late_from)) / (high - low)
