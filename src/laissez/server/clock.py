"""The service's clock: the wall clock when it started, and from then on only time that really
passed.

A wall clock that is set back or jumps ahead would bill tenants for time that did not pass, so it is
read once. Time never falls, also not across a restart: it goes on from the last entry of the
journal if the wall clock is behind it.
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
