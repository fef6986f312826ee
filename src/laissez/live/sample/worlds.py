"""The worlds of the sample's applications: an inference service, training jobs and batches."""

from __future__ import annotations

import math
from typing import Final

from laissez.tenants import Deadline, Leaves
from laissez.tenants.dynamo import Dynamo, Observation, Serving, Sla, built_in
from laissez.tenants.parabricks import Batch, Parabricks
from laissez.tenants.sailor import HostLayout, Job, Planner, Sailor, WhatIf, builtin_profile
from laissez.units import HOUR_US, SECOND_US

SWING_S: Final = 3 * 3600.0  # of the application's time: three minutes of ours
BURST_EVERY_S, BURST_S = 2400.0, 300.0
# at its mean; conversations as in Azure's trace of 2023, mean lengths
REQUESTS_PER_S: Final = 800.0
ISL, OSL = 1155.0, 211.0
TTFT_MS, ITL_MS, DURATION_S = 50.0, 12.0, 3.0
REVENUE_PER_HOUR: Final = 600.0

JOB_HOURS: Final = 3
JOB_VALUE: Final = 900.0  # dollars for a job done in time
SAMPLES: Final = 1_700_000.0  # the work of about 40 H100s in that time
CHECKPOINT_S: Final = 600.0
JOB_NODES_MAX: Final = 56

BATCH_HOURS: Final = 5
BATCH_VALUE: Final = 700.0
GENOMES: Final = 90
COLD_S: Final = 240.0
BATCH_NODES_MAX: Final = 64


class InferenceWorld:
    """A service whose load swings like a day in a few minutes, with a burst now and then.

    Latencies are as profiled, so nothing has to be corrected.
    """

    def __init__(self, now: int) -> None:
        profiles = built_in("llama-3.1-8b", 1)
        self._serving = Serving(profiles, Sla(2048, 256, 200, 20), correct=False)
        self.app = Dynamo(self._serving, ("h100", "a100"), REVENUE_PER_HOUR, REQUESTS_PER_S)
        self._start = self._at = now

    def live(self, held: Leaves, now: int) -> None:
        """Let time pass with `held`."""
        interval_s = (now - self._at) / SECOND_US
        if interval_s <= 0:
            return
        requests = self._load((now - self._start) / SECOND_US) * interval_s
        seen = Observation(requests, ISL, OSL, TTFT_MS, ITL_MS, DURATION_S, interval_s)
        self.app.observe(seen, held)
        self._at = now

    def _load(self, at_s: float) -> float:
        burst = 1.5 if at_s % BURST_EVERY_S < BURST_S else 1.0
        return REQUESTS_PER_S * (1 + 0.7 * math.sin(2 * math.pi * at_s / SWING_S)) * burst


class TrainingWorld:
    """One training job after the other, each with a deadline.

    Nodes join at a checkpoint. When a working node is lost, the job goes back to its last
    checkpoint. It restarts in both cases.
    """

    def __init__(self, now: int) -> None:
        self._what_if = WhatIf(
            Planner(builtin_profile("GPT-Neo-2.7")),
            ("h100", "a100"),
            HostLayout(leaf_words=5, gpus_per_host=8),
        )
        self._begin(now)

    def _begin(self, now: int) -> None:
        deadline = Deadline(now, now + JOB_HOURS * HOUR_US, JOB_VALUE)
        job = Job(deadline, epochs=1, samples_per_epoch=SAMPLES, checkpoint_s=CHECKPOINT_S)
        self.app = Sailor(job, self._what_if, nodes_max=JOB_NODES_MAX)
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
        self._running_from = now + round(self.app.restart_s * SECOND_US)


class BatchWorld:
    """One batch of genomes after the other, with time to wait for cheap hours.

    A node works once its cold start is over. A lost node loses its work since the checkpoint.
    """

    def __init__(self, now: int) -> None:
        self._begin(now)

    def _begin(self, now: int) -> None:
        batch = Batch([1.0] * GENOMES, ("h100", "a100"), now=now, nodes_max=BATCH_NODES_MAX)
        self.app = Parabricks(
            batch, Deadline(now, now + BATCH_HOURS * HOUR_US, BATCH_VALUE), COLD_S
        )
        self._since: dict[str, int] = {}

    def live(self, held: Leaves, now: int) -> None:
        batch = self.app.batch
        if batch.done >= 1:
            self._begin(now)
            return
        warm = tuple(
            leaf for leaf, since in self._since.items() if now - since >= COLD_S * SECOND_US
        )
        for leaf in [leaf for leaf in warm if leaf not in held]:
            batch.lost(leaf, warm, now)
            warm = tuple(other for other in warm if other != leaf)
        batch.advance(warm, now)
        self._since = {leaf: self._since.get(leaf, now) for leaf in held}
