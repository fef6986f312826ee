"""How often leaves change hands: leases that started and ended since the start of the process, and
budgets that were used up."""

from __future__ import annotations

from collections.abc import Sequence

from laissez.exchange.events import BudgetSpent, Event
from laissez.market.events import LeaseEnded, LeaseStarted
from laissez.market.reasons import EndReason


class Turnover:
    """Counted outcome by outcome. A leaf is transferred where its lease ends for one tenant and
    starts for another in one outcome."""

    def __init__(self) -> None:
        self.started = 0
        self.transfers = 0
        self.ended: dict[str, int] = {str(reason): 0 for reason in EndReason}
        self.budgets_spent = 0

    def count(self, events: Sequence[Event]) -> None:
        lost: dict[str, str] = {}
        for event in events:
            if type(event) is LeaseEnded:
                self.ended[event.reason] += 1
                lost[event.leaf] = event.tenant
            elif type(event) is LeaseStarted:
                self.started += 1
                if lost.pop(event.leaf, event.tenant) != event.tenant:
                    self.transfers += 1
            elif type(event) is BudgetSpent:
                self.budgets_spent += 1

    @property
    def all_ended(self) -> int:
        return sum(self.ended.values())
