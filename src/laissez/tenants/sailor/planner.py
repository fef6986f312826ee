"""The best plan for a set of GPUs: the numbers of stages and replicas, the microbatch and tp, and
the host of each part.

Search space. A plan uses one GPU type or two, each with one tp; tp stays inside a host. The layers
are split evenly into 1 to 8 stages. The stages form segments of equal length, and each replica of a
segment sits in one host, so messages inside a segment stay inside hosts. Either nothing more is
asked of the replicas (their all-reduce crosses hosts), or all replicas of a segment share one host
("packed": the all-reduce stays inside too). Of two types, the replicas of all segments mix both, or
the slower type has the first segments and the faster one the last, with at most one mixed segment
between them. Sailor's planner picks tp by a rule of thumb and tries every mix of types in every
stage; here tp is searched.

Search. The cost of a plan depends only on how many segments are slow, mixed and fast, and on the
replicas D. A plan exists for such a choice exactly when there are enough slots (places for one
replica of a segment) of each type and together, so D is found by division, not by trying.
Candidates (a microbatch with one or two types and their tp) are visited in the order of a bound
that no plan can beat: all GPUs always busy, nothing ever sent. The first one whose bound is worse
than the best plan so far ends the search. Whatever does not depend on the hosts is computed once
(`candidates`, `costs`), so a search only divides, looks up and compares. Hosts of equal size are
interchangeable, so the answer depends on the sizes alone and is cached by them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from laissez.tenants.cache import Cache
from laissez.tenants.sailor.candidates import STAGES, Candidate, pairs, singles
from laissez.tenants.sailor.costs import Mix, Tables
from laissez.tenants.sailor.hosts import Hosts, HostSizes, host_sizes
from laissez.tenants.sailor.iteration import Plan, iteration_time
from laissez.tenants.sailor.model import Profile
from laissez.tenants.sailor.placement import Shape, place

CACHED_MAX: Final = 20_000


class Planner:
    """Finds the fastest plans for one profile. Many jobs may share a planner."""

    def __init__(self, profile: Profile, cached_max: int = CACHED_MAX) -> None:
        self.profile = profile
        tables = Tables(profile)
        self._candidates = (singles(tables), pairs(tables))
        self._reach = max(STAGES) * max(profile.sizes)
        self._cache: Cache[HostSizes, tuple[Shape, float] | None] = Cache(cached_max, self._search)

    def speed(self, sizes: HostSizes) -> float:
        """Samples per second of the best plan; 0 without a plan."""
        found = self._cache[sizes]
        return 0.0 if found is None else found[1]

    def plan(self, hosts: Hosts) -> Plan | None:
        """The best plan over the leaves of `hosts`, or `None` if they cannot train the model."""
        found = self._cache[host_sizes(hosts)]
        return None if found is None else place(self.profile, found[0], hosts)

    def _search(self, sizes: HostSizes) -> tuple[Shape, float] | None:
        known = {gpu: each for gpu, each in sizes if gpu in self.profile.times}
        shape = _Search(known, self._reach).best(*self._candidates)
        return None if shape is None else (shape, self._placed_speed(shape, sizes))

    def _placed_speed(self, shape: Shape, sizes: HostSizes) -> float:
        """The speed of the plan as placed, which may have more links inside hosts than required."""
        hosts = {
            (gpu, f"{gpu}/{at:04}"): tuple(f"{gpu}/{at:04}/{n:04}" for n in range(size))
            for gpu, each in sizes
            for at, size in enumerate(each)
        }
        plan = place(self.profile, shape, hosts)
        return self.profile.global_batch / iteration_time(self.profile, plan)


class _Search:
    """One search over hosts of given `sizes` for the least time of an iteration. One replica of a
    segment takes up to `reach` GPUs."""

    def __init__(self, sizes: Mapping[str, Sequence[int]], reach: int) -> None:
        self.least_s = math.inf
        self.found: tuple[Mix, int, bool] | None = None
        self._slots = {gpu: _slots(each, reach) for gpu, each in sizes.items() if any(each)}

    def best(self, *groups: Sequence[Candidate]) -> Shape | None:
        """Tries the groups in their order: the plans of the first exclude most of the others."""
        for group in groups:
            able = [one for one in group if one.types <= self._slots.keys()]
            for bound, one in sorted(
                [(self._bound(one), one) for one in able],
                key=lambda entry: (entry[0], entry[1].microbatch, entry[1].sides),
            ):
                if bound >= self.least_s:
                    break
                self._try_candidate(one)
        return None if self.found is None else _shape(*self.found)

    def _bound(self, candidate: Candidate) -> float:
        """A time that no plan of a candidate can beat: every GPU is busy all the time."""
        sides = zip(candidate.sides, candidate.wholes, strict=True)
        rate = sum([self._slots[gpu][tp] / whole for (gpu, tp), whole in sides])
        return candidate.work / rate if rate else math.inf

    def _try_candidate(self, candidate: Candidate) -> None:
        """Tries every mix. The number of replicas that find room excludes nearly all segmentations
        as too slow, so that is computed here and not in a call."""
        slots, alone = self._slots, len(candidate.sides) == 1
        for one in candidate.segmentations:
            (gpu, gpus), (other, others) = one.slower, one.faster
            slower, faster = slots[gpu][gpus], 0 if alone else slots[other][others]
            most = (slower + faster) // one.segments
            if most and (math.ceil(one.batch / most) - 1) * one.worst + one.once < self.least_s:
                for mix in one.mixes:
                    slow, _, fast = mix.counts
                    replicas = min(
                        most, slower // slow if slow else most, faster // fast if fast else most
                    )
                    if replicas:
                        self._try_mix(mix, replicas)

    def _try_mix(self, mix: Mix, replicas: int) -> None:
        if mix.time_before_sync(replicas) >= self.least_s:
            return
        self._try_replicas(mix, replicas, packed=False)
        if mix.counts[1] == 0:
            together = self._together(mix, replicas)
            if together > 1:
                self._try_replicas(mix, together, packed=True)

    def _together(self, mix: Mix, replicas: int) -> int:
        """The most replicas such that all replicas of a segment find room in one host."""
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
        """Keep the best number of replicas up to `replicas` if it is the best plan so far."""
        time_s, replicas = mix.fastest(replicas, packed)
        if time_s < self.least_s:
            self.least_s, self.found = time_s, (mix, replicas, packed)


def _slots(sizes: Sequence[int], reach: int) -> list[int]:
    """By a number of GPUs, up to `reach` or the largest host, how many times that many fit, each
    time into one host."""
    fit = [0, *(sum([size // gpus for size in sizes]) for gpus in range(1, max(sizes) + 1))]
    return fit + [0] * (reach + 1 - len(fit))


def _shape(mix: Mix, replicas: int, packed: bool) -> Shape:
    sides = tuple((table.gpu, table.tp) for table in mix.tables)
    return Shape(mix.microbatch, mix.length, mix.counts, replicas, sides, packed)
