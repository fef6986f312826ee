"""The pricing hooks of a batch: the worth of progress, and the nodes that it could use."""

from __future__ import annotations

from laissez.tenants.hooks import Leaves, Wish
from laissez.tenants.parabricks.profiling import ParabricksProfile


class Parabricks(ParabricksProfile):
    def value_per_utility(self, now: int) -> float:
        return self.deadline.value_of_progress(self.batch.done, now, 2 * self.cold_s)

    def wishes(self, held: Leaves, now: int) -> list[Wish]:
        useful = self.deadline.nodes_useful(self.batch.pace_best, self.batch.done, now, self.cold_s)
        return [self.batch.scopes] * (min(useful, self.batch.nodes_max) - len(held))
