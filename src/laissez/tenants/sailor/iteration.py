"""How long one iteration of training takes under a plan, and whether the plan fits into memory:
Sailor's model (`runtime_simulator.py`).

A plan cuts the layers into P consecutive stages and runs D replicas of each; a replica is a group
of tp GPUs of one host that share every layer. A global batch is N = ceil(batch / (microbatch x D))
microbatches per replica, and passes through the stages like a pipeline:

C_i = the slowest replica's forward and backward of stage i S_i = what stage i sends: activations
on, gradients back T_pp = (N - 1) x max(C_i + S_i) + sum S_i + sum C_i + update T_sync = the slowest
stage's all-reduce of gradients: rings over D replicas in buckets of 5e8 bytes, 2 (D - 1) messages
of bucket / D each T_iter = T_pp + T_sync

Sailor takes the bandwidth between hosts for every message. Here two groups in one host use the link
inside it, which is why it matters where GPUs are. Where every group is a host of its own, as in all
that Sailor measured, the two are the same. A GPU is taken to get its part of what the tp GPUs of
its group reach together between hosts: against Sailor's 26 usable measured iterations this is off
by 3.6 % (median).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Final

import msgspec

from laissez.tenants.sailor.errors import PlanError
from laissez.tenants.sailor.model import FLOAT_BYTES, Curve, LayerTime, Profile

BUCKET_BYTES: Final = 5e8
ADAM_BYTES: Final = 24  # per parameter: weight, gradient, two moments and copies
RUNTIME_BYTES: Final = {1: 2e9}  # what the framework itself needs
RUNTIME_BYTES_SHARED: Final = 3e9  # and with tp > 1


class Group(msgspec.Struct, frozen=True):
    """GPUs of one host that share the layers of a stage."""

    gpu: str
    host: str
    leaves: tuple[str, ...]

    @property
    def tp(self) -> int:
        return len(self.leaves)


class Stage(msgspec.Struct, frozen=True):
    """Consecutive layers and the groups that each run all of them; replica r hands on to replica r
    of the next stage."""

    layers: int
    replicas: tuple[Group, ...]


class Plan(msgspec.Struct, frozen=True):
    """Who runs what. `unused` are GPUs that were there and do not help."""

    microbatch: int
    stages: tuple[Stage, ...]
    unused: tuple[str, ...] = ()

    @property
    def replicas(self) -> int:
        return len(self.stages[0].replicas)


def split_layers(layers: int, stages: int) -> tuple[int, ...]:
    """Layers per stage, the extra ones in the last stages: 26 in 4 is 6, 6, 7, 7."""
    each, extra = divmod(layers, stages)
    return tuple(each + (stage >= stages - extra) for stage in range(stages))


def iteration_time(profile: Profile, plan: Plan) -> float:
    """Seconds per iteration, that is per global batch."""
    check_plan(profile, plan)
    count = math.ceil(profile.global_batch / (plan.microbatch * plan.replicas))
    firsts = first_layers(plan)
    work = [
        max(_work(profile, plan, group, stage.layers, first) for group in stage.replicas)
        for stage, first in zip(plan.stages, firsts, strict=True)
    ]
    sends = send_times(
        [_boundary(profile, plan, at, firsts[at + 1]) for at in range(len(plan.stages) - 1)]
    )
    update = max(
        _times(profile, plan, group)[first].update_s
        for stage, first in zip(plan.stages, firsts, strict=True)
        for group in stage.replicas
    )
    sync = max(
        _sync(profile, stage, first) for stage, first in zip(plan.stages, firsts, strict=True)
    )
    worst = max(c + s for c, s in zip(work, sends, strict=True))
    return (count - 1) * worst + sum(sends) + sum(work) + update + sync


def samples_per_second(profile: Profile, plan: Plan) -> float:
    return profile.global_batch / iteration_time(profile, plan)


def send_times(boundaries: list[float]) -> list[float]:
    """S_i from what one message takes over each boundary between stages, as Sailor counts them."""
    if not boundaries:
        return [0.0]
    first = boundaries[0] if len(boundaries) < 3 else 2 * boundaries[0]
    middle = [before + after for before, after in pairwise(boundaries)]
    return [first, *middle, 2 * boundaries[-1]]


def ring_time(curve: Curve, size: float, replicas: int) -> float:
    """The bucketed ring all-reduce of `size` bytes over `replicas`."""
    if replicas < 2:
        return 0.0
    full, rest = divmod(size, BUCKET_BYTES)
    messages = 2 * (replicas - 1)
    return messages * (
        full * curve.seconds(BUCKET_BYTES / replicas) + curve.seconds(rest / replicas)
    )


def memory_bytes(
    profile: Profile, tp: int, microbatch: int, stages: int, at: int, layers: slice
) -> float:
    """What a GPU of stage `at` needs: the optimizer's state, activations of the microbatches under
    way, and the framework."""
    sizes = profile.sizes[tp][layers]
    state = sum(size.params for size in sizes) * ADAM_BYTES
    activations = sum(size.activations for size in sizes) * FLOAT_BYTES * microbatch * (stages - at)
    return state + activations + RUNTIME_BYTES.get(tp, RUNTIME_BYTES_SHARED)


def fits(profile: Profile, plan: Plan) -> bool:
    """Whether every GPU has the memory for its part."""
    for at, (stage, first) in enumerate(zip(plan.stages, first_layers(plan), strict=True)):
        for group in stage.replicas:
            needed = memory_bytes(
                profile,
                group.tp,
                plan.microbatch,
                len(plan.stages),
                at,
                slice(first, first + stage.layers),
            )
            if needed > profile.gpus[group.gpu].memory_bytes:
                return False
    return True


def first_layers(plan: Plan) -> list[int]:
    firsts = [0]
    for stage in plan.stages:
        firsts.append(firsts[-1] + stage.layers)
    return firsts[:-1]


def check_plan(profile: Profile, plan: Plan) -> None:
    """Refuses a plan that its profile cannot time."""
    if not plan.stages or sum(stage.layers for stage in plan.stages) != profile.layers:
        raise PlanError(
            f"expected stages for the {profile.layers} layers of {profile.model}, found"
            f" {[stage.layers for stage in plan.stages]}"
        )
    if plan.replicas < 1 or any(len(stage.replicas) != plan.replicas for stage in plan.stages):
        raise PlanError(
            "expected as many replicas in every stage, found"
            f" {[len(stage.replicas) for stage in plan.stages]}"
        )
    for stage in plan.stages:
        for group in stage.replicas:
            if group.tp not in profile.times.get(group.gpu, {}).get(plan.microbatch, {}):
                raise PlanError(
                    f"expected a profiled GPU type, microbatch and tp, found {group.gpu},"
                    f" {plan.microbatch}, {group.tp} for {profile.model}"
                )


def _times(profile: Profile, plan: Plan, group: Group) -> tuple[LayerTime, ...]:
    return profile.times[group.gpu][plan.microbatch][group.tp]


def _work(profile: Profile, plan: Plan, group: Group, layers: int, first: int) -> float:
    return sum(time.work_s for time in _times(profile, plan, group)[first : first + layers])


def _boundary(profile: Profile, plan: Plan, at: int, after: int) -> float:
    """The slowest replica's time to send the activations of one microbatch from stage `at` on."""
    here, there = plan.stages[at].replicas, plan.stages[at + 1].replicas
    size = profile.sizes[here[0].tp][after - 1].output * FLOAT_BYTES * plan.microbatch
    return max(_link_time(profile, size, a, b) for a, b in zip(here, there, strict=True))


def _link_time(profile: Profile, size: float, a: Group, b: Group) -> float:
    if a.host == b.host:
        return profile.gpus[a.gpu].intra.seconds(size)
    return max(profile.gpus[group.gpu].far(group.tp).seconds(size) for group in (a, b))


def _sync(profile: Profile, stage: Stage, first: int) -> float:
    """The all-reduce of a stage's gradients. One link between hosts anywhere in the ring makes the
    whole ring as slow as that."""
    tp = min(group.tp for group in stage.replicas)
    size = (
        sum(layer.params for layer in profile.sizes[tp][first : first + stage.layers]) * FLOAT_BYTES
    )
    if len({group.host for group in stage.replicas}) == 1:
        return ring_time(profile.gpus[stage.replicas[0].gpu].intra, size, len(stage.replicas))
    return max(
        ring_time(profile.gpus[gpu].far(tp), size, len(stage.replicas))
        for gpu, tp in {(group.gpu, group.tp) for group in stage.replicas}
    )
