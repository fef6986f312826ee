"""One search for the best shape over hosts of given sizes: `planner` says what is searched, and why
that is enough."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from laissez.tenants.sailor.courses import Course, Side
from laissez.tenants.sailor.mix import Mix
from laissez.tenants.sailor.placing import Shape, slots_used


class Search:
    """`sizes` are GPUs per host by type; one replica of a segment takes up to `reach`.

    With `prices` the score that is to be least is what an iteration costs, else how long it takes.
    """

    def __init__(
        self, sizes: Mapping[str, Sequence[int]], prices: Mapping[str, float] | None, reach: int
    ) -> None:
        self.prices = prices
        self.score = math.inf
        self.found: tuple[Mix, int, bool] | None = None
        self._slots = {gpu: _slots(each, reach) for gpu, each in sizes.items() if any(each)}

    def best(self, *choices: Sequence[Course]) -> Shape | None:
        """The first choices are looked at first: what they give spares looking at most of the
        others."""
        for courses in choices:
            able = [course for course in courses if course.types <= self._slots.keys()]
            for bound, _, _, course in sorted(
                [(self._bound(course), course.microbatch, course.sides, course) for course in able],
                key=_in_order,
            ):
                if bound >= self.score:
                    break
                self._try_course(course)
        return self._shape()

    def _bound(self, course: Course) -> float:
        """What no plan of a course can score below: every GPU busy all the time, or the cheapest
        one for every layer."""
        if self.prices is not None:
            return course.work * min(
                whole * tp * self.prices[gpu]
                for (gpu, tp), whole in zip(course.sides, course.wholes, strict=True)
            )
        rate = sum(
            [
                self._slots[gpu][tp] / whole
                for (gpu, tp), whole in zip(course.sides, course.wholes, strict=True)
            ]
        )
        return course.work / rate if rate else math.inf

    def _try_course(self, course: Course) -> None:
        """Nearly all groups can be told to be too slow from how many replicas there is room for, so
        that is done here and not in a call."""
        slots, alone = self._slots, len(course.sides) == 1
        for group in course.groups:
            (gpu, gpus), (other, others) = group.slower, group.faster
            slower, faster = slots[gpu][gpus], 0 if alone else slots[other][others]
            most = (slower + faster) // group.segments
            if most and (
                self.prices is not None
                or (math.ceil(group.batch / most) - 1) * group.worst + group.once < self.score
            ):
                for mix in group.mixes:
                    slow, _, fast = mix.counts
                    replicas = min(
                        most, slower // slow if slow else most, faster // fast if fast else most
                    )
                    if replicas:
                        self._try_mix(mix, replicas)

    def _try_mix(self, mix: Mix, replicas: int) -> None:
        if self.prices is None and mix.least(replicas) >= self.score:
            return
        self._try_replicas(mix, replicas, packed=False)
        if mix.counts[1] == 0:
            together = self._together(mix, replicas)
            if together > 1:
                self._try_replicas(mix, together, packed=True)

    def _together(self, mix: Mix, replicas: int) -> int:
        """The most replicas of which all that have one segment find room in one host."""
        sides = zip(mix.tables, (mix.counts[0], mix.counts[2]), strict=False)
        needed = [
            (self._slots[table.gpu], table.tp * mix.length, count)
            for table, count in sides
            if count
        ]
        replicas = min([replicas, *((len(slots) - 1) // gpus for slots, gpus, _ in needed)])
        while replicas > 1 and any(
            [slots[gpus * replicas] < count for slots, gpus, count in needed]
        ):
            replicas -= 1
        return replicas

    def _try_replicas(self, mix: Mix, replicas: int, packed: bool) -> None:
        """As many replicas as are best, of at most so many."""
        if self.prices is None:
            score, replicas = mix.fastest(replicas, packed)
            self._weigh(score, mix, replicas, packed)
            return
        while replicas >= 1:
            replicas = mix.fewest(replicas)
            self._weigh(
                mix.time(replicas, packed) * self._rate(mix, replicas, packed),
                mix,
                replicas,
                packed,
            )
            replicas -= 1

    def _weigh(self, score: float, mix: Mix, replicas: int, packed: bool) -> None:
        if score < self.score:
            self.score, self.found = score, (mix, replicas, packed)

    def _rate(self, mix: Mix, replicas: int, packed: bool) -> float:
        """Dollars per hour of the GPUs that a plan uses."""
        assert self.prices is not None
        slower = self._slots[mix.tables[0].gpu][mix.tables[0].tp * mix.length]
        costs = [mix.length * table.tp * self.prices[table.gpu] for table in mix.tables]
        return sum(
            used * cost
            for used, cost in zip(
                slots_used(_shape(mix, replicas, packed), slower), costs, strict=False
            )
        )

    def _shape(self) -> Shape | None:
        return None if self.found is None else _shape(*self.found)


def _slots(sizes: Sequence[int], reach: int) -> list[int]:
    """By a number of GPUs, up to `reach` or the largest host, how many times that many fit, each
    time into one host."""
    fit = [0, *(sum([size // gpus for size in sizes]) for gpus in range(1, max(sizes) + 1))]
    return fit + [0] * (reach + 1 - len(fit))


def _in_order(
    entry: tuple[float, int, tuple[Side, ...], Course],
) -> tuple[float, int, tuple[Side, ...]]:
    return entry[:3]


def _shape(mix: Mix, replicas: int, packed: bool) -> Shape:
    return Shape(
        mix.microbatch,
        mix.length,
        mix.counts,
        replicas,
        tuple((table.gpu, table.tp) for table in mix.tables),
        packed,
    )
