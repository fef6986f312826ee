"""The states of the batch and its spending, read off its leases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Final

import msgspec

from laissez.sim.clouds.cloud import Lease
from laissez.sim.results import dollars
from laissez.tenants.paths import tree_of
from laissez.units import HOUR_US, SECOND_US
from laissez_experiments.trade_down.run import COLD_S, DUE_H, Course

PAUSED: Final = "paused"
WITHOUT: Final = "without a GPU"


class Span(msgspec.Struct, frozen=True):
    """A stretch of time in one state: a type of GPU, or none."""

    state: str
    start: int
    end: int

    @property
    def begins(self) -> float:
        """In hours."""
        return self.start / HOUR_US

    @property
    def ends(self) -> float:
        return self.end / HOUR_US


def spans(course: Course) -> list[Span]:
    """While it holds two, in a move, it counts as on the newer one. A gap that is no longer than a
    cold start is a hand-off and counts as the GPU before it. In any other it is paused if more of
    its work was done than on schedule, else merely without a GPU.
    """
    found: list[Span] = []
    for one in _with_gaps(course):
        if found and found[-1].state == one.state:
            found[-1] = msgspec.structs.replace(found[-1], end=one.end)
        else:
            found.append(one)
    return found


def sequence(course: Course) -> tuple[str, ...]:
    return tuple(one.state for one in spans(course))


def done_by(course: Course, at: int) -> float:
    """The share of the work."""
    return max((sample.done for sample in course.samples if sample.at <= at), default=0.0)


def on_schedule(at: int) -> float:
    """The share of the work that uniform progress would have done."""
    return min(1.0, at / HOUR_US / DUE_H)


def spent(leases: Sequence[Lease], until: int) -> float:
    """Dollars for the leases until then."""
    return dollars(
        sum(
            rate * max(0, min(end, until) - start)
            for lease in leases
            for start, end, rate in pieces(lease)
        )
    )


def hourly(course: Course, span: Span) -> float:
    """Its mean rate in a span, in dollars per hour."""
    cost = spent(course.leases, span.end) - spent(course.leases, span.start)
    return cost / (span.ends - span.begins)


def pieces(lease: Lease) -> Iterator[tuple[int, int, int]]:
    """The stretches of a lease at one price: start, end and micro-dollars per hour."""
    starts = [start for start, _ in lease.prices]
    for (start, rate), end in zip(lease.prices, [*starts[1:], lease.end], strict=True):
        yield start, end, rate


def _with_gaps(course: Course) -> Iterator[Span]:
    leases = sorted(course.leases, key=lambda one: one.start)
    until = list(accumulate((lease.end for lease in leases), max))  # it has a GPU, of those so far
    for (lease, following), end in zip(pairwise(leases), until, strict=False):
        is_handed_off = following.start <= end + COLD_S * SECOND_US
        yield Span(tree_of(lease.leaf), lease.start, following.start if is_handed_off else end)
        if not is_handed_off:
            is_ahead = done_by(course, end) > on_schedule(end)
            yield Span(PAUSED if is_ahead else WITHOUT, end, following.start)
    for lease in leases[-1:]:
        yield Span(tree_of(lease.leaf), lease.start, until[-1])
