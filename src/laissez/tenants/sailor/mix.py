"""What a plan costs, given only which GPU types its segments use: the numbers of `iteration`
without naming a single GPU.

None of it depends on how many GPUs there are, so a planner makes each mix once and keeps it.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from laissez.tenants.sailor.iteration import send_times
from laissez.tenants.sailor.tables import Table, Tables

# segments of the slower type, of both and of the faster one
Counts: TypeAlias = tuple[int, int, int]


class Mix:
    """Segments of `length` stages: first `counts[0]` of the slower type, then `counts[1]` of both,
    then `counts[2]` of the faster one."""

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
        self.tables = tables
        self.microbatch = microbatch
        self.length = length
        self.counts = counts
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
        """The fewest replicas that need as many microbatches each as so many do."""
        return min(replicas, math.ceil(self.batch / math.ceil(self.batch / replicas)))

    def time(self, replicas: int, packed: bool) -> float:
        """Seconds per iteration."""
        return self.least(replicas) + self._sync(replicas, packed)

    def least(self, replicas: int) -> float:
        """The same, but for the all-reduce."""
        return (math.ceil(self.batch / replicas) - 1) * self.worst + self.once

    def _boundary(self, at: int) -> float:
        """Seconds to pass a microbatch on from stage `at`: inside a host within a segment, else
        between hosts."""
        if (at + 1) % self.length:
            return max([table.near[at] for table in self.present[at]])
        return max([table.far[at] for stage in self.present[at : at + 2] for table in stage])

    def _sync(self, replicas: int, packed: bool) -> float:
        """The slowest stage's all-reduce."""
        if replicas < 2:
            return 0.0
        return max([self._ring(at, replicas, packed) for at in self._heaviest()])

    def _heaviest(self) -> list[int]:
        """The stage with most gradients among those of the same types: no other of them can be
        slower."""
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
