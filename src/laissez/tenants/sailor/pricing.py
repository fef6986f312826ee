"""What a Sailor job pays: progress is worth what the deadline makes it worth, and it asks for as
many nodes as it could use."""

from __future__ import annotations

from collections.abc import Sequence

from laissez.tenants.hooks import Leaves, Wish
from laissez.tenants.sailor.errors import JobError
from laissez.tenants.sailor.job import Job
from laissez.tenants.sailor.profiling import COLD_START_S, SailorProfile
from laissez.tenants.sailor.shadow import Shadow


class Sailor(SailorProfile):
    """A training job on the market, with at most `nodes_max` nodes."""

    def __init__(
        self, job: Job, shadow: Shadow, cold_start_s: float = COLD_START_S, nodes_max: int = 32
    ) -> None:
        super().__init__(job, shadow, cold_start_s)
        if nodes_max < 1:
            raise JobError(f"expected nodes_max to be 1 or more, found {nodes_max}")
        self.nodes_max = nodes_max

    def value_per_utility(self, now: int) -> float:
        return self.job.value(now, 2 * self.restart_s)

    def wishes(self, held: Leaves, now: int) -> Sequence[Wish]:
        share = self.job.share_per_hour(self.shadow.speed_per_node())
        useful = (
            self.job.deadline.nodes_useful(share, self.job.done, now, self.restart_s)
            if share
            else 0
        )
        room = min(self.nodes_max, useful) - len(held)
        return (self.shadow.alternatives(held),) * room if room > 0 else ()
