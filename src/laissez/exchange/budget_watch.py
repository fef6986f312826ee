"""Budgets that act at the very instant at which they are spent.

Before a request is applied, each threshold crossed by then takes effect at its own time: the market
advances to that time, and the events carry it. So the result is the same however late the next
request comes, and even if the server was down.

Adding up a bill for every command would be too slow. A tenant is never charged more than the sum of
its limits, which gives an earliest time for the next threshold; until then the budget needs no
check. Near that time, time is divided into cells, counted from the start of the budget. At the
start of a cell the instant of crossing is computed from the present rate. If the rate rises within
the cell, the budget acts late, by less than the cell, which is shorter than a second.

The instant must depend only on what the tenant holds and is charged. Otherwise a tenant could
observe what other tenants do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from laissez.exchange.accounts import Account
from laissez.exchange.budgets import NEVER_DUE, THRESHOLDS, BudgetRecord, Meter, measure
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
from laissez.units import micro_dollars

if TYPE_CHECKING:
    from laissez.exchange.exchange import Exchange

CELL_US = 100_000
# Orders and leases: checking these takes as long as one or two commands, and delays all tenants.
CELL_DOUBLES_AT = 10
CELL_DOUBLINGS_MAX = 3  # 0.8 s
STALE_MAX = 1_000  # replaced entries in the heap before it is rebuilt


class BudgetWatch:
    """Watches the budgets of one exchange. Its state is a cache and can be rebuilt from the
    accounts."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self.watched: dict[str, Account] = {}
        # (due, tenant); an entry is stale if the tenant's budget has another `due`
        self._heap: list[tuple[int, str]] = []
        self._none_due_before = 0
        self._quiet_until = 0  # without a command, no threshold is crossed before

    def watch_all(self) -> None:
        for account in self._exchange.accounts.values():
            self.watch(account)

    def watch(self, account: Account) -> None:
        """Start or stop watching an account, depending on its budget."""
        if account.budget is None or account.budget.is_spent:
            self.watched.pop(account.name, None)
        else:
            self.watched[account.name] = account
            self._schedule(account, account.budget.due)

    def is_due(self, now: int) -> bool:
        """Whether a threshold has been crossed since the last command. Changes no stored state."""
        if not self.watched or now < self._quiet_until or now < self._next_due():
            return False
        market = self._exchange.market
        self._quiet_until = NEVER_DUE
        for account in self.watched.values():
            budget = _watched(account)
            crossed = (
                _crossing(measure(market, account, market.now), budget.threshold, now)
                if budget.due <= now
                else budget.due
            )
            self._quiet_until = min(self._quiet_until, NEVER_DUE if crossed is None else crossed)
        return self._quiet_until <= now

    def must_act(self, at: int) -> bool:
        """Whether a budget must be checked, or a hold ends, before a request at that time."""
        self._quiet_until = 0
        market = self._exchange.market
        deadline = market.next_deadline()
        if at < self._none_due_before and (deadline is None or at < deadline):
            return False
        if not market.now <= at <= TIME_MAX_US:
            return False  # the market refuses this
        return self._next_due() <= at or (deadline is not None and deadline <= at)

    def _next_due(self) -> int:
        heap = self._heap
        while heap and not self._is_current(*heap[0]):
            heappop(heap)
        self._none_due_before = heap[0][0] if heap else NEVER_DUE
        return self._none_due_before

    def _is_current(self, at: int, name: str) -> bool:
        account = self.watched.get(name)
        return account is not None and _watched(account).due == at

    def _schedule(self, account: Account, at: int) -> None:
        _watched(account).due = at
        self._none_due_before = min(self._none_due_before, at)
        heappush(self._heap, (at, account.name))
        if len(self._heap) > 2 * len(self.watched) + STALE_MAX:
            self._heap = [(_watched(one).due, name) for name, one in self.watched.items()]
            heapify(self._heap)

    # -- advancing time

    def advance_to(self, at: int) -> list[Event]:
        """Carry out all thresholds crossed by then, in order of time. Holds end on the way: leases
        won at their end are charged from then on."""
        events: list[Event] = []
        while True:
            due, deadline = self._next_due(), self._exchange.market.next_deadline()
            if deadline is not None and deadline <= min(due, at):
                events += self._advance(deadline)
            elif due <= at:
                events += self._check(self.watched[self._heap[0][1]], due, at)
            else:
                return events

    def _advance(self, to: int) -> list[Event]:
        return self._check_again(self._exchange.change_market(AdvanceTime(), to))

    def _check_again(self, events: Sequence[Event]) -> list[Event]:
        """Check tenants again that won a lease or got another limit."""
        for account, _ in self._with_new_limits(events):
            self._schedule(account, self._exchange.market.now)
        return list(events)

    def _check(self, account: Account, when: int, until: int) -> list[Event]:
        """Measure one tenant at `when`. No command comes before `until`, so its rate does not rise,
        unless it wins a lease when a hold ends."""
        market = self._exchange.market
        events = self._advance(when) if when > market.now else []
        budget = _watched(account)
        meter = measure(market, account, market.now)
        while not budget.is_spent and meter.spent >= budget.threshold:
            events.append(_crossed(account, budget, meter))
            budget.reached += 1
        if not budget.is_spent:
            self._reschedule(account, meter, until)
            return events
        budget.due, budget.pace, budget.spent_at = NEVER_DUE, 0, meter.at
        self.watch(account)
        return events + self._check_again(self._act(account, budget.action))

    def _reschedule(self, account: Account, meter: Meter, until: int) -> None:
        budget = _watched(account)
        budget.pace = meter.worst
        due = meter.reaches(budget.threshold, until)
        if due is None or due > until:
            # Cells that start before the next command would show nothing new.
            begins = max(meter.at, self._cell_start(account, until))
            due = self._next_check(account, measure(self._exchange.market, account, begins))
        self._schedule(account, due)

    def _act(self, account: Account, action: Action) -> list[Event]:
        """Cancel orders first: they must not win back a relinquished leaf."""
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
            # A lower limit does not make a held lease cheaper (M17): other bids could still raise
            # its charge to the limit that it started with.
            if action is Action.RELINQUISH or most_at(market, name, lease.lease, floor) > floor:
                change(Relinquish(name, lease.lease, True))
            else:
                limit = floor if lease.limit is None else min(lease.limit, floor)
                change(SetLimit(name, lease.lease, limit))
        return events

    # -- requests

    def note(self, events: Iterable[Event]) -> None:
        """Account for new leases and limits, which may raise a tenant's charges."""
        for account, limit in self._with_new_limits(events):
            self._raise_pace(account, limit)

    def _with_new_limits(self, events: Iterable[Event]) -> list[tuple[Account, int]]:
        """The watched tenants that won a lease or got another limit, with the lease's limit."""
        return [
            (self.watched[event.tenant], PRICE_MAX if event.limit is None else event.limit)
            for event in events
            if (type(event) is LeaseStarted or type(event) is LimitSet)
            and event.tenant in self.watched
        ]

    def _raise_pace(self, account: Account, more: int) -> None:
        budget, now = _watched(account), self._exchange.market.now
        left = max(0, budget.due - now) * budget.pace
        budget.pace += more
        earliest = now + left // budget.pace if budget.pace else NEVER_DUE
        is_close = earliest < self._cell_start(account, now) + self._cell_width(account)
        self._schedule(
            account, now if is_close else min(budget.due, self._cell_start(account, earliest))
        )

    def check_order(
        self,
        account: Account,
        alternatives: tuple[Alternative, ...],
        at: int,
        amended: int | None = None,
    ) -> None:
        """Refuse an order if the budget is spent, or could not pay the fees for withdrawing it."""
        budget = account.budget
        if budget is None:
            return
        if budget.is_spent and budget.action is not Action.WARN:
            raise Refused(Denial.BUDGET_BLOCKS_ORDERS, "", budget.amount)
        fees = at_risk(self._exchange.market, account.name, alternatives, amended)
        if not fees or budget.is_spent:
            return
        left = budget.charge - measure(self._exchange.market, account, at).spent
        if fees >= left and budget.action is not Action.WARN:
            raise Refused(
                Denial.FEES_ABOVE_BUDGET, "", micro_dollars(fees), micro_dollars(max(0, left))
            )
        self._schedule(account, min(budget.due, at))  # fees that it risks count as spent

    def check_limit(self, account: Account, number: int, limit: int | None) -> None:
        budget = account.budget
        if budget is None or budget.action is not Action.LIMITS_TO_FLOOR or not budget.is_spent:
            return
        lease = self._exchange.market.lease(account.name, number)
        if lease is None or lease.end is not None:
            return  # the market refuses this
        if lease.limit is not None and (limit is None or limit > lease.limit):
            raise Refused(Denial.BUDGET_BLOCKS_LIMITS, "", budget.amount)

    # -- cells

    def _cell_width(self, account: Account) -> int:
        """Cells are wider where a check costs more, so that no budget slows down the market."""
        counts = self._exchange.market.counts(account.name)
        # Past orders cost time too, until the books are closed. The total of orders placed stands
        # for them: closing the books must not change when a budget acts.
        items = counts.orders_open + counts.leases_live + counts.orders_placed // 1_000
        return CELL_US << min((items // CELL_DOUBLES_AT).bit_length(), CELL_DOUBLINGS_MAX)

    def _cell_start(self, account: Account, at: int) -> int:
        """The start of the cell that contains `at`."""
        return at - (at - _watched(account).since) % self._cell_width(account)

    def _next_check(self, account: Account, meter: Meter) -> int:
        """The time of the next check. No threshold is crossed before, at any possible rate; within
        the present cell, at the present rate."""
        if meter.worst == 0:
            return NEVER_DUE
        threshold = _watched(account).threshold
        earliest = meter.at + max(0, threshold - meter.spent) // meter.worst
        end = self._cell_start(account, meter.at) + self._cell_width(account)
        if earliest >= end:
            return min(self._cell_start(account, earliest), NEVER_DUE)
        crossed = meter.reaches(threshold, end)
        return end if crossed is None else min(crossed, end)


def _crossed(account: Account, budget: BudgetRecord, meter: Meter) -> Event:
    percent = THRESHOLDS[budget.reached]
    spent = micro_dollars(meter.spent)
    if percent == THRESHOLDS[-1]:
        return BudgetSpent(meter.at, account.name, budget.action, spent, budget.amount)
    ends_at = meter.reaches(budget.charge)
    return BudgetWarning(meter.at, account.name, percent, spent, budget.amount, meter.rate, ends_at)


def _crossing(meter: Meter, threshold: int, now: int) -> int | None:
    """The time of crossing, or an earlier time after `now`; None if never."""
    soonest = meter.soonest(threshold)
    return soonest if soonest is None or soonest > now else meter.reaches(threshold)


def _watched(account: Account) -> BudgetRecord:
    assert account.budget is not None
    return account.budget
