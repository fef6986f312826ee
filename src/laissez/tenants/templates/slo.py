"""A service with an objective: what it needs is told (`needed`), and what it lacks costs a penalty.

Utility is the share of the objective that is met. Each replica that is needed meets an equal part
of it, so each is worth the penalty over their number. A *spare* replica meets nothing by itself; it
stands in while a lost one starts anew. If every replica is lost once in the time a node is usually
kept, a spare saves all their cold starts, so it is worth that share of the penalty, and never more
than a replica that is needed. A spare can come and go without anything being missed. Which replicas
are the spares is settled by their names: if any of them could be it, all would be priced as one,
and all could be lost at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

import msgspec

from laissez.tenants.hooks import HOLD_S, Leaves, Wish
from laissez.tenants.templates.errors import TemplateError
from laissez.tenants.templates.template import (
    State,
    Template,
    checked,
    checked_duration,
    read_state,
)
from laissez.tenants.view import TenantView

COLD_START_S: Final = 60.0
_Count = Annotated[int, msgspec.Meta(ge=0)]


class SloState(State, frozen=True, tag="slo"):
    """How many replicas were needed last."""

    needed: _Count


class SloService(Template):
    """Loses `penalty` dollars per hour while it has no replica; `replicas` are needed until
    something else is told, within `least` and `most`."""

    def __init__(
        self,
        scopes: Wish,
        replicas: int,
        *,
        penalty: float,
        least: int = 1,
        most: int | None = None,
        spares: int = 0,
        cold_s: float = COLD_START_S,
        start: int = 0,
    ) -> None:
        self.least, self.most, self.spares = least, replicas if most is None else most, spares
        super().__init__(scopes, self.most + spares, start)
        if not 0 <= least <= self.most:
            raise TemplateError(
                "expected replicas from 0 on and at least as many at most as at least, found"
                f" {least} to {self.most}"
            )
        if spares < 0:
            raise TemplateError(f"expected 0 spare replicas or more, found {spares}")
        self.penalty = checked("the penalty in dollars per hour", penalty)
        self.cold_s = checked_duration("the cold start", cold_s)
        self._charged: dict[str, int] = {}
        self.needed(replicas, start)

    def state(self) -> dict[str, object]:
        written: dict[str, object] = msgspec.to_builtins(
            SloState(start=self.start, needed=self._needed)
        )
        return written

    def restore(self, state: Mapping[str, object]) -> None:
        known = read_state(state, SloState)
        self.start = known.start
        self.needed(known.needed, known.start)

    def see(self, view: TenantView) -> None:
        super().see(view)
        self._charged = {lease.leaf: lease.charged for lease in view.leases}

    def probed(self, probe: str, number: float, now: int) -> None:
        if probe != "needed":
            raise TemplateError(f"expected the probe needed, found {probe}")
        if not number.is_integer():
            raise TemplateError(f"expected a whole number of replicas, found {number}")
        self.needed(int(number), now)

    def needed(self, replicas: int, now: int) -> None:
        """So many replicas meet the objective now."""
        if replicas < 0:
            raise TemplateError(f"expected 0 replicas or more, found {replicas}")
        self._needed = min(self.most, max(self.least, replicas))

    def wishes(self, held: Leaves, now: int) -> list[Wish]:
        return [self.scopes] * (self._wanted() - self.usable(held))

    def utility_gap(self, held: Leaves, now: int) -> float:
        return self._met(self._wanted()) - self._met(self.usable(held))

    def marginal_utility(self, node: str, held: Leaves, now: int) -> float:
        rank = self._rank(node, held)
        return self._met(rank + 1) - self._met(rank) if self.is_usable(node) else 0.0

    def value_per_utility(self, now: int) -> float:
        return self.penalty

    def is_redundant(self, node: str, held: Leaves, now: int) -> bool:
        return self._rank(node, held) >= self._needed

    def cold_start_s(self, node: str) -> float:
        return self.cold_s

    def _rank(self, node: str, held: Leaves) -> int:
        """How many replicas come before `node`: all of them if it is new, else those that cost
        less. The dearest are the spares."""
        own = self._cost(node)
        return sum(
            self.is_usable(leaf) and (node not in held or self._cost(leaf) < own) for leaf in held
        )

    def _cost(self, leaf: str) -> tuple[int, str]:
        """By cost, then by name; one that is not there yet will have been got for less."""
        return self._charged.get(leaf, 0), leaf

    def _wanted(self) -> int:
        """With spares, unless nothing is needed: nothing needs no spare."""
        return self._needed + self.spares if self._needed else 0

    def _met(self, count: int) -> float:
        """The share of the objective that so many replicas meet, and what its spares add to
        that."""
        if not self._needed:
            return 0.0
        spare = min(1.0 / self._needed, self.cold_s / HOLD_S)
        return (
            min(count, self._needed) / self._needed
            + min(self.spares, max(0, count - self._needed)) * spare
        )
