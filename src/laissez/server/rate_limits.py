"""Limits per holder: commands, reads and refusals per second, and open sessions and streams."""

from __future__ import annotations

from collections import OrderedDict

from laissez.server.settings import Limits
from laissez.units import SECOND_US
from laissez.wire.problems import Code, ProblemError

DELAY_S_MAX = 10.0  # about the time that clients wait for an answer
KEPT_MAX = 10_000  # callers, the most recently refused
RETRY_AFTER_S = 1.0


class RateLimit:
    """A token bucket in whole numbers: one command costs a second's worth of microseconds divided
    by the rate."""

    __slots__ = ("_at", "_left", "_what", "burst", "per_second")

    def __init__(self, per_second: int, burst: int, what: str = "commands") -> None:
        self._what = what
        self.change(per_second, burst)

    def change(self, per_second: int, burst: int) -> None:
        """Start again with other rates and a full bucket."""
        self.per_second = per_second
        self.burst = burst
        self._left = burst * SECOND_US
        self._at = 0

    def take(self, count: int, now: int) -> None:
        """Take `count` tokens, or refuse and say when there will be enough."""
        left = min(self.burst * SECOND_US, self._left + (now - self._at) * self.per_second)
        self._at = now
        missing = count * SECOND_US - left
        if missing > 0:
            self._left = left
            raise ProblemError(Code.RATE_LIMITED, self._words(count), self._wait_s(count, missing))
        self._left = left - count * SECOND_US

    def take_if_enough(self, count: int, now: int) -> bool:
        left = min(self.burst * SECOND_US, self._left + (now - self._at) * self.per_second)
        self._at = now
        is_enough = left >= count * SECOND_US
        self._left = left - count * SECOND_US if is_enough else left
        return is_enough

    def give_back(self, count: int) -> None:
        self._left = min(self.burst * SECOND_US, self._left + count * SECOND_US)

    def owe(self, count: int, now: int) -> None:
        """Take `count` tokens even if fewer are left, for a cost that is known only afterwards. The
        next request waits until the debt is paid."""
        self.take(0, now)
        self._left -= count * SECOND_US

    def check(self, now: int) -> None:
        """Refuse as `take` would for one token, but take none."""
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
            f"{count} more would be too many"
            if count
            else "your recent requests count as more than that"
        )
        return (
            f"you may send {self.per_second} {self._what} per second and {self.burst} at once;"
            f" {too_many}"
        )


class Pace:
    """A token bucket that may go into debt."""

    __slots__ = ("_at", "_left")

    def __init__(self, burst: int, now: int) -> None:
        self._left = burst * SECOND_US
        self._at = now

    def take(self, count: int, per_second: int, burst: int, now: int) -> float:
        """Take `count` tokens; returns the delay in seconds before the answers may be sent."""
        left = (
            min(burst * SECOND_US, self._left + (now - self._at) * per_second) - count * SECOND_US
        )
        self._left = max(left, -round(DELAY_S_MAX * SECOND_US) * per_second)
        self._at = now
        return max(0, -self._left) / per_second / SECOND_US


class RefusalPace:
    """Limits how fast refusals are answered: they are cheap to cause and not free to send.

    Above the limit a refusal is delayed. A connection sends one request at a time, so the delay
    holds up its own sender only. Each holder has a limit; callers without a valid key have one per
    address.
    """

    def __init__(self, limits: Limits) -> None:
        self._per_second = limits.refusals_per_second
        self._burst = limits.refusals_burst
        self._kept: OrderedDict[str, Pace] = OrderedDict()
        self.delayed = 0  # answers delayed

    def __len__(self) -> int:
        return len(self._kept)

    def delay_s(self, who: str, now: int, count: int = 1) -> float:
        """How long to delay `count` answers to `who`."""
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


class StreamQuota:
    """Counts the open sessions and streams of each holder."""

    def __init__(self) -> None:
        self.taken: dict[str, int] = {}

    def enter(self, holder: str, cap: int) -> None:
        taken = self.taken.get(holder, 0)
        if taken >= cap:
            raise ProblemError(
                Code.TOO_MANY_SESSIONS,
                f"you have {taken} sessions and streams open and may have {cap}: close one first",
                RETRY_AFTER_S,
            )
        self.taken[holder] = taken + 1

    def leave(self, holder: str) -> None:
        left = self.taken[holder] - 1
        if left:
            self.taken[holder] = left
        else:
            del self.taken[holder]

    def __len__(self) -> int:
        return sum(self.taken.values())
