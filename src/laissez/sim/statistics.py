"""What many runs say together: means with intervals over seeds, and how the tenants are spread.

An interval is a 95 % percentile bootstrap: the seeds are drawn again 10,000 times, with
replacement, and 95 % of the means then found lie in it. Two clouds that ran under the same seeds
had the same tenants, so they are compared seed by seed, which is far sharper than to compare two
means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import fmean
from typing import Final, TypeVar

import msgspec

from laissez.sim.kernel import random_stream

T = TypeVar("T")

RESAMPLES: Final = 10_000
CONFIDENCE: Final = 0.95
# for an interval: two or three values, drawn again and again, vary far less than other seeds would
SEEDS_MIN: Final = 5
WHISKERS: Final = (5, 95)  # percent: a box plot's whiskers hold nine tenants of ten


class Estimate(msgspec.Struct, frozen=True):
    """A figure and the interval that it lies in; none where so few seeds say nothing about
    others."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def has_interval(self) -> bool:
        return self.low is not None

    @property
    def excludes_zero(self) -> bool:
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


class Spread(msgspec.Struct, frozen=True):
    """How values are spread: what a box plot shows."""

    low: float
    first_quartile: float
    median: float
    third_quartile: float
    high: float
    mean: float
    count: int

    @property
    def quartile_range(self) -> float:
        return self.third_quartile - self.first_quartile


class Bootstrap:
    """Seeds drawn again and again, the same way for every question asked about them: answers differ
    because of the data, not of the draw."""

    def __init__(self, seeds: int, resamples: int = RESAMPLES) -> None:
        self.seeds = seeds
        self._draws = _drawn(seeds, resamples) if seeds >= SEEDS_MIN else []

    def mean(self, values: Sequence[float]) -> Estimate:
        """Of one value per seed."""
        return self._estimate(
            fmean(self._checked(values)), lambda draw: fmean([values[at] for at in draw])
        )

    def difference(self, ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
        """Of the means, seed by seed: ours less theirs."""
        return self.mean(
            [
                one - other
                for one, other in zip(self._checked(ours), self._checked(theirs), strict=True)
            ]
        )

    def reduction(self, ours: Sequence[float], theirs: Sequence[float]) -> Estimate | None:
        """By which part our mean degradation (1 - retention) is smaller than theirs; nothing if
        theirs is none, in whatever draw."""
        our_loss, their_loss = (
            [1 - value for value in self._checked(ours)],
            [1 - value for value in self._checked(theirs)],
        )
        if sum(their_loss) <= 0 or any(
            sum(their_loss[at] for at in draw) <= 0 for draw in self._draws
        ):
            return None

        def reduced(draw: Sequence[int]) -> float:
            return 1 - sum(our_loss[at] for at in draw) / sum(their_loss[at] for at in draw)

        return self._estimate(reduced(range(self.seeds)), reduced)

    def part_of_the_way(
        self, ours: Sequence[float], theirs: Sequence[float], best: Sequence[float]
    ) -> Estimate | None:
        """How far our mean is on the way from theirs to the best; nothing if there is no way to go,
        in whatever draw."""
        gained = [
            one - other
            for one, other in zip(self._checked(ours), self._checked(theirs), strict=True)
        ]
        way = [one - other for one, other in zip(self._checked(best), theirs, strict=True)]
        if sum(way) <= 0 or any(sum(way[at] for at in draw) <= 0 for draw in self._draws):
            return None

        def part(draw: Sequence[int]) -> float:
            return sum(gained[at] for at in draw) / sum(way[at] for at in draw)

        return self._estimate(part(range(self.seeds)), part)

    def of(self, seeds: Sequence[T], statistic: Callable[[Sequence[T]], float]) -> Estimate:
        """Of any figure that is computed from what belongs to each seed, whatever that is."""
        if len(seeds) != self.seeds:
            raise ValueError(f"expected {self.seeds} seeds, found {len(seeds)}")
        return self._estimate(statistic(seeds), lambda draw: statistic([seeds[at] for at in draw]))

    def _checked(self, values: Sequence[float]) -> Sequence[float]:
        if len(values) != self.seeds:
            raise ValueError(
                f"expected {self.seeds} values, one for each seed, found {len(values)}"
            )
        return values

    def _estimate(self, value: float, statistic: Callable[[Sequence[int]], float]) -> Estimate:
        if not self._draws:
            return Estimate(value)
        found = sorted(map(statistic, self._draws))
        beyond = (1 - CONFIDENCE) / 2
        return Estimate(value, quantile(found, beyond), quantile(found, 1 - beyond))


@lru_cache(maxsize=4)
def _drawn(seeds: int, resamples: int) -> list[list[int]]:
    rng, places = random_stream(0, "bootstrap", seeds), range(seeds)
    return [rng.choices(places, k=seeds) for _ in range(resamples)]


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which that share lies, between two of them in proportion."""
    at = share * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


def spread(values: Sequence[float]) -> Spread:
    ordered = sorted(values)
    low, high = (quantile(ordered, percent / 100) for percent in WHISKERS)
    first, median, third = (quantile(ordered, quarter / 4) for quarter in (1, 2, 3))
    return Spread(low, first, median, third, high, fmean(ordered), len(ordered))
