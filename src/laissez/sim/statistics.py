"""Statistics over many runs: means with intervals over seeds, and the spread of the tenants.

An interval is a 95 % percentile bootstrap: the seeds are resampled 10,000 times, with replacement,
and 95 % of the resampled means lie within it. Two clouds under the same seed had the same tenants,
so they are compared seed by seed; this is far sharper than comparing two means.
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
# for an interval: resampling two or three values varies far less than new seeds would
SEEDS_MIN: Final = 5
WHISKERS: Final = (5, 95)  # percent: a box plot's whiskers hold nine tenants of ten


class Estimate(msgspec.Struct, frozen=True):
    """A figure and its interval; None where there are too few seeds for one."""

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
    """The figures of a box plot."""

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
    """The same resampled seeds for every question: answers differ by the data and never by the
    draw. All values are one per seed."""

    def __init__(self, seeds: int, resamples: int = RESAMPLES) -> None:
        self.seeds = seeds
        self._draws = _resampled(seeds, resamples) if seeds >= SEEDS_MIN else []

    def mean(self, values: Sequence[float]) -> Estimate:
        return self._estimate(
            fmean(self._checked(values)), lambda draw: fmean([values[at] for at in draw])
        )

    def difference(self, ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
        """The mean of ours less theirs, seed by seed."""
        return self.mean(self._less(ours, theirs))

    def reduction(self, ours: Sequence[float], theirs: Sequence[float]) -> Estimate | None:
        """The share by which our mean degradation (1 - retention) is smaller than theirs. None if
        theirs is 0 in any resample."""
        our_loss = [1 - value for value in self._checked(ours)]
        their_loss = [1 - value for value in self._checked(theirs)]
        return self._ratio(our_loss, their_loss, lambda ratio: 1 - ratio)

    def part_of_the_way(
        self, ours: Sequence[float], theirs: Sequence[float], best: Sequence[float]
    ) -> Estimate | None:
        """Our mean on the way from theirs (0) to the best (1). None without a gap in any
        resample."""
        return self._ratio(self._less(ours, theirs), self._less(best, theirs))

    def of(self, seeds: Sequence[T], statistic: Callable[[Sequence[T]], float]) -> Estimate:
        """A figure that is computed from one object per seed."""
        if len(seeds) != self.seeds:
            raise ValueError(f"expected {self.seeds} seeds, found {len(seeds)}")
        return self._estimate(statistic(seeds), lambda draw: statistic([seeds[at] for at in draw]))

    def _less(self, ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
        pairs = zip(self._checked(ours), self._checked(theirs), strict=True)
        return [one - other for one, other in pairs]

    def _checked(self, values: Sequence[float]) -> Sequence[float]:
        if len(values) != self.seeds:
            raise ValueError(
                f"expected {self.seeds} values, one for each seed, found {len(values)}"
            )
        return values

    def _ratio(
        self,
        above: Sequence[float],
        below: Sequence[float],
        figure: Callable[[float], float] = lambda ratio: ratio,
    ) -> Estimate | None:
        """A figure of the ratio of the sums."""
        whole = range(self.seeds)
        if any(sum(below[at] for at in draw) <= 0 for draw in (whole, *self._draws)):
            return None

        def statistic(draw: Sequence[int]) -> float:
            return figure(sum(above[at] for at in draw) / sum(below[at] for at in draw))

        return self._estimate(statistic(whole), statistic)

    def _estimate(self, value: float, statistic: Callable[[Sequence[int]], float]) -> Estimate:
        if not self._draws:
            return Estimate(value)
        found = sorted(map(statistic, self._draws))
        beyond = (1 - CONFIDENCE) / 2
        return Estimate(value, quantile(found, beyond), quantile(found, 1 - beyond))


@lru_cache(maxsize=4)
def _resampled(seeds: int, resamples: int) -> list[list[int]]:
    rng, places = random_stream(0, "bootstrap", seeds), range(seeds)
    return [rng.choices(places, k=seeds) for _ in range(resamples)]


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which that share of the values lies, interpolated linearly."""
    at = share * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


def spread(values: Sequence[float]) -> Spread:
    ordered = sorted(values)
    low, high = (quantile(ordered, percent / 100) for percent in WHISKERS)
    first, median, third = (quantile(ordered, quarter / 4) for quarter in (1, 2, 3))
    return Spread(low, first, median, third, high, fmean(ordered), len(ordered))
