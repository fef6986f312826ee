"""Work that has to be done by a deadline, and what speed is worth to it: Uniform Progress (Wu et al., "Can't Be Late", NSDI 2024) as prices.

A job that does the same share of its work in every hour until its deadline is on schedule. The share it must do per hour from now on, over that
uniform share, is its *urgency*: 1 on schedule, more when it is behind, less when it is ahead. A unit of progress is worth `value` (what the whole
work is worth) times the urgency, so a job that is behind pays more than one that is ahead, and pauses when even the cheapest node costs more than
being ahead is worth.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

HOUR_US: Final = 3_600_000_000
URGENCY_MAX: Final = 4.0  # a job that is hopelessly late does not bid without bound
LEFT_US_MIN: Final = 60_000_000  # the last minute counts as a minute: what is required per hour stays finite


class DeadlineError(ValueError):
    """A deadline that cannot be kept to by anyone."""


class Deadline(msgspec.Struct, frozen=True, gc=False):
    """`value` dollars for the whole work between `start` and `due`; what is not done then is done afterwards only if `finish_late`."""

    start: int
    due: int
    value: float
    finish_late: bool = True

    def __post_init__(self) -> None:
        if self.due <= self.start:
            raise DeadlineError(f"expected a deadline after the start at {self.start}, found {self.due}")
        if not 0 <= self.value < math.inf:
            raise DeadlineError(f"expected a value of 0 dollars or more, found {self.value}")

    def required(self, done: float, now: int, reserve_s: float = 0.0) -> float:
        """The share of the work to do per hour from now on, with `reserve_s` kept back for restarts."""
        left_us = self.due - now - round(reserve_s * 1_000_000)
        if done >= 1 or (now >= self.due and not self.finish_late):
            return 0.0
        return (1.0 - done) * HOUR_US / max(LEFT_US_MIN, left_us)

    def urgency(self, done: float, now: int, reserve_s: float = 0.0) -> float:
        """Required over uniform."""
        uniform = HOUR_US / (self.due - self.start)
        return min(URGENCY_MAX, self.required(done, now, reserve_s) / uniform)

    def value_of_progress(self, done: float, now: int, reserve_s: float = 0.0) -> float:
        """Dollars for the whole work at today's urgency: dollars per hour for one unit of progress per hour."""
        return self.value * self.urgency(done, now, reserve_s)

    def left_s(self, now: int) -> float:
        """Seconds until the deadline, at least a minute."""
        return max(LEFT_US_MIN, self.due - now) / 1_000_000
