"""How many commands a tenant may send, and how many questions it may ask: so many per second on
average, so many at once."""

from __future__ import annotations

from laissez.wire.problems import Code, ProblemError
from laissez.wire.times import SECOND_US


class Allowance:
    """A token bucket in whole numbers: one command costs a second's worth of microseconds divided
    by the rate."""

    __slots__ = ("_at", "_left", "_what", "burst", "per_second")

    def __init__(self, per_second: int, burst: int, now: int, what: str = "commands") -> None:
        self._what = what
        self.per_second = per_second
        self.burst = burst
        self._left = burst * SECOND_US
        self._at = now

    def take(self, count: int, now: int) -> None:
        """Use `count` commands up, or say when there will be enough."""
        left = min(self.burst * SECOND_US, self._left + (now - self._at) * self.per_second)
        self._at = now
        missing = count * SECOND_US - left
        if missing > 0:
            self._left = left
            raise ProblemError(Code.RATE_LIMITED, self._words(count), self._wait_s(count, missing))
        self._left = left - count * SECOND_US

    def owe(self, count: int, now: int) -> None:
        """Use `count` up, also more than are left, for what could not be known before it was asked
        for. Whoever owes some must wait until they are there again."""
        self.take(0, now)
        self._left -= count * SECOND_US

    def check(self, now: int) -> None:
        """As `take`, for one, and nothing is used up."""
        if self._left + (now - self._at) * self.per_second < SECOND_US or self.burst == 0:
            self.take(1, now)

    @property
    def remaining(self) -> int:
        return self._left // SECOND_US

    def _wait_s(self, count: int, missing: int) -> float | None:
        if count > self.burst or self.per_second == 0:
            return None
        return missing / self.per_second / SECOND_US

    def _words(self, count: int) -> str:
        too_many = (
            f"{count} more now are too many"
            if count
            else "what you have just asked for counts as more than that"
        )
        return (
            f"you may send {self.per_second} {self._what} per second and {self.burst} at once;"
            f" {too_many}"
        )
