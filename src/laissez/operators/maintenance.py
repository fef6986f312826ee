"""Maintenance windows: the price rises as a window nears, so that tenants leave when it suits them,
and at its start the leaves go offline.

The pressure rises linearly from 0 to `peak` over the lead time. It stays there until every leaf is
offline, and is 0 then, so that the floor has fallen when the leaves come back. Nothing else on the
operator's side ever ends a lease other than by price.

At its end a window brings back the leaves that it took (`Memory.taken`) and no others: a broken
host that was taken offline by hand stays offline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from laissez.config import Instant
from laissez.operators.fields import MapError, Pressure, Seconds
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
            yield from view.leaves.below(node)

    def left_offline(self, view: OperatorView) -> tuple[str, ...]:
        """Offline leaves that no window took, so they will not come back by themselves. Reported
        from the start of the window until as long after its end as it lasted."""
        if not self.start <= view.now < 2 * self.end - self.start:
            return ()
        taken = view.memory.taken
        return tuple(
            leaf for leaf in self.leaves(view) if leaf in view.offline and leaf not in taken
        )


def closed_leaves(windows: Sequence[Maintenance], view: OperatorView) -> frozenset[str]:
    """The leaves below all open windows."""
    return frozenset(
        leaf for window in windows if window.is_open(view.now) for leaf in window.leaves(view)
    )
