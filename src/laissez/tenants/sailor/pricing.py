"""The pricing hooks of a Sailor job: the deadline sets the worth of progress, and the job asks for
as many nodes as it could use."""

from __future__ import annotations

from collections.abc import Sequence

from laissez.tenants.hooks import Leaves, Wish
from laissez.tenants.inputs import Count, checked
from laissez.tenants.sailor.job import Job
from laissez.tenants.sailor.model import SailorError
from laissez.tenants.sailor.profiling import COLD_START_S, SailorProfile
from laissez.tenants.sailor.what_if import WhatIf


class Sailor(SailorProfile):
    """A training job on the market, with at most `nodes_max` nodes."""

    def __init__(
        self, job: Job, what_if: WhatIf, cold_start_s: float = COLD_START_S, nodes_max: int = 32
    ) -> None:
        super().__init__(job, what_if, cold_start_s)
        self.nodes_max = checked("nodes_max", nodes_max, Count, SailorError)

    def value_per_utility(self, now: int) -> float:
        return self.job.deadline.value_of_progress(self.job.done, now, 2 * self.restart_s)

    def wishes(self, held: Leaves, now: int) -> Sequence[Wish]:
        pace = self.job.share_per_hour(self.what_if.speed_per_node())
        if not pace:
            return ()
        useful = self.job.deadline.nodes_useful(pace, self.job.done, now, self.restart_s)
        room = min(self.nodes_max, useful) - len(held)
        return (self.what_if.alternatives(held),) * room if room > 0 else ()
