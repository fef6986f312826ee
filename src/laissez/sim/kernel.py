"""Virtual time: a heap of things to do, each at its microsecond.

What is due at the same instant is done in the order in which it was asked for, so a simulation has
one course and no other.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from heapq import heappop, heappush
from random import Random
from typing import TypeAlias

Action: TypeAlias = Callable[[], None]


class Kernel:
    """`now` is the time, in microseconds; it moves only in `run`."""

    def __init__(self, now: int = 0) -> None:
        self.now = now
        self._due: list[tuple[int, int, Action]] = []
        self._asked = 0

    def at(self, time: int, action: Action) -> None:
        """Do `action` at `time`, after everything that is already to be done then."""
        if time < self.now:
            raise ValueError(f"expected a time from {self.now} on, found {time}")
        self._asked += 1
        heappush(self._due, (time, self._asked, action))

    def run(self, until: int) -> None:
        """Everything that is due before `until`; then it is `until`."""
        if until < self.now:
            raise ValueError(f"expected a time from {self.now} on, found {until}")
        while self._due and self._due[0][0] < until:
            self.now, _, action = heappop(self._due)
            action()
        self.now = until


def random_stream(seed: int, *names: str | int) -> Random:
    """The stream of that name under that seed; the same everywhere, always."""
    text = "/".join(map(str, (seed, *names)))
    return Random(int.from_bytes(sha256(text.encode()).digest(), "big"))
