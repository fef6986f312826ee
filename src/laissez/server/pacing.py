"""Answers that nobody's allowance pays for, refusals above all, are given at a pace: to be refused
is cheap to ask for and not free to answer.

Whoever is over its pace gets the answer later, the more the longer it goes on. A connection asks
one thing at a time, so that holds it up and nobody else. Holders have a pace each; those who show
no good key have one per address.
"""

from __future__ import annotations

from collections import OrderedDict

from laissez.server.settings import Limits
from laissez.wire.times import SECOND_US

DELAY_S_MAX = 10.0  # about as long as clients wait for an answer
KEPT_MAX = 10_000  # of those who were refused last


class Pace:
    """A bucket that may owe."""

    __slots__ = ("_at", "_left")

    def __init__(self, burst: int, now: int) -> None:
        self._left = burst * SECOND_US
        self._at = now

    def take(self, count: int, per_second: int, burst: int, now: int) -> float:
        """Use `count` answers up; says after how many seconds they may be given."""
        left = (
            min(burst * SECOND_US, self._left + (now - self._at) * per_second) - count * SECOND_US
        )
        self._left = max(left, -round(DELAY_S_MAX * SECOND_US) * per_second)
        self._at = now
        return max(0, -self._left) / per_second / SECOND_US


class Paces:
    def __init__(self, limits: Limits) -> None:
        self._per_second = limits.refusals_per_second
        self._burst = limits.refusals_burst
        self._kept: OrderedDict[str, Pace] = OrderedDict()
        self.delayed = 0  # answers that were held back

    def __len__(self) -> int:
        return len(self._kept)

    def delay_s(self, who: str, now: int, count: int = 1) -> float:
        """How long `who` must wait for so many answers."""
        pace = self._kept.get(who)
        if pace is None:
            pace = self._kept[who] = Pace(self._burst, now)
            if len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(who)
        delay_s = pace.take(count, self._per_second, self._burst, now)
        self.delayed += delay_s > 0
        return delay_s
