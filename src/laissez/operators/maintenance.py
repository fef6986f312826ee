"""Maintenance: a window presses harder as it nears, so that tenants leave at a time of their own
choosing, and at its start the leaves go offline.

The pressure climbs in a straight line from 0 to `peak` over the lead time. It stays there until
every leaf is offline; then it is 0, so that the floor has fallen by the time the leaves come back.
This is the only thing of the operator's side that ever ends a lease other than by price.

At its end a window brings back the leaves that it took (`Memory.taken`), and no others: who took a
broken host offline by hand does not want it back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from laissez.config import Instant
from laissez.operators.errors import MapError
from laissez.operators.fields import Pressure, Seconds
from laissez.operators.inframap import InfraMap
from laissez.operators.view import OperatorView
from laissez.units import SECOND_US


@dataclass(frozen=True, kw_only=True)
class Maintenance(InfraMap):
    start: Instant
    end: Instant
    lead_s: Seconds = 14_400.0
    peak: Pressure = 3.0

    def __post_init__(self) -> None:
        if not self.start < self.end:
            raise MapError("end: expected a time after start")

    def is_open(self, now: int) -> bool:
        return self.start <= now < self.end

    def pressure(self, node: str, values: Mapping[str, float], view: OperatorView) -> float:
        if self.is_open(view.now):
            return self.peak if view.online(node) else 0.0
        if view.now >= self.end:
            return 0.0
        return self.peak * (1 - (self.start - view.now) / (self.lead_s * SECOND_US))

    def leaves(self, view: OperatorView) -> Iterator[str]:
        for node in self.nodes:
            yield from view.places.below(node)


def closed_leaves(windows: Sequence[Maintenance], view: OperatorView) -> frozenset[str]:
    """The leaves below a window that is open."""
    return frozenset(
        leaf for window in windows if window.is_open(view.now) for leaf in window.leaves(view)
    )


def left_offline(window: Maintenance, view: OperatorView) -> tuple[str, ...]:
    """Leaves below a window that is open, or has ended no longer ago than it lasted, that are
    offline and that no window took: they will not come back by themselves."""
    if not window.start <= view.now < 2 * window.end - window.start:
        return ()
    return tuple(
        leaf
        for leaf in window.leaves(view)
        if leaf in view.offline and leaf not in view.memory.taken
    )
