"""The performance of jobs that bid by place over that of jobs that do not, and the gain that is
possible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

import msgspec

from laissez.sim.statistics import Bootstrap, Estimate
from laissez_experiments.topology.run import Side, Sides, Spreading


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """All seeds with one batch: topology-aware over oblivious."""

    global_batch: int | None
    seeds: Sequence[Sides]
    performance: Estimate
    gpus_per_host: Estimate
    lone: Estimate | None  # performance of the one job that alone bids by place
    bound: float  # speed of a full host over that of its GPUs spread, one to a host
    hosts: int  # that jobs use for as many GPUs if they do not bid by place
    usual_bound: float  # speed of a full host over that of its GPUs spread over those

    @property
    def name(self) -> str:
        return (
            "Sailor's batches" if self.global_batch is None else f"batches of {self.global_batch}"
        )

    def sides(self, is_aware: bool) -> list[Side]:
        return [one.aware if is_aware else one.oblivious for one in self.seeds]

    def mean(self, field: str, is_aware: bool) -> float:
        """The mean of a side's figure over seeds."""
        return fmean(getattr(side, field) for side in self.sides(is_aware))


def ratio_of(
    global_batch: int | None, seeds: Sequence[Sides], speeds: Sequence[Spreading]
) -> Ratio:
    performance = _times(
        [sides.aware.performance for sides in seeds],
        [sides.oblivious.performance for sides in seeds],
    )
    spread = [sides.oblivious.gpus_per_host for sides in seeds]
    together = _times([sides.aware.gpus_per_host for sides in seeds], spread)
    assert performance is not None and together is not None, "jobs on a market get something done"
    most = max(one.hosts for one in speeds)
    hosts = math.ceil(most / fmean(spread))
    bound, usual_bound = (
        max(gain for one, gain in gains(speeds, over) if one.global_batch == global_batch)
        for over in (most, hosts)
    )
    return Ratio(
        global_batch=global_batch,
        seeds=seeds,
        performance=performance,
        gpus_per_host=together,
        lone=_times(
            [sides.lone.aware.performance for sides in seeds],
            [sides.lone.oblivious.performance for sides in seeds],
        ),
        bound=bound,
        hosts=hosts,
        usual_bound=usual_bound,
    )


def _times(ours: Sequence[float], theirs: Sequence[float]) -> Estimate | None:
    """Our mean over theirs, seed by seed: how far ours is on the way from nothing to theirs. None
    if theirs is nothing, in whatever draw."""
    return Bootstrap(len(ours)).part_of_the_way(ours, [0.0] * len(ours), theirs)


def gains(speeds: Sequence[Spreading], hosts: int) -> list[tuple[Spreading, float]]:
    """For each model, type and batch, its GPUs spread over that number of hosts, and their speed in
    one host over that."""
    whole = {
        (one.model, one.gpu, one.global_batch): one.samples_per_s
        for one in speeds
        if one.hosts == 1
    }
    return [
        (one, whole[one.model, one.gpu, one.global_batch] / one.samples_per_s)
        for one in speeds
        if one.hosts == hosts
    ]
