"""Budgets that act, at the very instant at which they are used up.

Before a request is applied, every threshold that is crossed by its time takes effect at its own
time: the market is brought there, and what happens is told as of then. So it makes no difference
how late anybody looks, or whether the server ran meanwhile.

Bills are not added up for every command. A tenant is never charged more than the sum of its limits,
so no threshold can be crossed before a time that is known, and until then nobody looks. Close to
it, time is cut into cells, counted from when the budget was set, and each is looked at where it
begins: the instant of crossing is worked out from the rate of that moment. If the rate rises within
the cell, it acts later than it should, by less than the cell, which is below a second. When it acts
depends on nothing but what the tenant has and is charged: what others do that does not change its
rates makes no difference that it could see.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from laissez.market import commands as to_market
from laissez.market.commands import PRICE_MAX, TIME_MAX_US, Alternative
from laissez.market.exposure import at_risk, most_at
from laissez.market.money import dollars, parse_price
from laissez.server import budgets
from laissez.server.accounts import NEVER_LOOKED_AT, Account, BudgetRecord
from laissez.server.budgets import THRESHOLDS, Meter, measure
from laissez.server.outcomes import Told
from laissez.server.telling import optional_time, price
from laissez.server.turned import Turned
from laissez.wire.events import BudgetSpent, BudgetWarning, LeaseStarted, LimitSet
from laissez.wire.problems import Code
from laissez.wire.times import format_time

if TYPE_CHECKING:
    from laissez.server.exchange import Exchange

CELL_US = 100_000
# orders and leases: to look at so many costs about as much as a command or two, and everybody waits
# for it
CELL_DOUBLES_AT = 10
CELL_DOUBLINGS_MAX = 3  # 0.8 s
STALE_MAX = 1_000  # entries of the heap that were replaced, before it is made anew


class Acting:
    """Watches the budgets of one exchange. What it remembers follows from the accounts, and can be
    made anew at any time."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self.watched: dict[str, Account] = {}
        # by time; an entry counts if the account says the same
        self._looks: list[tuple[int, str]] = []
        self._no_look_before = 0
        self._quiet_until = 0  # nothing is crossed before, unless a command comes

    def watch_all(self) -> None:
        for account in self._exchange.accounts.values():
            self.watch(account)

    def watch(self, account: Account) -> None:
        """From now on, or no longer: as its budget says."""
        if budgets.is_watched(account.budget):
            self.watched[account.name] = account
            self._look_at(account, _watched(account).look_at)
        else:
            self.watched.pop(account.name, None)

    # -- when

    def is_due(self, now: int) -> bool:
        """Whether a threshold is crossed by now, though no command came. A question: it changes
        nothing that is stored."""
        if not self.watched or now < self._quiet_until or now < self._next_look():
            return False
        market = self._exchange.market
        self._quiet_until = NEVER_LOOKED_AT
        for account in self.watched.values():
            budget = _watched(account)
            crossed = (
                _not_before(measure(market, account, market.now), budgets.threshold(budget), now)
                if budget.look_at <= now
                else budget.look_at
            )
            self._quiet_until = min(
                self._quiet_until, NEVER_LOOKED_AT if crossed is None else crossed
            )
        return self._quiet_until <= now

    def must_act(self, at: int) -> bool:
        """Whether anything has to be looked at before a request of that time."""
        self._quiet_until = 0
        market = self._exchange.market
        deadline = market.next_deadline()
        if at < self._no_look_before and (deadline is None or at < deadline):
            return False
        if not market.now <= at <= TIME_MAX_US:
            return False  # the market will say so
        return self._next_look() <= at or (deadline is not None and deadline <= at)

    def _next_look(self) -> int:
        looks = self._looks
        while looks and not self._counts(*looks[0]):
            heappop(looks)
        self._no_look_before = looks[0][0] if looks else NEVER_LOOKED_AT
        return self._no_look_before

    def _counts(self, at: int, name: str) -> bool:
        account = self.watched.get(name)
        return account is not None and _watched(account).look_at == at

    def _look_at(self, account: Account, at: int) -> None:
        _watched(account).look_at = at
        self._no_look_before = min(self._no_look_before, at)
        heappush(self._looks, (at, account.name))
        if len(self._looks) > 2 * len(self.watched) + STALE_MAX:
            self._looks = [(_watched(one).look_at, name) for name, one in self.watched.items()]
            heapify(self._looks)

    # -- time is brought forward

    def bring_to(self, at: int) -> list[Told]:
        """Everything that is crossed by then, in the order of time. Holds end on the way: what they
        let a tenant win costs from then on."""
        told: list[Told] = []
        while True:
            look, deadline = self._next_look(), self._exchange.market.next_deadline()
            if deadline is not None and deadline <= min(look, at):
                told += self._advance(deadline)
            elif look <= at:
                told += self._look(self.watched[self._looks[0][1]], look, at)
            else:
                return told

    def _advance(self, to: int) -> list[Told]:
        exchange = self._exchange
        return self._again(exchange.tell(exchange.market.apply(to_market.AdvanceTime(), to)))

    def _again(self, told: Sequence[Told]) -> list[Told]:
        """Whoever won a lease or has another limit is looked at anew."""
        for one in told:
            account = self.watched.get(one.tenant or "")
            if account is not None and type(one.event) in (LeaseStarted, LimitSet):
                self._look_at(account, self._exchange.market.now)
        return list(told)

    def _look(self, account: Account, when: int, until: int) -> list[Told]:
        """Measure one tenant at that instant. No command comes before `until`, so its rate does not
        rise, unless it wins a lease when a hold ends."""
        market = self._exchange.market
        told = self._advance(when) if when > market.now else []
        budget = _watched(account)
        meter = measure(market, account, market.now)
        while budgets.is_watched(budget) and meter.spent >= budgets.threshold(budget):
            told.append(self._tell(account, budget, meter))
            budget.reached += 1
        if budgets.is_watched(budget):
            self._look_again(account, meter, until)
            return told
        budget.look_at, budget.pace = NEVER_LOOKED_AT, 0
        budget.spent_at = None if budget.spent_at is None else meter.at
        self.watch(account)
        return told + self._again(self._act(account, budget.action))

    def _look_again(self, account: Account, meter: Meter, until: int) -> None:
        budget = _watched(account)
        budget.pace = meter.worst
        crossed = meter.reaches(budgets.threshold(budget), until)
        if crossed is not None and crossed <= until:
            self._look_at(account, crossed)
        else:  # cells that begin before any command comes would tell nothing new
            begins = max(meter.at, _cell(account, until))
            self._look_at(
                account, _next_look(account, measure(self._exchange.market, account, begins))
            )

    # -- a threshold

    def _tell(self, account: Account, budget: BudgetRecord, meter: Meter) -> Told:
        percent = THRESHOLDS[budget.reached]
        at, spent, amount = (
            format_time(meter.at),
            dollars(meter.spent),
            dollars(budgets.whole(budget)),
        )
        if percent == THRESHOLDS[-1]:
            return self._exchange.tell_tenant(
                account, BudgetSpent(at, budget.action, spent, amount)
            )
        ends_at = optional_time(meter.reaches(budgets.whole(budget)))
        return self._exchange.tell_tenant(
            account, BudgetWarning(at, percent, spent, amount, price(meter.rate), ends_at)
        )

    def _act(self, account: Account, action: str) -> list[Told]:
        """Orders first: a leaf that is given up must not be won again by one of them."""
        if action == budgets.WARN:
            return []
        exchange, market, name = self._exchange, self._exchange.market, account.name
        told: list[Told] = []
        for order in market.orders(name):
            told += exchange.tell(
                market.apply(to_market.CancelOrder(name, order.order), market.now)
            )
            account.forget_order(order.order)
        for lease in (
            market.leases(name) if action in (budgets.LIMITS_TO_FLOOR, budgets.RELINQUISH) else ()
        ):
            floor = market.floor(lease.leaf)
            # While it is held, a lower limit does not make a lease cheaper (M17): others could
            # still make it cost what it started with.
            if action == budgets.RELINQUISH or most_at(market, name, lease.lease, floor) > floor:
                told += exchange.tell(
                    market.apply(to_market.Relinquish(name, lease.lease, True), market.now)
                )
            else:
                limit = floor if lease.limit is None else min(lease.limit, floor)
                told += exchange.tell(
                    market.apply(to_market.SetLimit(name, lease.lease, limit), market.now)
                )
        return told

    # -- after a request, and before one

    def note(self, told: Iterable[Told]) -> None:
        """A lease that was won, or a limit that was set, may be charged more than was reckoned
        with."""
        for one in told:
            event = one.event
            if type(event) is LeaseStarted or type(event) is LimitSet:
                account = self.watched.get(one.tenant or "")
                if account is not None:
                    self._quicken(
                        account, PRICE_MAX if event.limit is None else parse_price(event.limit)
                    )

    def _quicken(self, account: Account, more: int) -> None:
        budget, now = _watched(account), self._exchange.market.now
        left = max(0, budget.look_at - now) * budget.pace
        budget.pace += more
        earliest = now + left // budget.pace if budget.pace else NEVER_LOOKED_AT
        self._look_at(
            account,
            (
                now
                if earliest < _cell(account, now) + _width(account)
                else min(budget.look_at, _cell(account, earliest))
            ),
        )

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
        if budget is None or budget.action == "":
            return
        if budgets.is_spent(budget):
            raise _spent(budget, "no order is placed or amended")
        fees = at_risk(self._exchange.market, account.name, alternatives, amended)
        if not fees or account.name not in self.watched:
            return
        left = budgets.whole(budget) - measure(self._exchange.market, account, at).spent
        if fees >= left and budget.action != budgets.WARN:
            most = (
                f"withdrawing this order too soon could cost up to {dollars(fees)} dollars, which"
                " is all that it bids for as long as it must stand"
            )
            raise Turned(
                Code.BUDGET_SPENT, f"{most}, and {dollars(max(0, left))} of your budget are left"
            )
        self._look_at(account, min(budget.look_at, at))  # what it is liable for counts as spent

    def check_limit(self, account: Account, number: int, limit: int | None) -> None:
        budget = account.budget
        if (
            budget is None
            or budget.action != budgets.LIMITS_TO_FLOOR
            or not budgets.is_spent(budget)
        ):
            return
        lease = self._exchange.market.lease(account.name, number)
        assert lease is not None
        if lease.limit is not None and (limit is None or limit > lease.limit):
            raise _spent(budget, "no limit is raised")


