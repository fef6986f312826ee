"""The profiling hooks of a Sailor job. Utility is the share of the whole work done per hour by the
best plan over the leaves held.

A change of plan restarts the job from its last checkpoint, so everything stands still while a node
comes or goes. Nodes that the plan does not use change nothing. No node is worth less than what it
would be bought for: one that waits for the rest of its bundle is not given up, and none is kept for
less than another is asked for.
"""

from __future__ import annotations

from typing import Final

from laissez.tenants.hooks import Leaves, ProgressApplication
from laissez.tenants.inputs import NotNegative, checked
from laissez.tenants.paths import tree_of, without
from laissez.tenants.sailor.job import Job
from laissez.tenants.sailor.model import SailorError
from laissez.tenants.sailor.what_if import WhatIf

# save, transform and load a 7B model: 1.38 min (Universal Checkpointing, table 3; up to 4.12 min
# for 1T)
COLD_START_S: Final = 83.0


class SailorProfile(ProgressApplication):
    def __init__(self, job: Job, what_if: WhatIf, cold_start_s: float = COLD_START_S) -> None:
        self.job = job
        self.what_if = what_if
        self.restart_s = checked("cold_start_s", cold_start_s, NotNegative, SailorError)

    def progressed(self, done: float, now: int) -> None:
        self.job.progressed(done, now)

    def checkpointed(self, now: int) -> None:
        self.job.checkpointed(now)

    def utility_gap(self, held: Leaves, now: int) -> float:
        pace = self.job.share_per_hour(self.what_if.speed(held))
        return self.job.deadline.required(self.job.done, now, 2 * self.restart_s) - pace

    def marginal_utility(self, node: str, held: Leaves, now: int) -> float:
        if node not in held:
            return self.job.share_per_hour(self.what_if.gain(node, held))
        # it may have been bought as part of a bundle in its host, or of one anywhere
        rest = without(held, node)
        bought_for = max(self.what_if.gain(node, rest), self.what_if.gain(tree_of(node), rest))
        return self.job.share_per_hour(max(self.what_if.loss(node, held), bought_for))

    def at_stake(self, node: str, held: Leaves, now: int) -> float:
        return self.job.share_per_hour(self.what_if.speed(held))

    def is_redundant(self, node: str, held: Leaves, now: int) -> bool:
        return self.what_if.is_spare(node, held)

    def cold_start_s(self, node: str) -> float:
        return self.restart_s

    def since_checkpoint_s(self, now: int) -> float:
        return self.job.since_checkpoint_s(now)

    def until_checkpoint_s(self, now: int) -> float:
        return self.job.until_checkpoint_s(now)

    def expected_hold_s(self, now: int) -> float:
        return self.job.deadline.expected_hold_s(self.hold_times, self.restart_s, now)
