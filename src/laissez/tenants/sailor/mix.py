"""What a plan costs, given only which GPU types its segments use: the numbers of `iteration` without naming a single GPU."""

from __future__ import annotations

from laissez.tenants.sailor.iteration import send_times
from laissez.tenants.sailor.tables import Table, Tables


class Mix:
    """Segments of `length` stages: first `counts[0]` of the slower type, then `counts[1]` of both, then `counts[2]` of the faster one."""

    __slots__ = ("counts", "length", "microbatch", "once", "present", "tables", "worst")

    def __init__(self, tables: list[Table], microbatch: int, length: int, counts: tuple[int, int, int]) -> None:
        self.tables = tables
        self.microbatch = microbatch
        self.length = length
        self.counts = counts
        slow, mixed, fast = counts
        self.present = [tables[:1]] * (slow * length) + [tables] * (mixed * length) + [tables[1:]] * (fast * length)
        work = [max([table.work[at] for table in present]) for at, present in enumerate(self.present)]
        sends = send_times([self._boundary(at) for at in range(len(work) - 1)])
        self.worst = max([c + s for c, s in zip(work, sends, strict=True)])  # per microbatch
        self.once = sum(work) + sum(sends) + max([table.update for table in tables])

    def _boundary(self, at: int) -> float:
        """Seconds to pass a microbatch on from stage `at`: inside a host within a segment, else between hosts."""
        if (at + 1) % self.length:
            return max([table.near[at] for table in self.present[at]])
        return max([table.far[at] for stage in self.present[at : at + 2] for table in stage])

    def sync(self, tables: Tables, replicas: int, packed: bool) -> float:
        """The slowest stage's all-reduce."""
        if replicas < 2:
            return 0.0
        return max(self._ring(tables, at, replicas, packed) for at in self._heaviest())

    def _heaviest(self) -> list[int]:
        """The stage with most gradients among those of the same types: no other of them can be slower."""
        slow, mixed, fast = (count * self.length for count in self.counts)
        weights = self.tables[0].gradients
        runs = (range(slow), range(slow, slow + mixed), range(slow + mixed, slow + mixed + fast))
        return [max(run, key=weights.__getitem__) for run in runs if run]

    def _ring(self, tables: Tables, at: int, replicas: int, packed: bool) -> float:
        present = self.present[at]
        size = max([table.gradients[at] for table in present])  # the smallest tp holds the largest part
        return max([tables.ring(table.gpu, 0 if packed else table.tp, size, replicas) for table in present])
