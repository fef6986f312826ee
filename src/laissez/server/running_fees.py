"""The flash fees (M18) of one tenant that still run, and what they come to. It follows from the
market, and is kept so that there is nothing to add up: there may be tens of thousands.

Time never falls: what is over at the time that is asked about is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush


class RunningFees:
    __slots__ = ("_by_end", "_per_hour", "_until_end")

    def __init__(self, fees: Iterable[tuple[int, int]] = ()) -> None:
        self._by_end = list(fees)  # a heap: until when each runs, and its rate
        heapify(self._by_end)
        self._per_hour = sum([rate for _, rate in self._by_end])
        # as if all had run since time began
        self._until_end = sum([rate * until for until, rate in self._by_end])

    def add(self, until: int, rate: int, at: int) -> None:
        self._forget(at)  # else they would pile up where nobody asks
        heappush(self._by_end, (until, rate))
        self._per_hour += rate
        self._until_end += rate * until

    def per_hour(self, at: int) -> int:
        self._forget(at)
        return self._per_hour

    def to_come(self, at: int) -> int:
        """What they will be charged from then on, exactly."""
        self._forget(at)
        return self._until_end - self._per_hour * at

    def _forget(self, at: int) -> None:
        while self._by_end and self._by_end[0][0] <= at:
            until, rate = heappop(self._by_end)
            self._per_hour -= rate
            self._until_end -= rate * until

    def __len__(self) -> int:
        return len(self._by_end)
