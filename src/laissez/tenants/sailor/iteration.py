"""The time of one training iteration under a plan, and the memory that the plan needs: Sailor's
model (`runtime_simulator.py`).

A plan cuts the layers into P consecutive stages and runs D replicas of each. A replica is a group
of tp GPUs of one host that share every layer. A global batch is N = ceil(batch / (microbatch x D))
microbatches per replica, which pass through the stages like a pipeline:

    C_i    = the slowest replica's forward and backward of stage i
    S_i    = what stage i sends: activations on, gradients back
    T_pp   = (N - 1) x max(C_i + S_i) + sum S_i + sum C_i + update
    T_sync = the slowest stage's all-reduce of gradients: rings over D replicas in buckets of 5e8
             bytes, 2 (D - 1) messages of bucket / D each
    T_iter = T_pp + T_sync

Sailor takes the bandwidth between hosts for every message. Here two groups in one host use the link
inside it, which is why placement matters. Where every group is a host of its own, as in all that
Sailor measured, the two are the same. A GPU gets its part of what the tp GPUs of its group reach
together between hosts: against Sailor's 26 usable measured iterations this is off by 3.6 %
(median).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import Any, Final, TypeAlias

import msgspec

from laissez.tenants.sailor.model import FLOAT_BYTES, Curve, LayerTime, Profile, SailorError

Layers: TypeAlias = "slice[int, int, Any]"

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
    """Consecutive layers and their groups. Replica r hands on to replica r of the next stage."""

    layers: int
    replicas: tuple[Group, ...]


class Plan(msgspec.Struct, frozen=True):
    """The GPUs of every layer. `unused` GPUs would not help."""

    microbatch: int
    stages: tuple[Stage, ...]
    unused: tuple[str, ...] = ()

    @property
    def replicas(self) -> int:
        return len(self.stages[0].replicas)

    @property
    def slices(self) -> list[Layers]:
        """The layers of each stage."""
        return layer_slices(stage.layers for stage in self.stages)


def split_layers(layers: int, stages: int) -> tuple[int, ...]:
    """Layers per stage, the extra ones in the last stages: 26 in 4 is 6, 6, 7, 7."""
    each, extra = divmod(layers, stages)
    return tuple(each + (stage >= stages - extra) for stage in range(stages))


def layer_slices(counts: Iterable[int]) -> list[Layers]:
    return [slice(first, last) for first, last in pairwise(accumulate(counts, initial=0))]


def iteration_time(profile: Profile, plan: Plan) -> float:
    """Seconds per iteration, that is per global batch."""
    check_plan(profile, plan)
    count = math.ceil(profile.global_batch / (plan.microbatch * plan.replicas))
    stages = list(zip(plan.stages, plan.slices, strict=True))
    work = [
        max(
            sum(time.work_s for time in _times(profile, plan, group)[layers])
            for group in stage.replicas
        )
        for stage, layers in stages
    ]
    sends = send_times(
        [_boundary(profile, plan, at, layers.stop) for at, (_, layers) in enumerate(stages[:-1])]
    )
    update = max(
        _times(profile, plan, group)[layers.start].update_s
        for stage, layers in stages
        for group in stage.replicas
    )
    sync = max(_sync(profile, stage, layers) for stage, layers in stages)
    worst = max(c + s for c, s in zip(work, sends, strict=True))
    return (count - 1) * worst + sum(sends) + sum(work) + update + sync


def send_times(boundaries: list[float]) -> list[float]:
    """S_i from the time of one message over each boundary between stages, as Sailor counts."""
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
    """The memory that a GPU of stage `at` needs: the optimizer's state, activations of the
    microbatches under way, and the framework."""
    sizes = profile.sizes[tp][layers]
    state = sum(size.params for size in sizes) * ADAM_BYTES
    activations = sum(size.activations for size in sizes) * FLOAT_BYTES * microbatch * (stages - at)
    return state + activations + RUNTIME_BYTES.get(tp, RUNTIME_BYTES_SHARED)


def check_plan(profile: Profile, plan: Plan) -> None:
    """Refuse a plan that its profile cannot time."""
    layers = [stage.layers for stage in plan.stages]
    if not layers or sum(layers) != profile.layers:
        raise SailorError(
            f"expected stages for the {profile.layers} layers of {profile.model}, found {layers}"
        )
    replicas = [len(stage.replicas) for stage in plan.stages]
    if plan.replicas < 1 or len(set(replicas)) > 1:
        raise SailorError(f"expected as many replicas in every stage, found {replicas}")
    for stage in plan.stages:
        for group in stage.replicas:
            if group.tp not in profile.times.get(group.gpu, {}).get(plan.microbatch, {}):
                raise SailorError(
                    f"expected a profiled GPU type, microbatch and tp, found {group.gpu},"
                    f" {plan.microbatch}, {group.tp} for {profile.model}"
                )


def _times(profile: Profile, plan: Plan, group: Group) -> tuple[LayerTime, ...]:
    return profile.times[group.gpu][plan.microbatch][group.tp]


def _boundary(profile: Profile, plan: Plan, at: int, after: int) -> float:
    """The slowest replica's time to send the activations of one microbatch from stage `at` on."""
    here, there = plan.stages[at].replicas, plan.stages[at + 1].replicas
    size = profile.sizes[here[0].tp][after - 1].output * FLOAT_BYTES * plan.microbatch
    return max(_link_time(profile, size, a, b) for a, b in zip(here, there, strict=True))


def _link_time(profile: Profile, size: float, a: Group, b: Group) -> float:
    if a.host == b.host:
        return profile.gpus[a.gpu].intra.seconds(size)
    return max(profile.gpus[group.gpu].inter_for(group.tp).seconds(size) for group in (a, b))


def _sync(profile: Profile, stage: Stage, layers: slice) -> float:
    """The all-reduce of a stage's gradients. One link between hosts anywhere in the ring makes the
    whole ring as slow as that link."""
    tp = min(group.tp for group in stage.replicas)
    size = sum(layer.params for layer in profile.sizes[tp][layers]) * FLOAT_BYTES
    if len({group.host for group in stage.replicas}) == 1:
        return ring_time(profile.gpus[stage.replicas[0].gpu].intra, size, len(stage.replicas))
    return max(
        ring_time(profile.gpus[gpu].inter_for(tp), size, len(stage.replicas))
        for gpu, tp in {(group.gpu, group.tp) for group in stage.replicas}
    )
