"""Work with a deadline, and the worth of speed: Uniform Progress (Wu et al., "Can't Be Late", NSDI
2024) as prices.

A job that does the same share of its work in every hour until its deadline is on schedule. Its
*urgency* is the share that it must do per hour from now on, divided by that uniform share: 1 on
schedule, more when it is behind, less when it is ahead. A unit of progress is worth `value`, the
worth of the whole work, times the urgency. So a job that is behind pays more than one that is
ahead, and a job pauses when even the cheapest node costs more than its progress is worth.
"""

from __future__ import annotations

import math
from typing import Annotated, Final

from msgspec import Meta

from laissez.config import ConfigError
from laissez.tenants.hold_times import HoldTimes
from laissez.tenants.inputs import Checked, NotNegative
from laissez.units import HOUR_S, HOUR_US, SECOND_US

URGENCY_MAX: Final = 4.0  # a job that is hopelessly late does not bid without bound
URGENCY_MIN: Final = 0.5  # a job that is far ahead still uses cheap nodes
# The last bit of the work counts as this share of it. Otherwise it would never be worth a cold
# start and never be done.
REST_MIN: Final = 0.05
LEFT_US_MIN: Final = 60_000_000  # the last minute counts as a minute: rates stay finite


class Deadline(Checked, frozen=True, gc=False):
    """The whole work between `start` and `due` is worth `value` dollars. Late work is done only if
    `finish_late`.

    `urgency_max` bounds the urgency. 1 suits work of which every part counts the same even if the
    rest is never done: then being behind is no reason to pay more.
    """

    start: int
    due: int
    value: NotNegative
    finish_late: bool = True
    urgency_max: Annotated[float, Meta(ge=URGENCY_MIN, le=1e18)] = URGENCY_MAX

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.due <= self.start:
            raise ConfigError(
                f"due: expected a deadline after the start at {self.start}, found {self.due}"
            )

    def required(self, done: float, now: int, reserve_s: float = 0.0) -> float:
        """The share of the work to do per hour from now on, with `reserve_s` kept for restarts."""
        if not self.is_worth_doing(done, now):
            return 0.0
        left_us = self.due - now - round(reserve_s * SECOND_US)
        return max(REST_MIN, 1.0 - done) * HOUR_US / max(LEFT_US_MIN, left_us)

    def urgency(self, done: float, now: int, reserve_s: float = 0.0) -> float:
        """The required share over the uniform share, within bounds."""
        if not self.is_worth_doing(done, now):
            return 0.0
        uniform = HOUR_US / (self.due - self.start)
        required = self.required(done, now, reserve_s)
        return min(self.urgency_max, max(URGENCY_MIN, required / uniform))

    def is_worth_doing(self, done: float, now: int) -> bool:
        return done < 1 and (now < self.due or self.finish_late)

    def nodes_useful(self, pace: float, done: float, now: int, cold_s: float) -> int:
        """The number of nodes, each doing `pace` of the work per hour, that have work for at least
        twice their cold start; 0 if they could not start in time."""
        if not self.is_worth_doing(done, now):
            return 0
        if not self.finish_late and self.left_s(now) <= cold_s:
            return 0
        useful_h = 2 * max(cold_s, LEFT_US_MIN / SECOND_US) / HOUR_S
        return math.ceil((1.0 - done) / (pace * useful_h))

    def value_of_progress(self, done: float, now: int, reserve_s: float = 0.0) -> float:
        """Dollars per hour for doing the whole work in an hour, at the present urgency."""
        return self.value * self.urgency(done, now, reserve_s)

    def left_s(self, now: int) -> float:
        """Seconds until the deadline, at least a minute."""
        return max(LEFT_US_MIN, self.due - now) / SECOND_US

    def expected_hold_s(self, hold_times: HoldTimes, cold_s: float, now: int) -> float:
        """The expected time for which a node is kept. Late work is worth a restart too."""
        return min(hold_times.expected_s(cold_s), max(self.left_s(now), 2 * cold_s))
