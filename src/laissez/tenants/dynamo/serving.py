"""The state of one inference service: what it has observed, what it plans for, and how the nodes it
holds stand against that plan.

It is told what happened (`observe`) and changes only then. Everything else answers from the plan in
force.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from laissez.tenants.cache import Cache
from laissez.tenants.dynamo import fleet
from laissez.tenants.dynamo.credits import LATE_MIN, Credits, service_credits
from laissez.tenants.dynamo.errors import SettingError, above_zero, from_zero
from laissez.tenants.dynamo.planner import Corrections, Observation, Plan, Sla, corrected, planned
from laissez.tenants.dynamo.pools import Change, Pools, Standing, Step, step_of
from laissez.tenants.dynamo.predictors import Kalman, Predictor
from laissez.tenants.dynamo.profile import EngineProfile
from laissez.tenants.hooks import Leaves
from laissez.tenants.paths import tree_of, without

Counts: TypeAlias = tuple[int, ...]  # nodes of each type
# without a node and with it; its type, unless it is of no use
Beside: TypeAlias = tuple[Counts, Counts, str | None]

RATE_MIN: Final = 1e-9
NO_STEP: Final = Step(0.0, 0.0)
# sets of nodes, and standings under one plan: both hardly change from one decision to the next
REMEMBERED_MAX: Final = 512
# engines missed at a time: nobody is granted more at once, and a wild prediction must not fill the
# memory
SHORT_MAX: Final = 256


class Roles(msgspec.Struct, frozen=True):
    """Engines at work, each as its leaves. What is held beside them is of no use now."""

    prefill: tuple[tuple[str, ...], ...]
    decode: tuple[tuple[str, ...], ...]


class Shortage(msgspec.Struct, frozen=True):
    """Engines that one pool misses, counted in the best of the types that would do."""

    engines: int
    trees: tuple[str, ...]


class Able(msgspec.Struct, frozen=True):
    """The types that can serve a pool, the best first, and the share of it that a node and an
    engine of the best cover."""

    node: float
    engine: float
    trees: tuple[str, ...]

    def short(self, late: float) -> Shortage:
        return Shortage(min(SHORT_MAX, math.ceil(late / self.engine - LATE_MIN)), self.trees)


class Serving:
    """A service with an engine `profiles[tree]` for each type of hardware it can run on."""

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
            raise SettingError("expected a profile for at least one type of hardware, found none")
        for tree, profile in profiles.items():
            if profile.gpu != tree:
                raise SettingError(
                    f"expected the profile of {tree} to be one of {tree}, found one of"
                    f" {profile.gpu}"
                )
        self.profiles, self.sla = dict(profiles), sla
        self._sizes = [profile.gpus for profile in self.profiles.values()]
        self._min_endpoint, self._headroom, self._correct = (
            int(from_zero("min_endpoint", min_endpoint)),
            above_zero("headroom", headroom),
            correct,
        )
        self._rate, self._isl, self._osl = predictor(), predictor(), predictor()
        self.corrections = Corrections()
        self.credits = credits
        # a trend that falls is followed only as far as it was seen to: giving up too much costs a
        # cold start
        self._last = 0.0
        self._counts: Cache[Leaves, Counts] = Cache(REMEMBERED_MAX, self._useful)
        self._beside: Cache[tuple[str, Leaves], Beside] = Cache(
            REMEMBERED_MAX, self._without_and_with
        )
        self._whole: Cache[Leaves, list[list[tuple[str, ...]]]] = Cache(
            REMEMBERED_MAX, self._engines
        )
        self._adopt()

    def observe(self, seen: Observation, held: Leaves = ()) -> None:
        """Learn from an interval during which `held` served, and plan the next one."""
        if seen.num_req > 0:
            if self._correct:
                self.corrections = corrected(
                    seen, self.profiles, self.plan, self.at_work(held), self.corrections
                )
            self._isl.add(seen.isl)
            self._osl.add(seen.osl)
        self._last = seen.num_req / seen.interval_s
        self._rate.add(self._last)
        self._adopt()

    def _adopt(self) -> None:
        isl, osl = self._isl.next() or self.sla.isl, self._osl.next() or self.sla.osl
        self.plan: Plan = planned(
            self.profiles,
            self.sla,
            _rate(max(self._rate.next(), self._last)),
            isl,
            osl,
            self.corrections,
            min_endpoint=self._min_endpoint,
            headroom=self._headroom,
        )
        self.steps = {
            tree: step_of(self.plan, tree, profile.gpus) for tree, profile in self.profiles.items()
        }
        wanted = (
            self._min_endpoint > 0 or self.plan.prefill_need > 0,
            self._min_endpoint > 0 or self.plan.decode_need > 0,
        )
        engines = [
            Step(step.prefill * gpus, step.decode * gpus)
            for step, gpus in zip(self.steps.values(), self._sizes, strict=True)
        ]
        self._engine_pools = Pools(engines, wanted, self.credits)
        pools = (
            Pools(list(self.steps.values()), wanted, self.credits)
            if max(self._sizes) > 1
            else self._engine_pools
        )
        self._standings: Cache[Counts, Standing] = Cache(REMEMBERED_MAX, pools.stand)
        self._changes: Cache[Beside, Change] = Cache(REMEMBERED_MAX, self._change)
        self._able: Cache[tuple[str, ...], tuple[Able, Able]] = Cache(
            REMEMBERED_MAX, self._able_among
        )
        self._shortages: Cache[tuple[Counts, tuple[str, ...]], tuple[Shortage, ...]] = Cache(
            REMEMBERED_MAX, self._short
        )

    def standing(self, held: Leaves) -> Standing:
        """How `held` serves the plan."""
        return self._standings[self._counts[held]]

    def change(self, node: str, held: Leaves) -> Change:
        """What `node` does beside `held`, or, if it is one of them, beside the others."""
        return self._changes[self._beside[node, held]]

    def _useful(self, held: Leaves) -> Counts:
        return fleet.useful(held, self.profiles)

    def _without_and_with(self, asked: tuple[str, Leaves]) -> Beside:
        """What is of no use covers nothing, whatever its type."""
        node, held = asked
        rest = without(held, node) if node in held else held
        before, after = self._counts[rest], self._counts[*rest, node]
        return before, after, None if before == after else tree_of(node)

    def _change(self, beside: Beside) -> Change:
        before, after, tree = self._standings[beside[0]], self._standings[beside[1]], beside[2]
        return Change(
            before, after, before.closed_by(NO_STEP if tree is None else self.steps[tree])
        )

    def scopes(self, scopes: Sequence[str]) -> tuple[str, ...]:
        """The same scopes, if there is a profile for each."""
        unknown = [scope for scope in scopes if tree_of(scope) not in self.profiles]
        if unknown or not scopes:
            raise SettingError(
                f"expected scopes in {sorted(self.profiles)}, found {list(unknown or scopes)}"
            )
        return tuple(scopes)

    def shortages(self, held: Leaves, trees: Sequence[str]) -> tuple[Shortage, ...]:
        """What each pool misses and which of `trees` would do, best first; the pool first where an
        engine is worth more."""
        return self._shortages[self._counts[held], tuple(trees)]

    def _short(self, asked: tuple[Counts, tuple[str, ...]]) -> tuple[Shortage, ...]:
        now, (reads, writes) = self._standings[asked[0]], self._able[asked[1]]
        prefill, decode = (
            now.closed_by(Step(reads.node, 0.0)),
            now.closed_by(Step(0.0, writes.node)),
        )
        pools = [(prefill, now.prefill_late, reads), (decode, now.decode_late, writes)]
        return tuple(
            [
                able.short(late)
                for worth, late, able in (reversed(pools) if decode > prefill else pools)
                if worth > 0
            ]
        )

    def _able_among(self, trees: tuple[str, ...]) -> tuple[Able, Able]:
        """What could prefill and what could decode."""
        return self._able_of({tree: self.steps[tree].prefill for tree in trees}), self._able_of(
            {tree: self.steps[tree].decode for tree in trees}
        )

    def _able_of(self, covers: Mapping[str, float]) -> Able:
        able = sorted((tree for tree in covers if covers[tree] > 0), key=lambda tree: -covers[tree])
        engine = covers[able[0]] * self.profiles[able[0]].gpus if able else math.inf
        return Able(max(covers.values()), engine, tuple(able))

    def begun(self, held: Leaves) -> list[str]:
        """The host of each engine under construction, once for each leaf that it still needs."""
        found = [
            fleet.unfinished(held, profile)
            for profile in self.profiles.values()
            if profile.gpus > 1
        ]
        return [begun[0] for begun in found if begun is not None for _ in range(begun[1])]

    def roles(self, held: Leaves) -> Roles:
        """Which engines prefill and which decode. Those that a plan does not need serve too: they
        spread the load."""
        able, cut = self._split(held)
        prefill = tuple(
            engine for each, count in zip(able, cut, strict=True) for engine in each[:count]
        )
        return Roles(
            prefill,
            tuple(engine for each, count in zip(able, cut, strict=True) for engine in each[count:]),
        )

    def at_work(self, held: Leaves) -> tuple[dict[str, int], dict[str, int]]:
        """How many engines of each type prefill, and how many decode."""
        able, cut = self._split(held)
        prefill = {tree: count for tree, count in zip(self.profiles, cut, strict=True) if count}
        return prefill, {
            tree: len(each) - count
            for tree, each, count in zip(self.profiles, able, cut, strict=True)
            if len(each) > count
        }

    def _split(self, held: Leaves) -> tuple[list[list[tuple[str, ...]]], tuple[int, ...]]:
        """The engines of each type that can do anything, and how many of them prefill."""
        whole = self._whole[tuple(held)]
        able = [
            each if step.prefill + step.decode > 0 else []
            for each, step in zip(whole, self.steps.values(), strict=True)
        ]
        return able, self._engine_pools.prefills([len(each) for each in able])

    def _engines(self, held: Leaves) -> list[list[tuple[str, ...]]]:
        return [fleet.engines(held, profile) for profile in self.profiles.values()]


def _rate(requests_per_s: float) -> float:
    """What is less than a request in ten years is none: shares of next to nothing are no
    numbers."""
    return requests_per_s if requests_per_s > RATE_MIN else 0.0
