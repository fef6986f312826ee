"""A service with an objective: its probe reports the number of replicas needed (`needed`), and
missing replicas cost a penalty.

Utility is the share of the objective that is met. Each needed replica meets an equal part of it, so
each is worth the penalty over their number. A *spare* replica meets nothing by itself, but stands
in while a lost one starts anew. If every replica is lost once in the time a node is usually kept, a
spare saves all their cold starts, so it is worth that share of the penalty, and never more than a
needed replica. A spare can come and go without anything being missed. The dearest replicas are the
spares, and names decide among equals: if any of them could be the spare, all would be priced as
one, and all could be lost at once.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from laissez.tenants.hooks import HOLD_S, Leaves, Wish
from laissez.tenants.inputs import NotNegative, Positive, checked
from laissez.tenants.templates.template import State, Template, TemplateError
from laissez.tenants.view import TenantView

COLD_START_S: Final = 60.0


class SloState(State, tag="slo"):
    """The number of replicas needed."""

    needed: Annotated[int, msgspec.Meta(ge=0)]


class SloService(Template):
    """Loses `penalty` dollars per hour while it has no replica. It needs `replicas` until it is
    told otherwise, between `least` and `most`."""

    probe = "needed"
    learned: SloState

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
        super().__init__(scopes, self.most + spares)
        if not 0 <= least <= self.most:
            raise TemplateError(
                f"expected 0 <= least <= most replicas, found {least} to {self.most}"
            )
        if spares < 0:
            raise TemplateError(f"expected 0 spare replicas or more, found {spares}")
        self.penalty = checked("penalty in dollars per hour", penalty, Positive, TemplateError)
        self.cold_s = checked("cold_s", cold_s, NotNegative, TemplateError)
        self._charged: dict[str, int] = {}
        self.adopt(SloState(start=start, needed=replicas))

    def adopt(self, learned: State) -> None:
        super().adopt(learned)
        self.needed(self.learned.needed, learned.start)

    def see(self, view: TenantView) -> None:
        super().see(view)
        self._charged = {lease.leaf: lease.charged for lease in view.leases}

    def told(self, number: float, now: int) -> None:
        if not number.is_integer():
            raise TemplateError(f"expected a whole number of replicas, found {number}")
        self.needed(int(number), now)

    def needed(self, replicas: int, now: int) -> None:
        """Told that this many replicas meet the objective now."""
        if replicas < 0:
            raise TemplateError(f"expected 0 replicas or more, found {replicas}")
        self.learned.needed = min(self.most, max(self.least, replicas))

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
        return self._rank(node, held) >= self.learned.needed

    def cold_start_s(self, node: str) -> float:
        return self.cold_s

    def _rank(self, node: str, held: Leaves) -> int:
        """The number of replicas needed before `node`: all if it is new, otherwise the cheaper."""
        own = self._cost(node)
        return sum(
            self.is_usable(leaf) and (node not in held or self._cost(leaf) < own) for leaf in held
        )

    def _cost(self, leaf: str) -> tuple[int, str]:
        """By cost, then by name. A node that is not held yet will be won for less."""
        return self._charged.get(leaf, 0), leaf

    def _wanted(self) -> int:
        """The replicas needed and their spares. Nothing needs no spare."""
        return self.learned.needed + self.spares if self.learned.needed else 0

    def _met(self, count: int) -> float:
        """The share of the objective that `count` replicas meet, with the worth of the spares."""
        needed = self.learned.needed
        if not needed:
            return 0.0
        spare = min(1.0 / needed, self.cold_s / HOLD_S)
        return min(count, needed) / needed + min(self.spares, max(0, count - needed)) * spare
