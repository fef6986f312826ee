"""What the planner looks up over and over, computed once per profile: each stage's times for a
number of stages, a microbatch, a GPU type and a tp.

All of it follows from `iteration`; nothing here is a second model. The search asks for the same few
hundred numbers millions of times.
"""

from __future__ import annotations

import msgspec

from laissez.tenants.sailor.iteration import memory_bytes, ring_time, split_layers
from laissez.tenants.sailor.model import FLOAT_BYTES, Profile


class Table(msgspec.Struct, frozen=True, gc=False):
    """One GPU type with one tp in every stage: seconds of work, seconds to pass a microbatch on
    inside a host and between hosts, gradient bytes."""

    gpu: str
    tp: int
    work: tuple[float, ...]
    near: tuple[float, ...]
    far: tuple[float, ...]
    gradients: tuple[float, ...]
    update: float


class Tables:
    """The tables of one profile, made when first asked for."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._tables: dict[tuple[int, int, str, int], Table | None] = {}
        self._rings: dict[tuple[str, int, float, int], float] = {}
        self._wholes: dict[tuple[int, str, int], float] = {}
        self._shares: dict[tuple[int, tuple[tuple[str, int], ...]], float] = {}

    def table(self, stages: int, microbatch: int, gpu: str, tp: int) -> Table | None:
        """The table, or `None` where some stage does not fit into memory."""
        key = (stages, microbatch, gpu, tp)
        if key not in self._tables:
            self._tables[key] = self._make(stages, microbatch, gpu, tp)
        return self._tables[key]

    def whole(self, microbatch: int, gpu: str, tp: int) -> float:
        """Seconds of work for all layers, whether they fit on one GPU or not."""
        key = (microbatch, gpu, tp)
        if key not in self._wholes:
            self._wholes[key] = sum(time.work_s for time in self.profile.times[gpu][microbatch][tp])
        return self._wholes[key]

    def common_share(self, microbatch: int, sides: tuple[tuple[str, int], ...]) -> float:
        """How much of the work can be counted as the same share on every one of `sides`: 1 if each
        layer takes the same share of each's time."""
        key = (microbatch, sides)
        if key not in self._shares:
            times = [self.profile.times[gpu][microbatch][tp] for gpu, tp in sides]
            wholes = [self.whole(microbatch, gpu, tp) for gpu, tp in sides]
            self._shares[key] = sum(
                min(layer.work_s / whole for layer, whole in zip(row, wholes, strict=True))
                for row in zip(*times, strict=True)
            )
        return self._shares[key]

    def ring(self, gpu: str, tp: int, size: float, replicas: int) -> float:
        """The all-reduce between hosts, or inside one where `tp` is 0."""
        key = (gpu, tp, size, replicas)
        if key not in self._rings:
            kind = self.profile.gpus[gpu]
            self._rings[key] = ring_time(kind.far(tp) if tp else kind.intra, size, replicas)
        return self._rings[key]

    def _make(self, stages: int, microbatch: int, gpu: str, tp: int) -> Table | None:
        profile = self.profile
        kind, sizes, times = (
            profile.gpus[gpu],
            profile.sizes[tp],
            profile.times[gpu][microbatch][tp],
        )
        parts, first = [], 0
        for layers in split_layers(profile.layers, stages):
            parts.append(slice(first, first + layers))
            first += layers
        if any(
            memory_bytes(profile, tp, microbatch, stages, at, part) > kind.memory_bytes
            for at, part in enumerate(parts)
        ):
            return None
        passed = [sizes[part.stop - 1].output * FLOAT_BYTES * microbatch for part in parts[:-1]]
        return Table(
            gpu=gpu,
            tp=tp,
            work=tuple(sum(time.work_s for time in times[part]) for part in parts),
            near=tuple(kind.intra.seconds(size) for size in passed),
            far=tuple(kind.far(tp).seconds(size) for size in passed),
            gradients=tuple(
                sum(size.params for size in sizes[part]) * FLOAT_BYTES for part in parts
            ),
            update=max(times[part.start].update_s for part in parts),
        )
