"""What the progress of a batch is worth, and how many nodes it could use."""

from __future__ import annotations

import math

from laissez.tenants.hooks import Leaves, Wish
from laissez.tenants.parabricks.profiling import ParabricksProfile
from laissez.tenants.units import HOUR_S


class Parabricks(ParabricksProfile):
    def value_per_utility(self, now: int) -> float:
        return self.deadline.value_of_progress(self.batch.done, now, 2 * self.cold_s)

    def wishes(self, held: Leaves, now: int) -> list[Wish]:
        if not self.deadline.finish_late and self.deadline.left_s(now) <= self.cold_s:
            return []  # it would not start in time to be of any use
        return [self.batch.scopes] * (min(self._useful(), self.batch.nodes_max) - len(held))

    def _useful(self) -> int:
        """How many nodes find enough to do that their cold start is worth it."""
        return math.ceil((1.0 - self.batch.done) * HOUR_S / (self.batch.pace_best * 2 * max(self.cold_s, 60.0)))
