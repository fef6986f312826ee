"""The candidates that the planner searches, made once per profile: they do not depend on the number
of GPUs.

A candidate is a microbatch and one GPU type with its tp, or two. Its segmentations are the ways to
cut the layers into segments, each with the mixes of the two types over them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations, product
from typing import Final

from laissez.tenants.sailor.costs import Counts, Mix, Side, Tables

STAGES: Final = range(1, 9)


class Segmentation:
    """Layers in `segments` of equal length. `slower` and `faster` are the types, each with the GPUs
    that one replica of a segment takes.

    None of the mixes takes less than `worst` per microbatch and `once` per iteration.
    """

    __slots__ = ("batch", "faster", "mixes", "once", "segments", "slower", "worst")

    def __init__(self, segments: int, mixes: list[Mix]) -> None:
        self.segments, self.mixes = segments, mixes
        one = mixes[0]
        self.slower, self.faster = (
            (table.gpu, table.tp * one.length) for table in (one.tables[0], one.tables[-1])
        )
        self.batch = one.batch
        self.worst = min(mix.worst for mix in mixes)
        self.once = min(mix.once for mix in mixes)


class Candidate:
    def __init__(self, tables: Tables, microbatch: int, sides: tuple[Side, ...]) -> None:
        self._tables = tables
        self.microbatch, self.sides = microbatch, sides
        self.types = frozenset(gpu for gpu, _ in sides)
        self.work = (
            tables.profile.global_batch / microbatch * tables.common_share(microbatch, sides)
        )
        self.wholes = tuple(tables.whole(microbatch, gpu, tp) for gpu, tp in sides)

    @cached_property
    def segmentations(self) -> Sequence[Segmentation]:
        """The segmentations that fit into memory."""
        layers = self._tables.profile.layers
        return [one for stages in STAGES if stages <= layers for one in self._segmented(stages)]

    def _segmented(self, stages: int) -> Iterator[Segmentation]:
        tables = [
            table
            for gpu, tp in self.sides
            if (table := self._tables.table(stages, self.microbatch, gpu, tp)) is not None
        ]
        if len(tables) < len(self.sides):
            return
        tables.sort(key=lambda table: -sum(table.work))
        for length in range(1, stages + 1):
            if stages % length == 0:
                segments = stages // length
                counts = [(segments, 0, 0)] if len(tables) == 1 else _counts(segments)
                yield Segmentation(
                    segments,
                    [Mix(self._tables, tables, self.microbatch, length, each) for each in counts],
                )


def singles(tables: Tables) -> list[Candidate]:
    times = tables.profile.times
    return [
        Candidate(tables, microbatch, ((gpu, tp),))
        for gpu in sorted(times)
        for microbatch, tps in times[gpu].items()
        for tp in tps
    ]


def pairs(tables: Tables) -> list[Candidate]:
    times = tables.profile.times
    return [
        Candidate(tables, microbatch, ((a, x), (b, y)))
        for a, b in combinations(sorted(times), 2)
        for microbatch in sorted(times[a].keys() & times[b].keys())
        for x, y in product(times[a][microbatch], times[b][microbatch])
    ]


def _counts(segments: int) -> Iterator[Counts]:
    """All mixes of slow, mixed and fast segments, with at most one mixed unless all are."""
    yield 0, segments, 0
    for mixed in range(min(2, segments)):
        for slow in range(segments - mixed + 1):
            if mixed or 0 < slow < segments:
                yield slow, mixed, segments - mixed - slow
