"""One training job after the other, each with a deadline; it saves its work every ten minutes and
restarts when its nodes change."""

from __future__ import annotations

from typing import Final

from laissez.tenants import Deadline, Leaves
from laissez.tenants.sailor import HostLayout, Job, Planner, Sailor, WhatIf, builtin_profile
from laissez.units import HOUR_US

LENGTH_H: Final = 3
VALUE: Final = 900.0  # dollars for a job done in time
SAMPLES: Final = 1_700_000.0  # what about 40 H100s do in that time
CHECKPOINT_S: Final = 600.0
NODES_MAX: Final = 56


class TrainingWorld:
    """Nodes join at a checkpoint; when one of those at work is lost, the job goes back to its last
    checkpoint. Either way it restarts."""

    def __init__(self, now: int) -> None:
        self._what_if = WhatIf(
            Planner(builtin_profile("GPT-Neo-2.7")),
            ("h100", "a100"),
            HostLayout(leaf_words=5, gpus_per_host=8),
        )
        self._begin(now)

    def _begin(self, now: int) -> None:
        deadline = Deadline(now, now + LENGTH_H * HOUR_US, VALUE)
        job = Job(deadline, epochs=1, samples_per_epoch=SAMPLES, checkpoint_s=CHECKPOINT_S)
        self.app = Sailor(job, self._what_if, nodes_max=NODES_MAX)
        self._at = self._running_from = now
        self._working: Leaves = ()

    def live(self, held: Leaves, now: int) -> None:
        job = self.app.job
        if job.done >= 1:
            self._begin(now)
        elif not set(self._working) <= set(held):
            self.app.progressed(job.saved, now)
            self._restart(held, now)
        else:
            self._work(now)
            if held != self._working and (job.since_checkpoint_s(now) == 0 or not self._working):
                self._restart(held, now)
        self._at = now

    def _work(self, now: int) -> None:
        hours = max(0, now - max(self._at, self._running_from)) / HOUR_US
        job = self.app.job
        self.app.progressed(
            min(1.0, job.done + job.share_per_hour(self._what_if.speed(self._working)) * hours), now
        )
        if job.until_checkpoint_s(now) <= 0:
            self.app.checkpointed(now)

    def _restart(self, held: Leaves, now: int) -> None:
        self._working = held
        self._running_from = now + round(self.app.restart_s * 1_000_000)
