"""How often leaves change hands: leases that started and ended since the start of the process, and
budgets that were used up."""

from __future__ import annotations

from laissez.market.reasons import EndReason
from laissez.server.outcomes import Outcome
from laissez.wire.events import BudgetSpent, LeaseEnded, LeaseStarted


class Turnover:
    """Counted outcome by outcome. A leaf is transferred where its lease ends for one tenant and
    starts for another in one outcome."""

    def __init__(self) -> None:
        self.started = 0
        self.transfers = 0
        self.ended: dict[str, int] = {str(reason): 0 for reason in EndReason}
        self.budgets_spent = 0

    def count(self, outcome: Outcome) -> None:
        lost: dict[str, str | None] = {}
        for told in outcome.told:
            event = told.event
            if type(event) is LeaseEnded:
                self.ended[event.reason] += 1
                lost[event.leaf] = told.tenant
            elif type(event) is LeaseStarted:
                self.started += 1
                if lost.pop(event.leaf, told.tenant) != told.tenant:
                    self.transfers += 1
            elif type(event) is BudgetSpent:
                self.budgets_spent += 1

    @property
    def all_ended(self) -> int:
        return sum(self.ended.values())
