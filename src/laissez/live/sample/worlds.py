"""The worlds of the sample's applications: an inference service, training jobs and batches. Jobs
run in the worlds of the simulator."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from laissez.sim.worlds.jobs import BatchWorld, TrainingWorld
from laissez.sim.worlds.world import World
from laissez.tenants import Application, Deadline, Leaves
from laissez.tenants.dynamo import Dynamo, Observation, Serving, Sla, built_in
from laissez.tenants.parabricks import Batch, Parabricks
from laissez.tenants.sailor import HostLayout, Job, Planner, Sailor, WhatIf, builtin_profile
from laissez.units import HOUR_US, SECOND_US

TYPES: Final = ("h100", "a100")
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
        self.app = Dynamo(self._serving, TYPES, REVENUE_PER_HOUR, REQUESTS_PER_S)
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


class Jobs:
    """One job after the other, each in a world of the simulator that `make` makes."""

    def __init__(self, make: Callable[[int], World], now: int) -> None:
        self._make, self._world = make, make(now)

    @property
    def app(self) -> Application:
        return self._world.app

    def live(self, held: Leaves, now: int) -> None:
        """Let time pass until `now`, when the tenant has `held`. A lost node was taken without
        warning."""
        world = self._world
        for leaf in sorted(world.nodes.keys() - set(held)):
            world.lose(leaf, now, voluntary=False)
        for leaf in held:
            if leaf not in world.nodes:
                world.gain(leaf, now)
        world.advance(now)
        if world.is_over():
            self._world = self._make(now)


def training_jobs(now: int) -> Jobs:
    """Training jobs, each with a deadline."""
    layout = HostLayout(leaf_words=5, gpus_per_host=8)
    what_if = WhatIf(Planner(builtin_profile("GPT-Neo-2.7")), TYPES, layout)

    def make(now: int) -> TrainingWorld:
        deadline = Deadline(now, now + JOB_HOURS * HOUR_US, JOB_VALUE)
        job = Job(deadline, epochs=1, samples_per_epoch=SAMPLES, checkpoint_s=CHECKPOINT_S)
        return TrainingWorld(Sailor(job, what_if, nodes_max=JOB_NODES_MAX))

    return Jobs(make, now)


def batches(now: int) -> Jobs:
    """Batches of genomes, with time to wait for cheap hours."""

    def make(now: int) -> BatchWorld:
        batch = Batch([1.0] * GENOMES, TYPES, now=now, nodes_max=BATCH_NODES_MAX)
        deadline = Deadline(now, now + BATCH_HOURS * HOUR_US, BATCH_VALUE)
        return BatchWorld(Parabricks(batch, deadline, COLD_S))

    return Jobs(make, now)
