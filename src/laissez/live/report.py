"""What a task says about itself: what it sent, what was refused, what its budget came to, and what
it leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from laissez.client import LaissezError
from laissez.live.attending import AWAY
from laissez.live.trader import Outcome
from laissez.live.translation import described
from laissez.tenants import AdapterSettings, TenantView
from laissez.tenants.leases import rate_max
from laissez.units import format_price

Tell: TypeAlias = Callable[..., None]  # tell(what, **facts)


class Report:
    """Tells what is worth knowing, and nothing twice in a row."""

    def __init__(self, tell: Tell) -> None:
        self.tell = tell
        self._last: dict[str, dict[str, str]] = {}  # what was last said about each thing

    def once(self, about: str, what: str, **facts: str) -> None:
        """Unless it was the last that was said about this."""
        if self._last.get(about) != facts:
            self._last[about] = facts
            self.tell(what, **facts)

    def over(self, about: str) -> None:
        """If it comes again it is to be said again."""
        self._last.pop(about, None)

    def outcomes(self, view: TenantView, outcomes: list[Outcome]) -> None:
        """What was sent after this view and what became of it; raises if nobody was there to
        answer."""
        leaves = {held.lease: held.leaf for held in view.leases}
        for command, outcome in outcomes:
            asked = described(command, leaves)
            if isinstance(outcome, AWAY):
                raise outcome
            if isinstance(outcome, LaissezError):
                self.once(
                    f"refused {asked}",
                    "refused",
                    **asked,
                    why=str(outcome),
                )
            else:
                self.tell(str(command.__struct_config__.tag), **asked)

    def budget(self, settings: AdapterSettings, view: TenantView) -> None:
        """That there is nothing to spend any more: from then on the task only waits."""
        if settings.budget is not None and not view.leases and rate_max(settings, view.spent) == 0:
            self.once(
                "budget",
                "budget_spent",
                budget=format_price(settings.budget),
                spent=format_price(view.spent),
            )

    def left(self, view: TenantView | None) -> None:
        """Nobody should pay for what they did not know that they have."""
        if view is None or not (view.leases or view.orders):
            return
        limits = [lease.limit for lease in view.leases]
        self.tell(
            "left",
            leases=str(len(view.leases)),
            orders=str(len(view.orders)),
            per_hour=format_price(sum(lease.charged for lease in view.leases)),
            at_most="no limit"
            if None in limits
            else format_price(sum(limit or 0 for limit in limits)),
            hint="they stay, and cost; `laissez tenant stop` gives them up",
        )
