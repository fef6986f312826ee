"""The means of the probe under each policy, with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from statistics import fmean

import msgspec

from laissez.sim.statistics import CONFIDENCE, RESAMPLES, Bootstrap, Estimate, quantile
from laissez_experiments.frontier.runs import FCFS, ON_DEMAND, SPOT, Outcome
from laissez_experiments.lab.findings import is_above_zero

TODAY = (FCFS, ON_DEMAND, SPOT)  # all other policies are budgets


class Mean(msgspec.Struct, frozen=True):
    cost: float
    performance: float


class FrontierPoint(msgspec.Struct, frozen=True):
    policy: str
    cost: Estimate
    performance: Estimate

    @property
    def mean(self) -> tuple[float, float]:
        return self.cost.value, self.performance.value


Means = Mapping[str, Mean]  # by policy
Figure = Callable[[Means], float]


class Probe(Bootstrap):
    """All policies ran under the same seeds, so they are drawn together: every figure computed from
    their means has an interval.

    A question about every budget whose answer names the best one is asked `jointly`: the intervals
    are so much wider that they hold for all budgets at once (Bonferroni).
    """

    def __init__(self, outcomes: Sequence[Sequence[Outcome]], resamples: int = RESAMPLES) -> None:
        """`outcomes` are those of each seed."""
        super().__init__(len(outcomes), resamples)
        policies = [outcome.policy for outcome in outcomes[0]]
        self._by_policy = dict(zip(policies, zip(*outcomes, strict=True), strict=True))
        self.means = self._of(range(self.seeds))
        self.market = [policy for policy in policies if policy != FCFS]
        self.budgets = [policy for policy in policies if policy not in TODAY]  # the smallest first

    @cached_property
    def points(self) -> dict[str, FrontierPoint]:
        return {policy: self._point(policy) for policy in self.means}

    def _point(self, policy: str) -> FrontierPoint:
        cost = self.estimate(lambda means: means[policy].cost)
        return FrontierPoint(policy, cost, self.estimate(lambda means: means[policy].performance))

    def estimate(self, figure: Figure, *, jointly: bool = False) -> Estimate:
        value, found = figure(self.means), sorted(map(figure, self._drawn_means))
        if not found:
            return Estimate(value)
        beyond = (1 - CONFIDENCE) / 2 / (len(self.budgets) if jointly else 1)
        return Estimate(value, quantile(found, beyond), quantile(found, 1 - beyond))

    def dearer(self, one: str, other: str) -> Estimate:
        return self.estimate(lambda means: means[one].cost - means[other].cost, jointly=True)

    def better(self, one: str, other: str, part: float = 1.0) -> Estimate:
        """Performance beyond that part of the other's."""
        return self.estimate(
            lambda means: means[one].performance - part * means[other].performance, jointly=True
        )

    @cached_property
    def between(self) -> list[str]:
        """Budgets that cost more than spot and less than on demand, beyond doubt."""
        return [
            budget
            for budget in self.budgets
            if is_above_zero(self.dearer(budget, SPOT))
            and is_above_zero(self.dearer(ON_DEMAND, budget))
        ]

    def dominates(self, one: str, other: str) -> bool | None:
        """Whether it is cheaper and better, beyond doubt; None if only the means say so."""
        ours, theirs = self.means[one], self.means[other]
        if ours.cost >= theirs.cost or ours.performance <= theirs.performance:
            return False
        is_cheaper, is_better = self.dearer(other, one), self.better(one, other)
        return True if is_above_zero(is_cheaper) and is_above_zero(is_better) else None

    def beyond_mixes(self, budget: str) -> Estimate:
        """Its performance beyond that of a mix of tenants, some as spot and some on demand, that
        costs the same."""
        return self.estimate(
            lambda means: _beyond_a_mix(means[budget], means[SPOT], means[ON_DEMAND]), jointly=True
        )

    def revocations(self, policy: str) -> float:
        """In the mean of a run."""
        return fmean(outcome.revocations for outcome in self._by_policy[policy])

    @cached_property
    def _drawn_means(self) -> list[Means]:
        return [self._of(draw) for draw in self._draws]

    def _of(self, draw: Sequence[int]) -> Means:
        return {
            policy: Mean(
                sum([outcomes[at].cost for at in draw]) / len(draw),
                sum([outcomes[at].performance for at in draw]) / len(draw),
            )
            for policy, outcomes in self._by_policy.items()
        }


def pareto(points: Iterable[FrontierPoint]) -> list[FrontierPoint]:
    """The points that no other point dominates in the mean (cheaper and not worse, or better and
    not dearer), the cheapest first."""
    every = list(points)
    left = [one for one in every if not any(_is_better(other, one) for other in every)]
    return sorted(left, key=lambda point: (point.cost.value, point.policy))


def _is_better(one: FrontierPoint, other: FrontierPoint) -> bool:
    cheaper = other.cost.value - one.cost.value
    better = one.performance.value - other.performance.value
    return cheaper >= 0 and better >= 0 and cheaper + better > 0


def _beyond_a_mix(budget: Mean, spot: Mean, on_demand: Mean) -> float:
    if on_demand.cost <= spot.cost:
        return budget.performance - on_demand.performance  # being on demand costs nothing more
    share = (budget.cost - spot.cost) / (on_demand.cost - spot.cost)
    return (
        budget.performance - spot.performance - share * (on_demand.performance - spot.performance)
    )
