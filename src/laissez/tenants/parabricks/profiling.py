"""The profiling hooks of a batch. Utility is the share of the whole work done per hour.

How the rules of Uniform Progress (Wu et al., "Can't Be Late", NSDI 2024) appear, none of them
written as a rule:
- *Thrifty* (stop when done): nothing is required then, so there is no gap and nothing is worth
  anything.
- *Safety net* (never let the time left fall below the work left and two changeovers): two cold
  starts are kept back from the time left, so what is required climbs out of bounds while there is
  still time to change over.
- *Uniform progress* (catch up when behind): the gap is what is required per hour from now on, and
  urgency, in the price of progress, is the same over the uniform pace. Behind schedule both are
  above the uniform, ahead both are below: a job that is ahead would rather pause than pay a high
  price.
- *Taking risks* (use what is cheap whenever it is there): while work remains an idle batch has a
  gap, so it asks; a cheap node it gets at once.
- *Exploitation* (stay where it is cheap) and *hysteresis* (do not change over for little): the
  price of keeping is above that of asking by what a cold start and unsaved work cost, and it is "on
  schedule" only with two cold starts in hand.

A lost node takes only its own samples back to their checkpoint; the others go on. So nothing more
is at stake than the node itself.
"""

from __future__ import annotations

from laissez.tenants.deadline import Deadline
from laissez.tenants.hooks import Leaves, ProgressApplication
from laissez.tenants.parabricks.batch import Batch


class ParabricksProfile(ProgressApplication):
    # 4 to 12 minutes, after "Can't Be Late"
    def __init__(self, batch: Batch, deadline: Deadline, cold_s: float = 480.0) -> None:
        self.batch = batch
        self.deadline = deadline
        self.cold_s = cold_s

    def utility_gap(self, held: Leaves, now: int) -> float:
        return self.deadline.required(self.batch.done, now, 2 * self.cold_s) - self.batch.pace(held)

    def marginal_utility(self, node: str, held: Leaves, now: int) -> float:
        return self.batch.pace_of(node, held)

    def cold_start_s(self, node: str) -> float:
        return self.cold_s

    def since_checkpoint_s(self, now: int) -> float:
        return self.batch.since_checkpoint_s(now)

    def until_checkpoint_s(self, now: int) -> float:
        return self.batch.until_checkpoint_s(now)

    def expected_hold_s(self, now: int) -> float:
        return self.deadline.expected_hold_s(self.hold_times, self.cold_s, now)
