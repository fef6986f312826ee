"""Training jobs that bid by place, and the same jobs when they do not: their performance, and the
spread of their GPUs over hosts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar

import msgspec

from laissez.sim.clouds.cloud import Lease
from laissez.sim.results import RunResult
from laissez.sim.scenario import Scenario
from laissez.sim.setting import Setting
from laissez.sim.workloads.jobs import TrainingSpec
from laissez.sim.workloads.spec import Planners
from laissez.sim.worlds.jobs import TrainingWorld
from laissez.tenants.paths import parent_of
from laissez.tenants.sailor import HostLayout
from laissez_experiments.lab.cell import Cell


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """The results of all jobs; `gpus_per_host` counts a job's GPUs in a host where it has any, in
    the mean over time."""

    run: RunResult
    gpus_per_host: float

    @property
    def performance(self) -> float:
        return sum(tenant.performance for tenant in self.run.tenants) / len(self.run.tenants)

    @property
    def idle(self) -> float:
        """Percent of all GPU-hours that were not leased."""
        return 100 * (1 - self.run.utilisation)


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one job."""

    performance: float
    gpus_per_host: float


class Lone(msgspec.Struct, frozen=True):
    """One job, when it alone bids by place and when no job does."""

    aware: Job
    oblivious: Job


class Sides(msgspec.Struct, frozen=True):
    """All jobs bid by place, none does, and one does."""

    aware: Side
    oblivious: Side
    lone: Lone


class TopologyRun(Cell, frozen=True, kw_only=True):
    """The same jobs on the same market, topology-aware and not. `global_batch` is Sailor's own
    unless given.

    The one that is aware among others that are not is the first: all are drawn alike.
    """

    result: ClassVar[Any] = Sides
    seconds: ClassVar[float] = 14.0

    scenario: Scenario
    seed: int
    global_batch: int | None = None

    def run(self) -> Sides:
        setting = Setting(self.scenario, self.seed, _planners(self.global_batch))
        everybody, nobody = (
            setting.varied(bidding(self.scenario, by_place=by_place)) for by_place in (True, False)
        )
        sides = (everybody, nobody, first_aware(nobody))
        aware, oblivious, lone = (one.run("market") for one in sides)
        first = setting.population.specs[0].name
        jobs = Lone(_job(lone, first), _job(oblivious, first))
        return Sides(_side(aware), _side(oblivious), jobs)

    def __str__(self) -> str:
        return f"{self.scenario.name}, batch {self.global_batch or 'of Sailor'}, seed {self.seed}"


class Spreading(msgspec.Struct, frozen=True, kw_only=True):
    """Samples per second with as many GPUs as a host has, spread over `hosts` as evenly as can
    be."""

    model: str
    gpu: str
    global_batch: int | None
    hosts: int
    samples_per_s: float


class Bound(Cell, frozen=True, kw_only=True):
    """The most that placement can be worth: the speed of a host full of GPUs, and of as many GPUs
    in several hosts."""

    result: ClassVar[Any] = list[Spreading]

    models: tuple[str, ...]
    gpus: tuple[str, ...]
    gpus_per_host: int
    global_batches: tuple[int | None, ...]

    def run(self) -> list[Spreading]:
        return [
            self._spread(model, gpu, batch, hosts)
            for batch in self.global_batches
            for model in self.models
            for gpu in self.gpus
            for hosts in range(1, self.gpus_per_host + 1)
        ]

    def _spread(self, model: str, gpu: str, batch: int | None, hosts: int) -> Spreading:
        fewest, more = divmod(self.gpus_per_host, hosts)
        sizes = (fewest + 1,) * more + (fewest,) * (hosts - more)
        speed = _planners(batch).get(model).speed(((gpu, sizes),))
        return Spreading(model=model, gpu=gpu, global_batch=batch, hosts=hosts, samples_per_s=speed)

    def __str__(self) -> str:
        return f"speed of {self.gpus_per_host} GPUs by how they are spread"


@cache
def _planners(global_batch: int | None) -> Planners:
    """They only remember what they have computed: for everything that this process does."""
    return Planners(global_batch)


class AwareSpec(TrainingSpec, frozen=True, kw_only=True):
    """A job that bids by place, whatever the others do."""

    def make(self, scenario: Scenario, site: HostLayout, planners: Planners) -> TrainingWorld:
        return TrainingSpec.make(self, bidding(scenario, by_place=True), site, planners)


def bidding(scenario: Scenario, by_place: bool) -> Scenario:
    return msgspec.structs.replace(
        scenario, training=msgspec.structs.replace(scenario.training, topology_aware=by_place)
    )


def first_aware(setting: Setting) -> Setting:
    """The same jobs, of which the first bids by place."""
    first, *others = setting.population.specs
    other = copy(setting)
    specs = (AwareSpec(**msgspec.structs.asdict(first)), *others)
    other.population = msgspec.structs.replace(setting.population, specs=specs)
    return other


def _side(run: RunResult) -> Side:
    short = msgspec.structs.replace(run, prices=(), leases=())
    return Side(run=short, gpus_per_host=gpus_per_host(run.leases))


def _job(run: RunResult, name: str) -> Job:
    performance = next(tenant.performance for tenant in run.tenants if tenant.tenant == name)
    leases = [lease for lease in run.leases if lease.tenant == name]
    return Job(performance=performance, gpus_per_host=gpus_per_host(leases))


def gpus_per_host(leases: Sequence[Lease]) -> float:
    """GPU-hours over host-hours: a host counts for a job while the job has a GPU there."""
    mine: dict[str, list[Lease]] = defaultdict(list)
    for lease in leases:
        mine[lease.tenant].append(lease)
    spans = [span for theirs in mine.values() for span in _spans(theirs)]
    hosts_us = sum(span_us * hosts for span_us, _, hosts in spans)
    return sum(span_us * gpus for span_us, gpus, _ in spans) / hosts_us if hosts_us else 0.0


def _spans(leases: Sequence[Lease]) -> Iterator[tuple[int, int, int]]:
    """One job's time in pieces: for each its length, and the numbers of GPUs and of hosts."""
    for begin, end in pairwise(sorted({at for lease in leases for at in (lease.start, lease.end)})):
        held = [lease.leaf for lease in leases if lease.start <= begin and end <= lease.end]
        yield end - begin, len(held), len({parent_of(leaf) for leaf in held})
