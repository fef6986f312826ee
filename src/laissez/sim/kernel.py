"""Virtual time and random numbers: the two things that make a simulation repeatable.

How it works. Actions wait in a heap, ordered by time and then by the order of scheduling. `run`
takes the earliest one, moves the clock to its time and calls it; the action may schedule more.
Nothing else moves the clock, and nothing reads the clock of the machine.

Why a run is deterministic. The key (time, sequence number) is unique, so the heap never compares
two actions and ties break in one way only. Each part of a simulation draws from a random stream of
its own, seeded by a name, so the draws of one part cannot shift those of another.

What must never happen: time that goes back, an action in the past, or two actions whose order
depends on anything but this key. The first two are asserted below; the tests cover the third.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from heapq import heappop, heappush
from random import Random
from typing import TypeAlias

Action: TypeAlias = Callable[[], None]


class Kernel:
    """The event queue and the clock. `now` is in microseconds and moves only in `run`."""

    def __init__(self, now: int = 0) -> None:
        self.now = now
        self._queue: list[tuple[int, int, Action]] = []
        self._scheduled = 0

    def at(self, time: int, action: Action) -> None:
        """Schedule an action; it comes after all that are already scheduled for that time."""
        if time < self.now:
            raise ValueError(f"expected a time from {self.now} on, found {time}")
        self._scheduled += 1
        heappush(self._queue, (time, self._scheduled, action))

    def after(self, delay: int, action: Action) -> None:
        self.at(self.now + delay, action)

    def run(self, until: int) -> None:
        """Run all actions that are due before `until`, and then set the clock to it."""
        if until < self.now:
            raise ValueError(f"expected a time from {self.now} on, found {until}")
        while self._queue and self._queue[0][0] < until:
            time, _, action = heappop(self._queue)
            assert self.now <= time, f"the clock would go back from {self.now} to {time}"
            self.now = time
            action()
            assert self.now == time, "an action moved the clock"
        self.now = until


def random_stream(seed: int, *names: str | int) -> Random:
    """The random stream of a name under a seed. It gives the same numbers on every machine."""
    text = "/".join(map(str, (seed, *names)))
    return Random(int.from_bytes(sha256(text.encode()).digest(), "big"))
