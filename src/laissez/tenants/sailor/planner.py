"""The best plan for a set of GPUs: how many stages and replicas, which microbatch and tp, and what
sits in which host.

Search space. A plan uses one GPU type or two, each with one tp; tp stays inside a host. The layers
are split evenly into 1 to 8 stages. The stages form segments of equal length, and each replica of a
segment sits in one host, so what passes inside a segment stays inside hosts. Either nothing more is
asked of the replicas (their all-reduce crosses hosts), or all replicas of a segment share one host
("packed": the all-reduce stays inside too). Of two types, the replicas of all segments mix both, or
the slower type has the first segments and the faster one the last, with at most one mixed segment
between them. Sailor's planner picks tp by a rule of thumb and tries every mix of types in every
stage; here tp is searched.

Search. What a plan costs depends only on how many segments are slow, mixed and fast, and on D. A
plan exists for such a choice exactly when there are enough slots (places for one replica of a
segment) of each type and together, so D is found by division, not by trying. Combinations of
microbatch and tp are visited in the order of a bound that no plan can beat: all GPUs always busy,
nothing ever sent. The first one whose bound is worse than the best plan so far ends the search.
What does not depend on the hosts (the stages' times, the best D up to a number) is computed once
(`courses`, `mix`), so a search (`search`) only divides, looks up and compares. Hosts of equal size
are interchangeable, so the answer depends on the sizes alone and is remembered by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from laissez.tenants.cache import Cache
from laissez.tenants.sailor.courses import STAGES, pairs, singles
from laissez.tenants.sailor.errors import SailorError
from laissez.tenants.sailor.iteration import Plan, iteration_time
from laissez.tenants.sailor.model import Profile, positive
from laissez.tenants.sailor.placing import Hosts, Shape, place
from laissez.tenants.sailor.search import Search
from laissez.tenants.sailor.tables import Tables

REMEMBERED_MAX: Final = 20_000

# GPUs per host by type, largest first
HostSizes: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]


class Planner:
    """Plans for one profile. With `prices` (dollars per hour by GPU type) the plan that trains most
    per dollar, else the fastest.

    It may be shared by many jobs: it answers the same whoever asks.
    """

    def __init__(
        self,
        profile: Profile,
        prices: Mapping[str, float] | None = None,
        remembered_max: int = REMEMBERED_MAX,
    ) -> None:
        self.profile = profile
        self.prices = None if prices is None else _checked(prices, profile)
        tables = Tables(profile)
        self._choices = (singles(tables), pairs(tables))
        self._reach = max(STAGES) * max(profile.sizes)
        self._remembered: Cache[HostSizes, tuple[Shape, float] | None] = Cache(
            remembered_max, self._search
        )

    def speed(self, sizes: HostSizes) -> float:
        """Samples per second of the best plan; 0 where there is none."""
        found = self._remembered[sizes]
        return 0.0 if found is None else found[1]

    def plan(self, hosts: Hosts) -> Plan | None:
        """The best plan over the leaves of `hosts`, or `None` where they cannot train the model at
        all."""
        found = self._remembered[host_sizes(hosts)]
        return None if found is None else place(self.profile, found[0], hosts)

    def _search(self, sizes: HostSizes) -> tuple[Shape, float] | None:
        known = {gpu: each for gpu, each in sizes if gpu in self.profile.times}
        shape = Search(known, self.prices, self._reach).best(*self._choices)
        return None if shape is None else (shape, self._placed_speed(shape, sizes))

    def _placed_speed(self, shape: Shape, sizes: HostSizes) -> float:
        """The speed of the plan as placed, which may have more links inside hosts than were asked
        for."""
        hosts = {
            (gpu, f"{gpu}/{at:04}"): tuple(f"{gpu}/{at:04}/{n:04}" for n in range(size))
            for gpu, each in sizes
            for at, size in enumerate(each)
        }
        return self.profile.global_batch / iteration_time(
            self.profile, place(self.profile, shape, hosts)
        )


def host_sizes(hosts: Hosts) -> HostSizes:
    """What matters of `hosts` to a planner."""
    by_type: dict[str, list[int]] = {}
    for (gpu, _), leaves in hosts.items():
        by_type.setdefault(gpu, []).append(len(leaves))
    return tuple((gpu, tuple(sorted(by_type[gpu], reverse=True))) for gpu in sorted(by_type))


def _checked(prices: Mapping[str, float], profile: Profile) -> dict[str, float]:
    missing = sorted(profile.times.keys() - prices.keys())
    if missing:
        raise SailorError(
            "expected a price for every GPU type of the profile, found none for"
            f" {', '.join(missing)}"
        )
    return {gpu: positive(f"price of {gpu}", price) for gpu, price in prices.items()}
