"""The events that a task reports: commands, refusals, a spent budget, leases left."""

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
    """Reports events, but not the same one twice in a row."""

    def __init__(self, tell: Tell) -> None:
        self.tell = tell
        self._last: dict[str, dict[str, str]] = {}  # the last facts about each subject

    def once(self, about: str, what: str, **facts: str) -> None:
        """Report an event unless the last one about the same subject had the same facts."""
        if self._last.get(about) != facts:
            self._last[about] = facts
            self.tell(what, **facts)

    def over(self, about: str) -> None:
        """Forget the subject, so that its next event is reported."""
        self._last.pop(about, None)

    def outcomes(self, view: TenantView, outcomes: list[Outcome]) -> None:
        """Report the commands sent after this view. Raises if the server was away."""
        leaves = {held.lease: held.leaf for held in view.leases}
        for command, outcome in outcomes:
            asked = described(command, leaves)
            if isinstance(outcome, AWAY):
                raise outcome
            if isinstance(outcome, LaissezError):
                self.once(f"refused {asked}", "refused", **asked, why=str(outcome))
            else:
                self.tell(str(command.__struct_config__.tag), **asked)

    def budget(self, settings: AdapterSettings, view: TenantView) -> None:
        """Report that the budget is spent: from then on the task only waits."""
        if settings.budget is not None and not view.leases and rate_max(settings, view.spent) == 0:
            self.once(
                "budget",
                "budget_spent",
                budget=format_price(settings.budget),
                spent=format_price(view.spent),
            )

    def left(self, view: TenantView | None) -> None:
        """Report leases and orders that stay, because they cost money."""
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
