"""The service's clock: the wall clock at the start, and from then on monotonic time.

A wall clock that jumps would bill tenants for time that did not pass, so it is read once. Time
never falls, not even across a restart: if the wall clock is behind the last entry of the journal,
time continues from that entry.
"""

from __future__ import annotations

import time
from collections.abc import Callable

WALL: Callable[[], int] = time.time_ns
PASSED: Callable[[], int] = time.monotonic_ns


class Clock:
    """Microseconds since 1970."""

    def __init__(
        self, not_before: int, wall: Callable[[], int] = WALL, passed: Callable[[], int] = PASSED
    ) -> None:
        started = wall() // 1000
        # how far the wall clock is behind the journal
        self.behind_us = max(0, not_before - started)
        self._passed = passed
        self._base = max(started, not_before) - passed() // 1000

    def now(self) -> int:
        return self._base + self._passed() // 1000
