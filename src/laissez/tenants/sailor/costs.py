"""The costs of the stages of a plan, computed once per profile.

All of it follows from `iteration`; nothing here is a second model. A search asks for the same few
hundred numbers millions of times, and none of them depends on how many GPUs there are.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TypeAlias

import msgspec

from laissez.tenants.sailor.iteration import (
    layer_slices,
    memory_bytes,
    ring_time,
    send_times,
    split_layers,
)
from laissez.tenants.sailor.model import FLOAT_BYTES, Profile

# segments of the slower type, of both and of the faster one
Counts: TypeAlias = tuple[int, int, int]
Side: TypeAlias = tuple[str, int]  # a GPU type and its tp


class Table(msgspec.Struct, frozen=True, gc=False):
    """One GPU type with one tp in every stage: seconds of work, seconds to pass a microbatch on
    inside a host and between hosts, gradient bytes."""

    gpu: str
    tp: int
    work: tuple[float, ...]
    intra: tuple[float, ...]
    inter: tuple[float, ...]
    gradients: tuple[float, ...]
    update: float


class Tables:
    """The tables of one profile, made when first asked for."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.table = cache(self._table)
        self.whole = cache(self._whole)
        self.common_share = cache(self._common_share)
        self.ring = cache(self._ring)

    def _table(self, stages: int, microbatch: int, gpu: str, tp: int) -> Table | None:
        """The table, or `None` where some stage does not fit into memory."""
        profile = self.profile
        kind, sizes = profile.gpus[gpu], profile.sizes[tp]
        times = profile.times[gpu][microbatch][tp]
        parts = layer_slices(split_layers(profile.layers, stages))
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
            intra=tuple(kind.intra.seconds(size) for size in passed),
            inter=tuple(kind.inter_for(tp).seconds(size) for size in passed),
            gradients=tuple(
                sum(size.params for size in sizes[part]) * FLOAT_BYTES for part in parts
            ),
            update=max(times[part.start].update_s for part in parts),
        )

    def _whole(self, microbatch: int, gpu: str, tp: int) -> float:
        """Seconds of work for all layers, whether they fit on one GPU or not."""
        return sum(time.work_s for time in self.profile.times[gpu][microbatch][tp])

    def _common_share(self, microbatch: int, sides: tuple[Side, ...]) -> float:
        """The part of the work that takes the same share of every side's time, up to 1."""
        times = [self.profile.times[gpu][microbatch][tp] for gpu, tp in sides]
        wholes = [self.whole(microbatch, gpu, tp) for gpu, tp in sides]
        share: float = sum(
            min(layer.work_s / whole for layer, whole in zip(row, wholes, strict=True))
            for row in zip(*times, strict=True)
        )
        return share

    def _ring(self, gpu: str, tp: int, size: float, replicas: int) -> float:
        """The all-reduce between hosts, or inside one if `tp` is 0."""
        kind = self.profile.gpus[gpu]
        return ring_time(kind.inter_for(tp) if tp else kind.intra, size, replicas)


class Mix:
    """Segments of `length` stages by the GPU types that they use: first `counts[0]` of the slower
    type, then `counts[1]` of both, then `counts[2]` of the faster one."""

    __slots__ = (
        "_fastest",
        "_tables",
        "batch",
        "counts",
        "length",
        "microbatch",
        "once",
        "present",
        "tables",
        "worst",
    )

    def __init__(
        self, all_tables: Tables, tables: list[Table], microbatch: int, length: int, counts: Counts
    ) -> None:
        self._tables = all_tables
        self.tables, self.microbatch, self.length, self.counts = tables, microbatch, length, counts
        self.batch = all_tables.profile.global_batch / microbatch
        slow, mixed, fast = counts
        self.present = (
            [tables[:1]] * (slow * length)
            + [tables] * (mixed * length)
            + [tables[1:]] * (fast * length)
        )
        work = [
            max([table.work[at] for table in present]) for at, present in enumerate(self.present)
        ]
        sends = send_times([self._boundary(at) for at in range(len(work) - 1)])
        self.worst = max([c + s for c, s in zip(work, sends, strict=True)])  # per microbatch
        self.once = sum(work) + sum(sends) + max([table.update for table in tables])
        self._fastest: tuple[list[tuple[float, int]], list[tuple[float, int]]] = ([], [])

    def fastest(self, replicas_max: int, packed: bool) -> tuple[float, int]:
        """The least time of an iteration with at most that many replicas, and how many it takes."""
        found = self._fastest[packed]
        replicas_max = min(replicas_max, math.ceil(self.batch))
        for replicas in range(len(found) + 1, replicas_max + 1):
            best = found[-1] if found else (math.inf, 0)
            if (
                replicas == self.fewest(replicas)
                and (time_s := self.time(replicas, packed)) <= best[0]
            ):
                best = (time_s, replicas)
            found.append(best)
        return found[replicas_max - 1]

    def fewest(self, replicas: int) -> int:
        """The fewest replicas that need no more microbatches each than `replicas` do."""
        return min(replicas, math.ceil(self.batch / math.ceil(self.batch / replicas)))

    def time(self, replicas: int, packed: bool) -> float:
        """Seconds per iteration."""
        return self.time_before_sync(replicas) + self._sync(replicas, packed)

    def time_before_sync(self, replicas: int) -> float:
        """Seconds per iteration without the all-reduce."""
        return (math.ceil(self.batch / replicas) - 1) * self.worst + self.once

    def _boundary(self, at: int) -> float:
        """Seconds to pass a microbatch on from stage `at`, inside a host or between hosts."""
        if (at + 1) % self.length:
            return max([table.intra[at] for table in self.present[at]])
        return max([table.inter[at] for stage in self.present[at : at + 2] for table in stage])

    def _sync(self, replicas: int, packed: bool) -> float:
        """The slowest stage's all-reduce."""
        if replicas < 2:
            return 0.0
        return max([self._ring(at, replicas, packed) for at in self._heaviest()])

    def _heaviest(self) -> list[int]:
        """The stage with most gradients, and so the slowest, of each mix of types."""
        slow, mixed, fast = (count * self.length for count in self.counts)
        weights = self.tables[0].gradients
        runs = (range(slow), range(slow, slow + mixed), range(slow + mixed, slow + mixed + fast))
        return [max(run, key=weights.__getitem__) for run in runs if run]

    def _ring(self, at: int, replicas: int, packed: bool) -> float:
        present = self.present[at]
        # the smallest tp holds the largest part
        size = max([table.gradients[at] for table in present])
        return max(
            [
                self._tables.ring(table.gpu, 0 if packed else table.tp, size, replicas)
                for table in present
            ]
        )
