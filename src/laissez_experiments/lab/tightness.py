"""How tight the tenants of one cloud lie together, against those of another, with an interval:
seeds are drawn again, each with all its tenants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from laissez.sim.statistics import Bootstrap, Estimate, quantile

RESAMPLES: Final = 2_000  # each sorts all tenants

Tenants = Sequence[float]  # of one seed


def quartile_range(tenants: Sequence[float]) -> float:
    ordered = sorted(tenants)
    return quantile(ordered, 0.75) - quantile(ordered, 0.25)


def relative_range(tenants: Sequence[float]) -> float:
    """The inter-quartile range over the median: what a spread is when everybody pays twice as much
    is the same."""
    ordered = sorted(tenants)
    return (quantile(ordered, 0.75) - quantile(ordered, 0.25)) / quantile(ordered, 0.5)


def wider_by(
    ours: Sequence[Tenants], theirs: Sequence[Tenants], width: Callable[[Sequence[float]], float]
) -> Estimate | None:
    """Their width less ours: above zero, ours are the tighter. One entry for each seed in both.
    None if a width cannot be told, in whatever draw."""

    def difference(seeds: Sequence[tuple[Tenants, Tenants]]) -> float:
        return width(_all(their for _, their in seeds)) - width(_all(our for our, _ in seeds))

    try:
        return Bootstrap(len(ours), RESAMPLES).of(list(zip(ours, theirs, strict=True)), difference)
    except ZeroDivisionError:  # half of the tenants have nothing
        return None


def _all(seeds: Iterable[Tenants]) -> list[float]:
    return [value for tenants in seeds for value in tenants]