def _width(account: Account) -> int:
    """Of a cell: wider where a look costs more, so that no tenant's budget takes much of
    everybody's time."""
    # What is over is on the books for a while, too. It is counted in a way that closing them does
    # not change: nobody's budget acts by that.
    items = account.open_orders + account.held + account.orders_numbered // 1_000
    return CELL_US << min((items // CELL_DOUBLES_AT).bit_length(), CELL_DOUBLINGS_MAX)


def _cell(account: Account, at: int) -> int:
    """Where the cell of that time begins."""
    return at - (at - _watched(account).since) % _width(account)


def _next_look(account: Account, meter: Meter) -> int:
    """Nothing is crossed before, whatever becomes of the rate; or, where that cannot be said of a
    whole cell, as the rate is now."""
    if meter.worst == 0:
        return NEVER_LOOKED_AT
    threshold = budgets.threshold(_watched(account))
    earliest = meter.at + max(0, threshold - meter.spent) // meter.worst
    end = _cell(account, meter.at) + _width(account)
    if earliest >= end:
        return min(_cell(account, earliest), NEVER_LOOKED_AT)
    crossed = meter.reaches(threshold, end)
    return end if crossed is None else min(crossed, end)


def _not_before(meter: Meter, threshold: int, now: int) -> int | None:
    """When it is crossed, or an earlier time after now; None if never."""
    soonest = meter.soonest(threshold)
    return soonest if soonest is None or soonest > now else meter.reaches(threshold)


def _watched(account: Account) -> BudgetRecord:
    assert account.budget is not None
    return account.budget


def _spent(budget: BudgetRecord, what: str) -> Turned:
    amount = budgets.amount_text(budget.amount)
    return Turned(
        Code.BUDGET_SPENT,
        f"your budget of {amount} dollars is spent, and {what} until you set a new one or"
        " remove it",
    )
