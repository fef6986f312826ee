"""Training jobs and batches: work that a number of GPUs does in a given time."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import ClassVar, Final

from laissez.sim.scenario import COLD_STARTS, Scenario
from laissez.sim.workloads.spec import DrawContext, Need, Planners, Spec
from laissez.sim.worlds.jobs import BatchWorld, TrainingWorld
from laissez.tenants import Deadline
from laissez.tenants.parabricks import Batch, Parabricks
from laissez.tenants.parabricks.runtime import RUN_TIMES
from laissez.tenants.sailor import HostLayout, Job, Sailor
from laissez.units import HOUR_S, HOUR_US, SECOND_US

EPOCHS: Final = 20
# every part of the work counts the same, so a job that is behind pays no more for it
URGENCY_MAX: Final = 1.0
NODES_MAX_TIMES: Final = 2.0  # of the need: a job that is behind can catch up


class JobSpec(Spec, frozen=True, kw_only=True):
    checkpoint_s: float
    nodes_max: int

    def _deadline(self) -> Deadline:
        return Deadline(
            self.start, self.due, self.value, finish_late=False, urgency_max=URGENCY_MAX
        )


class TrainingSpec(JobSpec, frozen=True, kw_only=True):
    kind: ClassVar[str] = "training"

    model: str
    samples: float
    restart_s: float

    def make(self, scenario: Scenario, site: HostLayout, planners: Planners) -> TrainingWorld:
        job = Job(
            self._deadline(),
            epochs=EPOCHS,
            samples_per_epoch=self.samples / EPOCHS,
            checkpoint_s=self.checkpoint_s,
        )
        believed_s = self.restart_s * scenario.tenants.believed_overhead
        what_if = planners.what_if(self.model, self.scopes, site, scenario.training.topology_aware)
        return TrainingWorld(Sailor(job, what_if, believed_s, self.nodes_max), self.restart_s)

    def need(self, scenario: Scenario, shares: Mapping[str, float], planners: Planners) -> Need:
        seconds = (self.due - self.start) / SECOND_US - COLD_STARTS * self.restart_s
        speed = speed_per_gpu(self.model, shares, scenario.cluster.gpus_per_host, planners)
        return [(self.start, self.samples / seconds / speed), (self.due, 0.0)]


class BatchSpec(JobSpec, frozen=True, kw_only=True):
    kind: ClassVar[str] = "batch"

    sizes: tuple[float, ...]
    cold_s: float

    def make(self, scenario: Scenario, site: HostLayout, planners: Planners) -> BatchWorld:
        batch = Batch(
            self.sizes,
            self.scopes,
            now=self.start,
            nodes_max=self.nodes_max,
            checkpoint_s=self.checkpoint_s,
        )
        believed_s = self.cold_s * scenario.tenants.believed_overhead
        return BatchWorld(Parabricks(batch, self._deadline(), believed_s), self.cold_s)

    def need(self, scenario: Scenario, shares: Mapping[str, float], planners: Planners) -> Need:
        hours = (self.due - self.start) / HOUR_US - COLD_STARTS * self.cold_s / HOUR_S
        return [(self.start, sum(self.sizes) / hours / _per_gpu_hour(shares)), (self.due, 0.0)]


def speed_per_gpu(
    model: str, shares: Mapping[str, float], gpus_per_host: int, planners: Planners
) -> float:
    """Samples per second of a GPU of the mix, in a full host of its own type."""
    return sum(
        share * planners.get(model).speed(((tree, (gpus_per_host,)),)) / gpus_per_host
        for tree, share in shares.items()
    )


def _per_gpu_hour(shares: Mapping[str, float]) -> float:
    return sum(share * RUN_TIMES[tree].per_hour(1) for tree, share in shares.items())


def draw_training(rng: Random, name: str, start: int, context: DrawContext) -> TrainingSpec:
    table = context.scenario.training
    model = rng.choice(table.models)
    gpus, hours, restart_s = (
        rng.uniform(*bounds) for bounds in (table.gpus, table.hours, table.cold_seconds)
    )
    gpus_per_host = context.scenario.cluster.gpus_per_host
    speed = speed_per_gpu(model, context.shares, gpus_per_host, context.planners)
    return TrainingSpec(
        name=name,
        start=start,
        due=start + round(hours * HOUR_US),
        scopes=tuple(context.shares),
        model=model,
        samples=gpus * speed * (hours * HOUR_S - COLD_STARTS * restart_s),
        restart_s=restart_s,
        checkpoint_s=rng.uniform(*table.checkpoint_seconds),
        nodes_max=round(gpus * NODES_MAX_TIMES) + 1,
    )


def draw_batch(rng: Random, name: str, start: int, context: DrawContext) -> BatchSpec:
    table = context.scenario.batch
    gpus, hours, cold_s = (
        rng.uniform(*bounds) for bounds in (table.gpus, table.hours, table.cold_seconds)
    )
    work = gpus * _per_gpu_hour(context.shares) * (hours - COLD_STARTS * cold_s / HOUR_S)
    sizes: list[float] = []
    while (left := work - sum(sizes)) > table.sample_size[0] / 2:
        sizes.append(min(left, rng.uniform(*table.sample_size)))
    return BatchSpec(
        name=name,
        start=start,
        due=start + round(hours * HOUR_US),
        scopes=tuple(context.shares),
        sizes=tuple(sizes) or (work,),
        cold_s=cold_s,
        checkpoint_s=rng.uniform(*table.checkpoint_seconds),
        nodes_max=round(gpus * NODES_MAX_TIMES) + 1,
    )
