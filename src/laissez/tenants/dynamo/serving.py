"""The state of one inference service: what it has observed, what it plans for, and how the nodes it holds stand against that plan.

It is told what happened (`observe`) and changes only then. Everything else answers from the plan in force.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from laissez.tenants.dynamo import fleet
from laissez.tenants.dynamo.credits import LATE_MIN, Credits, service_credits
from laissez.tenants.dynamo.errors import SettingError, above_zero, from_zero
from laissez.tenants.dynamo.planner import Corrections, Observation, Plan, Sla, corrected, planned
from laissez.tenants.dynamo.pools import Standing, Step, stand, step_of
from laissez.tenants.dynamo.predictors import Kalman, Predictor
from laissez.tenants.dynamo.profile import EngineProfile
from laissez.tenants.hooks import Leaves
from laissez.tenants.paths import tree_of

RATE_MIN: Final = 1e-9
NO_STEP: Final = Step(0.0, 0.0)
REMEMBERED_MAX: Final = 8192  # sets of nodes, and standings under one plan
SHORT_MAX: Final = 256  # engines missed at a time: nobody is granted more at once, and a wild prediction must not fill the memory


class Roles(msgspec.Struct, frozen=True):
    """Engines at work, each as its leaves. What is held beside them is of no use now."""

    prefill: tuple[tuple[str, ...], ...]
    decode: tuple[tuple[str, ...], ...]


class Shortage(msgspec.Struct, frozen=True):
    """Engines that one pool misses, counted in the best of the types that would do."""

    engines: int
    trees: tuple[str, ...]


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
                raise SettingError(f"expected the profile of {tree} to be one of {tree}, found one of {profile.gpu}")
        self.profiles, self.sla = dict(profiles), sla
        self._min_endpoint, self._headroom, self._correct = int(from_zero("min_endpoint", min_endpoint)), above_zero("headroom", headroom), correct
        self._rate, self._isl, self._osl = predictor(), predictor(), predictor()
        self.corrections = Corrections()
        self.credits = credits
        self._last = 0.0  # a trend that falls is followed only as far as it was seen to: giving up too much costs a cold start
        self._counted: dict[Leaves, tuple[int, ...]] = {}
        self._adopt()

    def observe(self, seen: Observation, held: Leaves = ()) -> None:
        """Learn from an interval during which `held` served, and plan the next one."""
        if seen.num_req > 0:
            if self._correct:
                self.corrections = corrected(seen, self.profiles, self.plan, self._at_work(held), self.corrections)
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
        self.steps = {tree: step_of(self.plan, tree, profile.gpus) for tree, profile in self.profiles.items()}
        self._wanted = (self._min_endpoint > 0 or self.plan.prefill_need > 0, self._min_endpoint > 0 or self.plan.decode_need > 0)
        self._standings: dict[tuple[int, ...], Standing] = {}
        self._shortages: dict[tuple[tuple[int, ...], tuple[str, ...]], tuple[Shortage, ...]] = {}

    def standing(self, held: Leaves) -> Standing:
        """How `held` serves the plan."""
        counts = self._useful(held)
        found = self._standings.get(counts)
        if found is None:
            if len(self._standings) >= REMEMBERED_MAX:
                self._standings.clear()
            found = self._standings[counts] = stand(counts, list(self.steps.values()), self._wanted, self.credits)
        return found

    def _useful(self, held: Leaves) -> tuple[int, ...]:
        found = self._counted.get(held)
        if found is None:
            if len(self._counted) >= REMEMBERED_MAX:
                self._counted.clear()
            found = self._counted[held] = fleet.useful(held, self.profiles)
        return found

    def step(self, node: str, held: Leaves) -> Step:
        """The share of each pool that `node` would cover beside `held`: nothing, if it would be of no use."""
        tree = tree_of(node)
        if tree not in self.steps:
            return NO_STEP
        if self.profiles[tree].gpus > 1 and self._useful(held) == self._useful((*held, node)):
            return NO_STEP
        return self.steps[tree]

    def scopes(self, scopes: Sequence[str]) -> tuple[str, ...]:
        """The same scopes, if there is a profile for each."""
        unknown = [scope for scope in scopes if tree_of(scope) not in self.profiles]
        if unknown or not scopes:
            raise SettingError(f"expected scopes in {sorted(self.profiles)}, found {list(unknown or scopes)}")
        return tuple(scopes)

    def shortages(self, held: Leaves, trees: Sequence[str]) -> tuple[Shortage, ...]:
        """What each pool misses and which of `trees` would do, best first; the pool first where an engine is worth more."""
        key = (self._useful(held), tuple(trees))
        found = self._shortages.get(key)
        if found is None:
            if len(self._shortages) >= REMEMBERED_MAX:
                self._shortages.clear()
            found = self._shortages[key] = self._short(self.standing(held), trees)
        return found

    def _short(self, now: Standing, trees: Sequence[str]) -> tuple[Shortage, ...]:
        covers = ({tree: self.steps[tree].prefill for tree in trees}, {tree: self.steps[tree].decode for tree in trees})
        prefill = (now.closed_by(Step(max(covers[0].values()), 0.0)), self._shortage(now.prefill_late, covers[0]))
        decode = (now.closed_by(Step(0.0, max(covers[1].values()))), self._shortage(now.decode_late, covers[1]))
        return tuple(short for worth, short in sorted((prefill, decode), key=lambda each: -each[0]) if worth > 0)

    def _shortage(self, late: float, covers: Mapping[str, float]) -> Shortage:
        able = sorted((tree for tree in covers if covers[tree] > 0), key=lambda tree: -covers[tree])
        engine = covers[able[0]] * self.profiles[able[0]].gpus if able else math.inf
        return Shortage(min(SHORT_MAX, math.ceil(late / engine - LATE_MIN)), tuple(able))

    def begun(self, held: Leaves) -> list[str]:
        """The host of each engine under construction, once for each leaf that it still needs."""
        found = (fleet.unfinished(held, profile) for profile in self.profiles.values())
        return [begun[0] for begun in found if begun is not None for _ in range(begun[1])]

    def roles(self, held: Leaves) -> Roles:
        """Which engines prefill and which decode. Those that a plan does not need serve too: they spread the load."""
        whole = [fleet.engines(held, profile) for profile in self.profiles.values()]
        sizes = [profile.gpus for profile in self.profiles.values()]
        steps = [Step(step.prefill * gpus, step.decode * gpus) for step, gpus in zip(self.steps.values(), sizes, strict=True)]
        able = [each if step.prefill + step.decode > 0 else [] for each, step in zip(whole, steps, strict=True)]
        cut = stand([len(each) for each in able], steps, self._wanted, self.credits).prefills
        prefill = tuple(engine for each, count in zip(able, cut, strict=True) for engine in each[:count])
        return Roles(prefill, tuple(engine for each, count in zip(able, cut, strict=True) for engine in each[count:]))

    def _at_work(self, held: Leaves) -> tuple[dict[str, int], dict[str, int]]:
        roles = self.roles(held)
        return _by_tree(roles.prefill), _by_tree(roles.decode)


def _rate(requests_per_s: float) -> float:
    """What is less than a request in ten years is none: shares of next to nothing are no numbers."""
    return requests_per_s if requests_per_s > RATE_MIN else 0.0


def _by_tree(engines: Sequence[tuple[str, ...]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for engine in engines:
        tree = tree_of(engine[0])
        counts[tree] = counts.get(tree, 0) + 1
    return counts
