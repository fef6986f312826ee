"""The state of one inference service: what it has observed, its plan, and the service level that
the nodes held give under that plan.

Only observations (`observe`) change it. Everything else answers from the plan in force.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

from laissez.tenants.cache import Cache
from laissez.tenants.dynamo import fleet
from laissez.tenants.dynamo.credits import LATE_MIN, Credits, service_credits
from laissez.tenants.dynamo.planner import Corrections, Observation, Plan, Sla, corrected, planned
from laissez.tenants.dynamo.pools import Change, Coverage, Pools, ServiceLevel, coverage
from laissez.tenants.dynamo.predictors import Kalman, Predictor
from laissez.tenants.dynamo.profile import DynamoError, EngineProfile
from laissez.tenants.hooks import Leaves
from laissez.tenants.inputs import Positive, checked
from laissez.tenants.paths import tree_of, without

Counts: TypeAlias = tuple[int, ...]  # nodes of each type
# the nodes without one and with it, and its type unless it is of no use
Beside: TypeAlias = tuple[Counts, Counts, str | None]

RATE_MIN: Final = 1e-9  # requests per second; less is a request in decades
NOTHING: Final = Coverage(0.0, 0.0)
CACHED_MAX: Final = 512  # sets of nodes: they hardly change from one decision to the next
# Engines missed at a time. No tenant is granted more at once, and a wild prediction must not fill
# the memory.
SHORT_MAX: Final = 256


class Shortage(msgspec.Struct, frozen=True):
    """The number of engines that one pool misses, and the types that would do, the best first."""

    engines: int
    trees: tuple[str, ...]


class Able(msgspec.Struct, frozen=True):
    """The types that can serve a pool, the best first, and the share of its need that a node and an
    engine of the best type cover."""

    node: float
    engine: float
    trees: tuple[str, ...]

    def short(self, late: float) -> Shortage:
        return Shortage(min(SHORT_MAX, math.ceil(late / self.engine - LATE_MIN)), self.trees)


class Serving:
    """A service with an engine `profiles[tree]` for each type of hardware that it can run on."""

    def __init__(
        self,
        profiles: Mapping[str, EngineProfile],
        sla: Sla,
        *,
        predictor: Callable[[], Predictor] = Kalman,
        min_endpoint: int = 1,
        headroom: float = 1.0,
        correct: bool = True,
        credits: Credits = service_credits,
    ) -> None:
        if not profiles:
            raise DynamoError("expected a profile for at least one type of hardware, found none")
        for tree, profile in profiles.items():
            if profile.gpu != tree:
                raise DynamoError(
                    f"expected the profile of {tree} to be one of {tree}, found one of"
                    f" {profile.gpu}"
                )
        self.profiles, self.sla, self.credits = dict(profiles), sla, credits
        self._sizes = [profile.gpus for profile in self.profiles.values()]
        self._min_endpoint = checked(
            "min_endpoint", min_endpoint, Annotated[int, Meta(ge=0)], DynamoError
        )
        self._headroom = checked("headroom", headroom, Positive, DynamoError)
        self._correct = correct
        self._rate, self._isl, self._osl = predictor(), predictor(), predictor()
        # A falling trend is followed only as far as it was observed: giving up too much costs a
        # cold start.
        self._last_rate = 0.0
        self.corrections = Corrections()
        self._counts = Cache(CACHED_MAX, self._useful)
        self._beside = Cache(CACHED_MAX, self._without_and_with)
        self._whole = Cache(CACHED_MAX, self._engines)
        self._adopt_plan()

    def observe(self, seen: Observation, held: Leaves = ()) -> None:
        """Learn from an interval during which `held` served, and plan the next one."""
        if seen.num_req > 0:
            if self._correct:
                self.corrections = corrected(
                    seen, self.profiles, self.plan, self.at_work(held), self.corrections
                )
            self._isl.add(seen.isl)
            self._osl.add(seen.osl)
        self._last_rate = seen.num_req / seen.interval_s
        self._rate.add(self._last_rate)
        self._adopt_plan()

    def _adopt_plan(self) -> None:
        rate = max(self._rate.next(), self._last_rate)
        self.plan: Plan = planned(
            self.profiles,
            self.sla,
            rate if rate > RATE_MIN else 0.0,
            self._isl.next() or self.sla.isl,
            self._osl.next() or self.sla.osl,
            self.corrections,
            min_endpoint=self._min_endpoint,
            headroom=self._headroom,
        )
        self.nodes = {
            tree: coverage(self.plan, tree, profile.gpus) for tree, profile in self.profiles.items()
        }
        wanted = (
            self._min_endpoint > 0 or self.plan.prefill_need > 0,
            self._min_endpoint > 0 or self.plan.decode_need > 0,
        )
        engines = [
            Coverage(node.prefill * gpus, node.decode * gpus)
            for node, gpus in zip(self.nodes.values(), self._sizes, strict=True)
        ]
        self._engine_pools = Pools(engines, wanted, self.credits)
        pools = self._engine_pools
        if max(self._sizes) > 1:
            pools = Pools(list(self.nodes.values()), wanted, self.credits)
        self._levels: Cache[Counts, ServiceLevel] = Cache(CACHED_MAX, pools.service_level)
        self._changes = Cache(CACHED_MAX, self._change)
        self._able = Cache(CACHED_MAX, self._able_among)
        self._shortages = Cache(CACHED_MAX, self._short)

    def service_level(self, held: Leaves) -> ServiceLevel:
        """The service level of `held` under the plan."""
        return self._levels[self._counts[held]]

    def change(self, node: str, held: Leaves) -> Change:
        """The change that `node` makes beside the rest of `held`."""
        return self._changes[self._beside[node, held]]

    def _useful(self, held: Leaves) -> Counts:
        return fleet.useful(held, self.profiles)

    def _without_and_with(self, asked: tuple[str, Leaves]) -> Beside:
        node, held = asked
        rest = without(held, node) if node in held else held
        before, after = self._counts[rest], self._counts[*rest, node]
        return before, after, None if before == after else tree_of(node)

    def _change(self, beside: Beside) -> Change:
        before, after, tree = self._levels[beside[0]], self._levels[beside[1]], beside[2]
        node = NOTHING if tree is None else self.nodes[tree]
        return Change(before, after, before.closed_by(node))

    def scopes(self, scopes: Sequence[str]) -> tuple[str, ...]:
        """The same scopes, if there is a profile for each."""
        unknown = [scope for scope in scopes if tree_of(scope) not in self.profiles]
        if unknown or not scopes:
            raise DynamoError(
                f"expected scopes in {sorted(self.profiles)}, found {list(unknown or scopes)}"
            )
        return tuple(scopes)

    def shortages(self, held: Leaves, trees: Sequence[str]) -> tuple[Shortage, ...]:
        """The shortage of each pool, first of the one where an engine is worth more."""
        return self._shortages[self._counts[held], tuple(trees)]

    def _short(self, asked: tuple[Counts, tuple[str, ...]]) -> tuple[Shortage, ...]:
        now, (prefill, decode) = self._levels[asked[0]], self._able[asked[1]]
        pools = [
            (now.closed_by(Coverage(prefill.node, 0.0)), now.prefill_late, prefill),
            (now.closed_by(Coverage(0.0, decode.node)), now.decode_late, decode),
        ]
        pools.sort(key=lambda pool: -pool[0])
        return tuple([able.short(late) for worth, late, able in pools if worth > 0])

    def _able_among(self, trees: tuple[str, ...]) -> tuple[Able, Able]:
        """The types that can prefill, and those that can decode."""
        return (
            self._able_of({tree: self.nodes[tree].prefill for tree in trees}),
            self._able_of({tree: self.nodes[tree].decode for tree in trees}),
        )

    def _able_of(self, covers: Mapping[str, float]) -> Able:
        able = sorted((tree for tree in covers if covers[tree] > 0), key=lambda tree: -covers[tree])
        engine = covers[able[0]] * self.profiles[able[0]].gpus if able else math.inf
        return Able(max(covers.values()), engine, tuple(able))

    def unfinished_hosts(self, held: Leaves) -> list[str]:
        """The host of each engine under construction, once for each leaf that it still needs."""
        found = [
            fleet.unfinished(held, profile)
            for profile in self.profiles.values()
            if profile.gpus > 1
        ]
        return [one[0] for one in found if one is not None for _ in range(one[1])]

    def at_work(self, held: Leaves) -> tuple[dict[str, int], dict[str, int]]:
        """The numbers of engines of each type that prefill and that decode. Engines that the plan
        does not need serve too: they spread the load."""
        able = [
            count if node.prefill + node.decode > 0 else 0
            for count, node in zip(self._whole[tuple(held)], self.nodes.values(), strict=True)
        ]
        split = list(zip(self.profiles, able, self._engine_pools.prefills(able), strict=True))
        return (
            {tree: prefills for tree, _, prefills in split if prefills},
            {tree: count - prefills for tree, count, prefills in split if count > prefills},
        )

    def _engines(self, held: Leaves) -> list[int]:
        return [len(fleet.engines(held, profile)) for profile in self.profiles.values()]
