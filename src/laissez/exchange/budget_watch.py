"""Budgets that act at the very instant at which they are spent.

Before a request is applied, every threshold that is crossed by its time takes effect at its own
time: the market is brought there, and the events carry that time. So it makes no difference how
late anybody looks, or whether the server ran meanwhile.

Bills are not added up for every command. A tenant is never charged more than the sum of its limits,
so no threshold can be crossed before a time that is known, and until then nobody looks. Close to
it, time is cut into cells, counted from when the budget was set, and each is looked at where it
begins: the instant of crossing is worked out from the rate of that moment. If the rate rises within
the cell, the budget acts later than it should, by less than the cell, which is below a second. When
it acts depends on nothing but what the tenant has and is charged: what others do that does not
change its rates makes no difference that it could see.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from laissez.exchange import budgets
from laissez.exchange.accounts import NEVER_DUE, Account, BudgetRecord
from laissez.exchange.budgets import THRESHOLDS, Meter, measure, micro_dollars
from laissez.exchange.commands import Action
from laissez.exchange.events import BudgetSpent, BudgetWarning, Event
from laissez.exchange.refusals import Denial, Refused
from laissez.market.commands import (
    PRICE_MAX,
    TIME_MAX_US,
    AdvanceTime,
    Alternative,
    CancelOrder,
    Command,
    Relinquish,
    SetLimit,
)
from laissez.market.events import LeaseStarted, LimitSet
from laissez.market.exposure import at_risk, most_at

if TYPE_CHECKING:
    from laissez.exchange.exchange import Exchange

CELL_US = 100_000
# Orders and leases: to look at so many costs about as much as a command or two, and everybody waits
# for it.
CELL_DOUBLES_AT = 10
CELL_DOUBLINGS_MAX = 3  # 0.8 s
STALE_MAX = 1_000  # entries of the heap that were replaced, before it is made anew


class BudgetWatch:
    """Watches the budgets of one exchange. What it knows follows from the accounts, and can be made
    anew at any time."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self.watched: dict[str, Account] = {}
        # by time; an entry counts if the account says the same
        self._heap: list[tuple[int, str]] = []
        self._none_due_before = 0
        self._quiet_until = 0  # nothing is crossed before, unless a command comes

    def watch_all(self) -> None:
        for account in self._exchange.accounts.values():
            self.watch(account)

    def watch(self, account: Account) -> None:
        """From now on, or no longer: as its budget says."""
        if budgets.is_watched(account.budget):
            self.watched[account.name] = account
            self._look_at(account, _watched(account).due)
        else:
            self.watched.pop(account.name, None)

    # -- when

    def is_due(self, now: int) -> bool:
        """Whether a threshold is crossed by now, though no command came. Changes nothing that is
        stored."""
        if not self.watched or now < self._quiet_until or now < self._next_due():
            return False
        market = self._exchange.market
        self._quiet_until = NEVER_DUE
        for account in self.watched.values():
            budget = _watched(account)
            crossed = (
                _not_before(measure(market, account, market.now), budgets.threshold(budget), now)
                if budget.due <= now
                else budget.due
            )
            self._quiet_until = min(self._quiet_until, NEVER_DUE if crossed is None else crossed)
        return self._quiet_until <= now

    def must_act(self, at: int) -> bool:
        """Whether anything has to be looked at before a request of that time."""
        self._quiet_until = 0
        market = self._exchange.market
        deadline = market.next_deadline()
        if at < self._none_due_before and (deadline is None or at < deadline):
            return False
        if not market.now <= at <= TIME_MAX_US:
            return False  # the market will say so
        return self._next_due() <= at or (deadline is not None and deadline <= at)

    def _next_due(self) -> int:
        heap = self._heap
        while heap and not self._counts(*heap[0]):
            heappop(heap)
        self._none_due_before = heap[0][0] if heap else NEVER_DUE
        return self._none_due_before

    def _counts(self, at: int, name: str) -> bool:
        account = self.watched.get(name)
        return account is not None and _watched(account).due == at

    def _look_at(self, account: Account, at: int) -> None:
        _watched(account).due = at
        self._none_due_before = min(self._none_due_before, at)
        heappush(self._heap, (at, account.name))
        if len(self._heap) > 2 * len(self.watched) + STALE_MAX:
            self._heap = [(_watched(one).due, name) for name, one in self.watched.items()]
            heapify(self._heap)

    # -- time is brought forward

    def bring_to(self, at: int) -> list[Event]:
        """Everything that is crossed by then, in the order of time. Holds end on the way: what they
        let a tenant win costs from then on."""
        events: list[Event] = []
        while True:
            due, deadline = self._next_due(), self._exchange.market.next_deadline()
            if deadline is not None and deadline <= min(due, at):
                events += self._advance(deadline)
            elif due <= at:
                events += self._look(self.watched[self._heap[0][1]], due, at)
            else:
                return events

    def _advance(self, to: int) -> list[Event]:
        return self._look_anew(self._exchange.change_market(AdvanceTime(), to))

    def _look_anew(self, events: Sequence[Event]) -> list[Event]:
        """A tenant that won a lease or has another limit is looked at anew."""
        for event in events:
            if type(event) is LeaseStarted or type(event) is LimitSet:
                account = self.watched.get(event.tenant)
                if account is not None:
                    self._look_at(account, self._exchange.market.now)
        return list(events)

    def _look(self, account: Account, when: int, until: int) -> list[Event]:
        """Measure one tenant at that instant. No command comes before `until`, so its rate does not
        rise, unless it wins a lease when a hold ends."""
        market = self._exchange.market
        events = self._advance(when) if when > market.now else []
        budget = _watched(account)
        meter = measure(market, account, market.now)
        while budgets.is_watched(budget) and meter.spent >= budgets.threshold(budget):
            events.append(_crossed(account, budget, meter))
            budget.reached += 1
        if budgets.is_watched(budget):
            self._look_again(account, meter, until)
            return events
        budget.due, budget.pace, budget.spent_at = NEVER_DUE, 0, meter.at
        self.watch(account)
        return events + self._look_anew(self._act(account, budget.action))

    def _look_again(self, account: Account, meter: Meter, until: int) -> None:
        budget = _watched(account)
        budget.pace = meter.worst
        crossed = meter.reaches(budgets.threshold(budget), until)
        if crossed is not None and crossed <= until:
            self._look_at(account, crossed)
        else:  # cells that begin before any command comes would tell nothing new
            begins = max(meter.at, self._cell(account, until))
            self._look_at(
                account, self._next_look(account, measure(self._exchange.market, account, begins))
            )

    # -- a threshold

    def _act(self, account: Account, action: Action) -> list[Event]:
        """Orders first: a leaf that is given up must not be won again by one of them."""
        if action is Action.WARN:
            return []
        market, name = self._exchange.market, account.name
        events: list[Event] = []

        def change(command: Command) -> None:
            events.extend(self._exchange.change_market(command, market.now))

        for order in market.orders(name):
            change(CancelOrder(name, order.order))
        if action is Action.NO_NEW_ORDERS:
            return events
        for lease in market.leases(name):
            floor = market.floor(lease.leaf)
            # While it is held, a lower limit does not make a lease cheaper (M17): others could
            # still make it cost what it started with.
            if action is Action.RELINQUISH or most_at(market, name, lease.lease, floor) > floor:
                change(Relinquish(name, lease.lease, True))
            else:
                limit = floor if lease.limit is None else min(lease.limit, floor)
                change(SetLimit(name, lease.lease, limit))
        return events

    # -- after a request, and before one

    def note(self, events: Iterable[Event]) -> None:
        """A lease that was won, or a limit that was set, may be charged more than was reckoned
        with."""
        for event in events:
            if type(event) is LeaseStarted or type(event) is LimitSet:
                account = self.watched.get(event.tenant)
                if account is not None:
                    self._quicken(account, PRICE_MAX if event.limit is None else event.limit)

    def _quicken(self, account: Account, more: int) -> None:
        budget, now = _watched(account), self._exchange.market.now
        left = max(0, budget.due - now) * budget.pace
        budget.pace += more
        earliest = now + left // budget.pace if budget.pace else NEVER_DUE
        is_close = earliest < self._cell(account, now) + self._width(account)
        self._look_at(account, now if is_close else min(budget.due, self._cell(account, earliest)))

    def check_order(
        self,
        account: Account,
        alternatives: tuple[Alternative, ...],
        at: int,
        amended: int | None = None,
    ) -> None:
        """May it be placed, or an order become it? Withdrawing it too soon must not cost more than
        is left."""
        budget = account.budget
        if budget is None:
            return
        if budgets.is_spent(budget):
            raise Refused(Denial.BUDGET_BLOCKS_ORDERS, "", budget.amount)
        fees = at_risk(self._exchange.market, account.name, alternatives, amended)
        if not fees or account.name not in self.watched:
            return
        left = budgets.whole(budget) - measure(self._exchange.market, account, at).spent
        if fees >= left and budget.action is not Action.WARN:
            raise Refused(
                Denial.FEES_ABOVE_BUDGET, "", micro_dollars(fees), micro_dollars(max(0, left))
            )
        self._look_at(account, min(budget.due, at))  # what it is liable for counts as spent

    def check_limit(self, account: Account, number: int, limit: int | None) -> None:
        budget = account.budget
        if (
            budget is None
            or budget.action is not Action.LIMITS_TO_FLOOR
            or not budgets.is_spent(budget)
        ):
            return
        lease = self._exchange.market.lease(account.name, number)
        if lease is None or lease.end is not None:
            return  # the market will say so
        if lease.limit is not None and (limit is None or limit > lease.limit):
            raise Refused(Denial.BUDGET_BLOCKS_LIMITS, "", budget.amount)

    # -- cells

    def _width(self, account: Account) -> int:
        """Of a cell: wider where a look costs more, so that no tenant's budget takes much of
        everybody's time."""
        counts = self._exchange.market.counts(account.name)
        # What is over is on the books for a while, too. It is counted in a way that closing them
        # does not change: nobody's budget acts by that.
        items = counts.orders_open + counts.leases_live + counts.orders_placed // 1_000
        return CELL_US << min((items // CELL_DOUBLES_AT).bit_length(), CELL_DOUBLINGS_MAX)

    def _cell(self, account: Account, at: int) -> int:
        """Where the cell of that time begins."""
        return at - (at - _watched(account).since) % self._width(account)

    def _next_look(self, account: Account, meter: Meter) -> int:
        """Nothing is crossed before, whatever becomes of the rate; or, where that cannot be said of
        a whole cell, as the rate is now."""
        if meter.worst == 0:
            return NEVER_DUE
        threshold = budgets.threshold(_watched(account))
        earliest = meter.at + max(0, threshold - meter.spent) // meter.worst
        end = self._cell(account, meter.at) + self._width(account)
        if earliest >= end:
            return min(self._cell(account, earliest), NEVER_DUE)
        crossed = meter.reaches(threshold, end)
        return end if crossed is None else min(crossed, end)


def _crossed(account: Account, budget: BudgetRecord, meter: Meter) -> Event:
    percent = THRESHOLDS[budget.reached]
    spent = micro_dollars(meter.spent)
    if percent == THRESHOLDS[-1]:
        return BudgetSpent(meter.at, account.name, budget.action, spent, budget.amount)
    ends_at = meter.reaches(budgets.whole(budget))
    return BudgetWarning(meter.at, account.name, percent, spent, budget.amount, meter.rate, ends_at)


def _not_before(meter: Meter, threshold: int, now: int) -> int | None:
    """When it is crossed, or an earlier time after now; None if never."""
    soonest = meter.soonest(threshold)
    return soonest if soonest is None or soonest > now else meter.reaches(threshold)


def _watched(account: Account) -> BudgetRecord:
    assert account.budget is not None
    return account.budget
