"""Training jobs and batches: so much work that so many GPUs do it in so much time."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import ClassVar, Final

from laissez.sim.scenario import COLD_STARTS, Scenario
from laissez.sim.workloads.spec import Makings, Need, Planners, Spec
from laissez.sim.worlds.jobs import BatchWorld, TrainingWorld
from laissez.tenants import Deadline
from laissez.tenants.parabricks import Batch, Parabricks
from laissez.tenants.parabricks.runtime import RUN_TIMES
from laissez.tenants.sailor import Job, Sailor, Site
from laissez.units import HOUR_S, HOUR_US, SECOND_US

EPOCHS: Final = 20
# every part of the work counts the same in the end, so being behind is no reason to pay more for it
URGENCY_MAX: Final = 1.0
NODES_MAX_TIMES: Final = 2.0  # of what it needs: a job that fell behind can catch up


class TrainingSpec(Spec, frozen=True, kw_only=True):
    kind: ClassVar[str] = "training"

    model: str
    samples: float
    restart_s: float
    checkpoint_s: float
    nodes_max: int

    def make(self, scenario: Scenario, site: Site, planners: Planners) -> TrainingWorld:
        deadline = Deadline(
            self.start, self.due, self.value, finish_late=False, urgency_max=URGENCY_MAX
        )
        job = Job(
            deadline,
            epochs=EPOCHS,
            samples_per_epoch=self.samples / EPOCHS,
            checkpoint_s=self.checkpoint_s,
        )
        believed_s = self.restart_s * scenario.tenants.believed_overhead
        shadow = planners.shadow(self.model, self.scopes, site, scenario.training.topology_aware)
        return TrainingWorld(Sailor(job, shadow, believed_s, self.nodes_max), self.restart_s)

    def need(self, scenario: Scenario, shares: Mapping[str, float], planners: Planners) -> Need:
        seconds = (self.due - self.start) / SECOND_US - COLD_STARTS * self.restart_s
        return [
            (
                self.start,
                self.samples
                / seconds
                / per_gpu(self.model, shares, scenario.cluster.gpus_per_host, planners),
            ),
            (self.due, 0.0),
        ]


class BatchSpec(Spec, frozen=True, kw_only=True):
    kind: ClassVar[str] = "batch"

    sizes: tuple[float, ...]
    cold_s: float
    checkpoint_s: float
    nodes_max: int

    def make(self, scenario: Scenario, site: Site, planners: Planners) -> BatchWorld:
        batch = Batch(
            self.sizes,
            self.scopes,
            now=self.start,
            nodes_max=self.nodes_max,
            checkpoint_s=self.checkpoint_s,
        )
        deadline = Deadline(
            self.start, self.due, self.value, finish_late=False, urgency_max=URGENCY_MAX
        )
        return BatchWorld(
            Parabricks(batch, deadline, self.cold_s * scenario.tenants.believed_overhead),
            self.cold_s,
        )

    def need(self, scenario: Scenario, shares: Mapping[str, float], planners: Planners) -> Need:
        hours = (self.due - self.start) / HOUR_US - COLD_STARTS * self.cold_s / HOUR_S
        per_gpu_hour = sum(share * RUN_TIMES[tree].per_hour(1) for tree, share in shares.items())
        return [(self.start, sum(self.sizes) / hours / per_gpu_hour), (self.due, 0.0)]


def per_gpu(
    model: str, shares: Mapping[str, float], gpus_per_host: int, planners: Planners
) -> float:
    """Samples per second that a GPU of the mix does in a full host of its own kind."""
    return sum(
        share * planners.get(model).speed(((tree, (gpus_per_host,)),)) / gpus_per_host
        for tree, share in shares.items()
    )


def draw_training(rng: Random, name: str, start: int, makings: Makings) -> TrainingSpec:
    scenario, shares = makings.scenario, makings.shares
    table = scenario.training
    model = rng.choice(table.models)
    gpus, hours, restart_s = (
        rng.uniform(*table.gpus),
        rng.uniform(*table.hours),
        rng.uniform(*table.cold_seconds),
    )
    samples = (
        gpus
        * per_gpu(model, shares, scenario.cluster.gpus_per_host, makings.planners)
        * (hours * HOUR_S - COLD_STARTS * restart_s)
    )
    return TrainingSpec(
        name=name,
        start=start,
        due=start + round(hours * HOUR_US),
        scopes=tuple(shares),
        model=model,
        samples=samples,
        restart_s=restart_s,
        checkpoint_s=rng.uniform(*table.checkpoint_seconds),
        nodes_max=round(gpus * NODES_MAX_TIMES) + 1,
    )


def draw_batch(rng: Random, name: str, start: int, makings: Makings) -> BatchSpec:
    scenario, shares = makings.scenario, makings.shares
    table = scenario.batch
    gpus, hours, cold_s = (
        rng.uniform(*table.gpus),
        rng.uniform(*table.hours),
        rng.uniform(*table.cold_seconds),
    )
    per_gpu_hour = sum(share * RUN_TIMES[tree].per_hour(1) for tree, share in shares.items())
    work = gpus * per_gpu_hour * (hours - COLD_STARTS * cold_s / HOUR_S)
    sizes: list[float] = []
    while (left := work - sum(sizes)) > table.sample_size[0] / 2:
        sizes.append(min(left, rng.uniform(*table.sample_size)))
    return BatchSpec(
        name=name,
        start=start,
        due=start + round(hours * HOUR_US),
        scopes=tuple(shares),
        sizes=tuple(sizes) or (work,),
        cold_s=cold_s,
        checkpoint_s=rng.uniform(*table.checkpoint_seconds),
        nodes_max=round(gpus * NODES_MAX_TIMES) + 1,
    )
