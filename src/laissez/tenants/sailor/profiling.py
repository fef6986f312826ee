"""What hardware does for a Sailor job. Utility is the share of the whole work done per hour by the
best plan over the leaves held.

A change of plan restarts the job from its last checkpoint, so everything stands still while a node
comes or goes. What the plan does not use changes nothing. No node is worth less than what it would
be bought for: one that waits for the rest of its bundle is not given up, and none is kept for less
than another is asked for.
"""

from __future__ import annotations

from typing import Final

from laissez.tenants.hooks import Leaves, ProgressApplication
from laissez.tenants.paths import tree_of, without
from laissez.tenants.sailor.errors import JobError
from laissez.tenants.sailor.job import Job
from laissez.tenants.sailor.shadow import Shadow

# save, transform and load a 7B model: 1.38 min (Universal Checkpointing, table 3; up to 4.12 min
# for 1T)
COLD_START_S: Final = 83.0


class SailorProfile(ProgressApplication):
    """A training job; `shadow` plans for it."""

    def __init__(self, job: Job, shadow: Shadow, cold_start_s: float = COLD_START_S) -> None:
        if not 0 <= cold_start_s < float("inf"):
            raise JobError(f"expected cold_start_s to be seconds from 0 on, found {cold_start_s}")
        self.job = job
        self.shadow = shadow
        self.restart_s = cold_start_s

    def progressed(self, done: float, now: int) -> None:
        self.job.progressed(done, now)

    def checkpointed(self, now: int) -> None:
        self.job.checkpointed(now)

    def utility_gap(self, held: Leaves, now: int) -> float:
        return self.job.required(now, 2 * self.restart_s) - self.job.share_per_hour(
            self.shadow.speed(held)
        )

    def marginal_utility(self, node: str, held: Leaves, now: int) -> float:
        if node not in held:
            return self.job.share_per_hour(self.shadow.gain(node, held))
        # it may have been bought as part of a bundle in its host, or of one anywhere
        rest = without(held, node)
        bought_for = max(self.shadow.gain(node, rest), self.shadow.gain(tree_of(node), rest))
        return self.job.share_per_hour(max(self.shadow.loss(node, held), bought_for))

    def at_stake(self, node: str, held: Leaves, now: int) -> float:
        return self.job.share_per_hour(self.shadow.speed(held))

    def is_redundant(self, node: str, held: Leaves, now: int) -> bool:
        return self.shadow.is_spare(node, held)

    def cold_start_s(self, node: str) -> float:
        return self.restart_s

    def since_checkpoint_s(self, now: int) -> float:
        return self.job.since_checkpoint_s(now)

    def until_checkpoint_s(self, now: int) -> float:
        return self.job.until_checkpoint_s(now)

    def expected_hold_s(self, now: int) -> float:
        return min(
            self.hold_times.expected_s(self.restart_s),
            max(self.job.deadline.left_s(now), 2 * self.restart_s),
        )
