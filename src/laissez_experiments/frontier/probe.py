"""What became of the probe under each policy: in the mean, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from statistics import fmean

import msgspec

from laissez.sim.statistics import CONFIDENCE, RESAMPLES, Bootstrap, Estimate, quantile
from laissez_experiments.frontier.figure import FrontierPoint
from laissez_experiments.frontier.runs import FCFS, ON_DEMAND, SPOT, Outcome


class Mean(msgspec.Struct, frozen=True):
    cost: float
    performance: float


Means = Mapping[str, Mean]  # by policy
Figure = Callable[[Means], float]


class Probe(Bootstrap):
    """All policies ran under the same seeds, so they are drawn together: whatever is computed from
    their means has an interval.

    Who asks the same of every budget, and then speaks of the one that answers best, asks for it
    `jointly`: the intervals are so much wider that they hold for all budgets at once (Bonferroni).
    """

    def __init__(self, outcomes: Sequence[Sequence[Outcome]], resamples: int = RESAMPLES) -> None:
        """Those of each seed."""
        super().__init__(len(outcomes), resamples)
        self._by_policy = {
            policy: [seed[at] for seed in outcomes]
            for at, policy in enumerate(outcome.policy for outcome in outcomes[0])
        }
        self.means = self._of(range(self.seeds))

    @property
    def market(self) -> list[str]:
        return [policy for policy in self.means if policy != FCFS]

    @property
    def budgets(self) -> list[str]:
        """The smallest first."""
        return [policy for policy in self.market if policy not in (ON_DEMAND, SPOT)]

    @cached_property
    def points(self) -> dict[str, FrontierPoint]:
        return {
            policy: FrontierPoint(
                policy, self.estimate(_cost(policy)), self.estimate(_performance(policy))
            )
            for policy in self.means
        }

    def estimate(self, figure: Figure, *, jointly: bool = False) -> Estimate:
        value, found = figure(self.means), sorted(map(figure, self._drawn_means))
        if not found:
            return Estimate(value)
        beyond = (1 - CONFIDENCE) / 2 / (len(self.budgets) if jointly else 1)
        return Estimate(value, quantile(found, beyond), quantile(found, 1 - beyond))

    def dearer(self, one: str, other: str) -> Estimate:
        return self.estimate(lambda means: means[one].cost - means[other].cost, jointly=True)

    def better(self, one: str, other: str) -> Estimate:
        return self.estimate(
            lambda means: means[one].performance - means[other].performance, jointly=True
        )

    @cached_property
    def between(self) -> list[str]:
        """Budgets that cost more than spot and less than on demand, beyond doubt."""
        return [
            budget
            for budget in self.budgets
            if _is_above(self.dearer(budget, SPOT)) and _is_above(self.dearer(ON_DEMAND, budget))
        ]

    def dominates(self, one: str, other: str) -> bool | None:
        """Whether it is cheaper and better, beyond doubt; None if only the means say so."""
        if (
            self.means[one].cost >= self.means[other].cost
            or self.means[one].performance <= self.means[other].performance
        ):
            return False
        return (
            True
            if _is_above(self.dearer(other, one)) and _is_above(self.better(one, other))
            else None
        )

    def beyond_mixes(self, budget: str) -> Estimate:
        """How much more it performs than tenants of whom some are spot and some on demand, as many
        as make the cost the same."""
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
    """Those that no other is better than in the mean (cheaper and not worse, or better and not
    dearer), the cheapest first."""
    every = list(points)
    left = [one for one in every if not any(_is_better(other, one) for other in every)]
    return sorted(left, key=lambda point: (point.cost.value, point.policy))


def _is_better(one: FrontierPoint, other: FrontierPoint) -> bool:
    cheaper, better = (
        other.cost.value - one.cost.value,
        one.performance.value - other.performance.value,
    )
    return cheaper >= 0 and better >= 0 and cheaper + better > 0


def _is_above(found: Estimate) -> bool:
    return found.low is not None and found.low > 0


def _cost(policy: str) -> Figure:
    return lambda means: means[policy].cost


def _performance(policy: str) -> Figure:
    return lambda means: means[policy].performance


def _beyond_a_mix(budget: Mean, spot: Mean, on_demand: Mean) -> float:
    if on_demand.cost <= spot.cost:
        # whoever is on demand pays nothing more for it
        return budget.performance - on_demand.performance
    share = (budget.cost - spot.cost) / (on_demand.cost - spot.cost)
    return (
        budget.performance - spot.performance - share * (on_demand.performance - spot.performance)
    )
