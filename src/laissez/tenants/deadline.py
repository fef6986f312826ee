"""Work that has to be done by a deadline, and what speed is worth to it: Uniform Progress (Wu et
al., "Can't Be Late", NSDI 2024) as prices.

A job that does the same share of its work in every hour until its deadline is on schedule. The
share it must do per hour from now on, over that uniform share, is its *urgency*: 1 on schedule,
more when it is behind, less when it is ahead. A unit of progress is worth `value` (what the whole
work is worth) times the urgency, so a job that is behind pays more than one that is ahead, and
pauses when even the cheapest node costs more than being ahead is worth.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

from laissez.units import HOUR_S, HOUR_US, SECOND_US

URGENCY_MAX: Final = 4.0  # a job that is hopelessly late does not bid without bound
# a job that is far ahead still finishes what it has begun, if that is cheap
URGENCY_MIN: Final = 0.5
# of the work: the last bit counts as much as this, else it would never be worth a cold start and
# never be done
REST_MIN: Final = 0.05
# the last minute counts as a minute: what is required per hour stays finite
LEFT_US_MIN: Final = 60_000_000


class DeadlineError(ValueError):
    """A deadline that cannot be kept to by anyone."""


class Deadline(msgspec.Struct, frozen=True, gc=False):
    """`value` dollars for the whole work between `start` and `due`; what is not done then is done
    afterwards only if `finish_late`.

    `urgency_max` bounds how much more than that is paid for progress when the work is behind. 1 is
    for work of which every part counts the same, also if it is never finished: then being behind is
    no reason to pay more.
    """

    start: int
    due: int
    value: float
    finish_late: bool = True
    urgency_max: float = URGENCY_MAX

    def __post_init__(self) -> None:
        if self.due <= self.start:
            raise DeadlineError(
                f"expected a deadline after the start at {self.start}, found {self.due}"
            )
        if not 0 <= self.value < math.inf:
            raise DeadlineError(f"expected a value of 0 dollars or more, found {self.value}")
        if not URGENCY_MIN <= self.urgency_max < math.inf:
            raise DeadlineError(
                f"expected urgency_max from {URGENCY_MIN} on, found {self.urgency_max}"
            )

    def required(self, done: float, now: int, reserve_s: float = 0.0) -> float:
        """The share of the work to do per hour from now on, with `reserve_s` kept back for
        restarts."""
        if not self.is_worth_doing(done, now):
            return 0.0
        left_us = self.due - now - round(reserve_s * SECOND_US)
        return max(REST_MIN, 1.0 - done) * HOUR_US / max(LEFT_US_MIN, left_us)

    def urgency(self, done: float, now: int, reserve_s: float = 0.0) -> float:
        """Required over uniform, within bounds; nothing once there is nothing to do."""
        if not self.is_worth_doing(done, now):
            return 0.0
        uniform = HOUR_US / (self.due - self.start)
        return min(
            self.urgency_max, max(URGENCY_MIN, self.required(done, now, reserve_s) / uniform)
        )

    def is_worth_doing(self, done: float, now: int) -> bool:
        return done < 1 and (now < self.due or self.finish_late)

    def nodes_useful(self, pace: float, done: float, now: int, cold_s: float) -> int:
        """How many nodes that do `pace` each find enough to do that their cold start is worth it:
        twice as long as it takes.

        None, if they would not start in time to be of any use.
        """
        if not self.is_worth_doing(done, now) or (
            not self.finish_late and self.left_s(now) <= cold_s
        ):
            return 0
        useful_h = 2 * max(cold_s, LEFT_US_MIN / SECOND_US) / HOUR_S
        return math.ceil((1.0 - done) / (pace * useful_h))

    def value_of_progress(self, done: float, now: int, reserve_s: float = 0.0) -> float:
        """Dollars for the whole work at today's urgency: dollars per hour for one unit of progress
        per hour."""
        return self.value * self.urgency(done, now, reserve_s)

    def left_s(self, now: int) -> float:
        """Seconds until the deadline, at least a minute."""
        return max(LEFT_US_MIN, self.due - now) / SECOND_US
