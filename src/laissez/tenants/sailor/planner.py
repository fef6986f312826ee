"""The best plan for a set of GPUs: how many stages and replicas, which microbatch and tp, and what sits in which host.

Search space. A plan uses one GPU type or two, each with one tp; tp stays inside a host. The layers are split evenly into 1 to 8 stages. The stages
form segments of equal length, and each replica of a segment sits in one host, so what passes inside a segment stays inside hosts. Either nothing
more is asked of the replicas (their all-reduce crosses hosts), or all replicas of a segment share one host ("packed": the all-reduce stays inside
too). Of two types, the replicas of all segments mix both, or the slower type has the first segments and the faster one the last, with at most one
mixed segment between them. Sailor's planner picks tp by a rule of thumb and tries every mix of types in every stage; here tp is searched.

Search. What a plan costs depends only on how many segments are slow, mixed and fast, and on D. A plan exists for such a choice exactly when there
are enough slots (places for one replica of a segment) of each type and together, so D is found by division, not by trying. Combinations of
microbatch and tp are visited in the order of a bound that no plan can beat: all GPUs always busy, nothing ever sent. The first one whose bound is
worse than the best plan so far ends the search. Hosts of equal size are interchangeable, so the answer depends on the sizes alone and is remembered
by them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Final, TypeAlias

from laissez.tenants.sailor.errors import SailorError
from laissez.tenants.sailor.iteration import Plan, iteration_time
from laissez.tenants.sailor.memo import Memo
from laissez.tenants.sailor.mix import Mix
from laissez.tenants.sailor.model import Profile, positive
from laissez.tenants.sailor.placing import Hosts, Shape, place, slots_used
from laissez.tenants.sailor.tables import Table, Tables

STAGES: Final = range(1, 9)
REMEMBERED_MAX: Final = 20_000

HostSizes: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]  # GPUs per host by type, largest first
Side: TypeAlias = tuple[str, int]  # a GPU type and its tp


class Planner:
    """Plans for one profile. With `prices` (dollars per hour by GPU type) the plan that trains most per dollar, else the fastest.

    It may be shared by many jobs: it answers the same whoever asks.
    """

    def __init__(self, profile: Profile, prices: Mapping[str, float] | None = None, remembered_max: int = REMEMBERED_MAX) -> None:
        self.profile = profile
        self.prices = None if prices is None else _checked(prices, profile)
        self.tables = Tables(profile)
        self._remembered: Memo[HostSizes, tuple[Shape, float] | None] = Memo(remembered_max)

    def speed(self, sizes: HostSizes) -> float:
        """Samples per second of the best plan; 0 where there is none."""
        found = self._best(sizes)
        return 0.0 if found is None else found[1]

    def plan(self, hosts: Hosts) -> Plan | None:
        """The best plan over the leaves of `hosts`, or `None` where they cannot train the model at all."""
        found = self._best(host_sizes(hosts))
        return None if found is None else place(self.profile, found[0], hosts)

    def _best(self, sizes: HostSizes) -> tuple[Shape, float] | None:
        return self._remembered.get(sizes, lambda: self._search(sizes))

    def _search(self, sizes: HostSizes) -> tuple[Shape, float] | None:
        shape = _Search(self, dict(sizes)).best()
        return None if shape is None else (shape, self._placed_speed(shape, sizes))

    def _placed_speed(self, shape: Shape, sizes: HostSizes) -> float:
        """The speed of the plan as placed, which may have more links inside hosts than were asked for."""
        hosts = {(gpu, f"{gpu}/{at:04}"): tuple(f"{gpu}/{at:04}/{n:04}" for n in range(size)) for gpu, each in sizes for at, size in enumerate(each)}
        return self.profile.global_batch / iteration_time(self.profile, place(self.profile, shape, hosts))


def host_sizes(hosts: Hosts) -> HostSizes:
    """What matters of `hosts` to a planner."""
    by_type: dict[str, list[int]] = {}
    for (gpu, _), leaves in hosts.items():
        by_type.setdefault(gpu, []).append(len(leaves))
    return tuple((gpu, tuple(sorted(by_type[gpu], reverse=True))) for gpu in sorted(by_type))


def _checked(prices: Mapping[str, float], profile: Profile) -> dict[str, float]:
    missing = sorted(profile.times.keys() - prices.keys())
    if missing:
        raise SailorError(f"expected a price for every GPU type of the profile, found none for {', '.join(missing)}")
    return {gpu: positive(f"price of {gpu}", price) for gpu, price in prices.items()}


def _mixes(segments: int) -> Iterator[tuple[int, int, int]]:
    """Slow, mixed and fast segments: all mixed, or slow before fast with at most one mixed between them."""
    yield 0, segments, 0
    for mixed in range(min(2, segments)):
        for slow in range(segments - mixed + 1):
            if mixed or 0 < slow < segments:
                yield slow, mixed, segments - mixed - slow


class _Search:
    """One search for the best shape over hosts of the given sizes."""

    def __init__(self, planner: Planner, sizes: Mapping[str, tuple[int, ...]]) -> None:
        self.tables = planner.tables
        self.profile = planner.profile
        self.prices = planner.prices
        self.sizes = {gpu: each for gpu, each in sizes.items() if gpu in self.profile.times and any(each)}
        self.score = math.inf
        self.found: Shape | None = None
        self._slots: dict[tuple[str, int, int], int] = {}

    def best(self) -> Shape | None:
        """One type alone first: its best plan is found quickly and spares looking at most pairs."""
        for choices in (self._singles(), self._pairs()):
            for bound, microbatch, sides in sorted((self._bound(microbatch, sides, 1), microbatch, sides) for microbatch, sides in choices):
                if bound >= self.score:
                    break
                for stages in STAGES:
                    if stages <= self.profile.layers:
                        self._try_stages(stages, microbatch, sides)
        return self.found

    def _singles(self) -> Iterator[tuple[int, tuple[Side, ...]]]:
        for gpu in sorted(self.sizes):
            yield from ((microbatch, ((gpu, tp),)) for microbatch, tps in self.profile.times[gpu].items() for tp in tps)

    def _pairs(self) -> Iterator[tuple[int, tuple[Side, ...]]]:
        times = self.profile.times
        for a, b in combinations(sorted(self.sizes), 2):
            for microbatch in times[a].keys() & times[b].keys():
                yield from ((microbatch, ((a, x), (b, y))) for x, y in product(times[a][microbatch], times[b][microbatch]))

    def _bound(self, microbatch: int, sides: tuple[Side, ...], length: int) -> float:
        """What no plan of these sides can score below: every GPU busy all the time, or the cheapest one for every layer."""
        work = self.profile.global_batch / microbatch * self.tables.common_share(microbatch, sides)
        wholes = [self.tables.whole(microbatch, gpu, tp) for gpu, tp in sides]
        if self.prices is not None:
            return work * min(whole * tp * self.prices[gpu] for (gpu, tp), whole in zip(sides, wholes, strict=True))
        rate = sum([length * self._count_slots(gpu, tp, length) / whole for (gpu, tp), whole in zip(sides, wholes, strict=True)])
        return work / rate if rate else math.inf

    def _count_slots(self, gpu: str, tp: int, length: int) -> int:
        """How many times `length` groups of `tp` GPUs fit, each time into one host."""
        key = (gpu, tp, length)
        if key not in self._slots:
            self._slots[key] = sum(size // (tp * length) for size in self.sizes[gpu])
        return self._slots[key]

    def _try_stages(self, stages: int, microbatch: int, sides: tuple[Side, ...]) -> None:
        tables = [table for gpu, tp in sides if (table := self.tables.table(stages, microbatch, gpu, tp)) is not None]
        if len(tables) < len(sides):
            return
        tables.sort(key=lambda table: -sum(table.work))
        for length in range(1, stages + 1):
            if stages % length == 0 and self._bound(microbatch, sides, length) < self.score:
                self._try_segments(microbatch, length, stages // length, tables)

    def _try_segments(self, microbatch: int, length: int, segments: int, tables: list[Table]) -> None:
        slots = [self._count_slots(table.gpu, table.tp, length) for table in tables]
        most = sum(slots) // segments
        if most == 0:
            return
        if len(tables) == 1:
            return self._try_mix(Mix(tables, microbatch, length, (segments, 0, 0)), most)
        if self._too_slow(microbatch, most, [min(table.work[at] for table in tables) for at in range(length * segments)]):
            return
        for counts in _mixes(segments):
            replicas = min([most, *(slots[side] // count for side, count in ((0, counts[0]), (1, counts[2])) if count)])
            slower = (counts[0] + counts[1]) * length
            if replicas and not self._too_slow(microbatch, replicas, tables[0].work[:slower] + tables[1].work[slower:]):
                self._try_mix(Mix(tables, microbatch, length, counts), replicas)

    def _too_slow(self, microbatch: int, replicas: int, work: Sequence[float]) -> bool:
        """Whether a plan with at least that work in its stages is too slow even if messages took no time."""
        count = math.ceil(self.profile.global_batch / (microbatch * replicas))
        return self.prices is None and (count - 1) * max(work) + sum(work) >= self.score

    def _try_mix(self, mix: Mix, replicas: int) -> None:
        self._try_replicas(mix, replicas, packed=False)
        if mix.counts[1] == 0:
            while replicas > 1 and not self._packs(mix, replicas):
                replicas -= 1
            self._try_replicas(mix, replicas, packed=True)

    def _packs(self, mix: Mix, replicas: int) -> bool:
        needed = zip(mix.tables, (mix.counts[0], mix.counts[2]), strict=False)
        return all(self._count_slots(table.gpu, table.tp, mix.length * replicas) >= count for table, count in needed)

    def _try_replicas(self, mix: Mix, replicas: int, packed: bool) -> None:
        """From `replicas` down, always the fewest that need as many microbatches each."""
        batch = self.profile.global_batch / mix.microbatch
        while replicas >= 1:
            count = math.ceil(batch / replicas)
            replicas = min(replicas, math.ceil(batch / count))
            least = (count - 1) * mix.worst + mix.once
            if self.prices is None and least >= self.score:
                return
            self._weigh(mix, replicas, packed, least + mix.sync(self.tables, replicas, packed))
            replicas -= 1

    def _weigh(self, mix: Mix, replicas: int, packed: bool, time_s: float) -> None:
        shape = Shape(mix.microbatch, mix.length, mix.counts, replicas, tuple((table.gpu, table.tp) for table in mix.tables), packed)
        score = time_s if self.prices is None else time_s * self._rate(shape)
        if score < self.score:
            self.score, self.found = score, shape

    def _rate(self, shape: Shape) -> float:
        """Dollars per hour of the GPUs that a shape uses."""
        assert self.prices is not None
        slots = [self._count_slots(gpu, tp, shape.length) for gpu, tp in shape.sides]
        costs = [shape.length * tp * self.prices[gpu] for gpu, tp in shape.sides]
        return sum(used * cost for used, cost in zip(slots_used(shape, slots[0]), costs, strict=False))
