"""Budgets that act, at the very instant at which they are used up.

Before a request is applied, every threshold that is crossed by its time takes effect at its own time: the market is brought there, and what
happens is told as of then. So it makes no difference how late anybody looks, or whether the server ran meanwhile.

Bills are not added up for every command. A tenant is never charged more than the sum of its limits, so no threshold can be crossed before a
time that is known (`look_at`). Where the limits are far above the rates that time is too early, and then it is looked at again; with commands
coming in all the time not sooner than `LOOK_EVERY_US`, which is how much may be overspent. Without commands rates do not rise, and the instant
is worked out exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from laissez.market import commands as to_market
from laissez.market.commands import PRICE_MAX, TIME_MAX_US, Alternative
from laissez.market.exposure import at_risk
from laissez.market.money import dollars, parse_price
from laissez.service import budgets
from laissez.service.accounts import NEVER_LOOKED_AT, Account, BudgetRecord
from laissez.service.budgets import THRESHOLDS, Meter, measure
from laissez.service.outcomes import Told
from laissez.service.telling import optional_time, price
from laissez.service.turned import Turned
from laissez.wire.events import BudgetSpent, BudgetWarning, LeaseStarted, LimitSet
from laissez.wire.problems import Code
from laissez.wire.times import format_time

if TYPE_CHECKING:
    from laissez.service.exchange import Exchange

LOOK_EVERY_US = 100_000
STALE_MAX = 1_000  # entries of the heap that were replaced, before it is made anew


class Acting:
    """Watches the budgets of one exchange. What it remembers follows from the accounts, and can be made anew at any time."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self.watched: dict[str, Account] = {}
        self._looks: list[tuple[int, str]] = []  # by time; an entry counts if the account says the same
        self._no_look_before = 0
        self._exact: dict[str, Meter] = {}  # those that were measured while time is brought forward
        self._quiet_until = 0  # nothing is crossed before, unless a command comes

    def watch_all(self) -> None:
        for account in self._exchange.accounts.values():
            self.watch(account)

    def watch(self, account: Account) -> None:
        """From now on, or no longer: as its budget says."""
        self._exact.pop(account.name, None)
        if budgets.is_watched(account.budget):
            self.watched[account.name] = account
            self._look_at(account, _watched(account).look_at)
        else:
            self.watched.pop(account.name, None)

    # -- when

    def is_due(self, now: int) -> bool:
        """Whether a threshold is crossed by now, though no command came. A question: it changes nothing that is stored."""
        if not self.watched or now < self._quiet_until or now < self._next_look():
            return False
        market = self._exchange.market
        self._quiet_until = NEVER_LOOKED_AT
        for account in self.watched.values():
            budget = _watched(account)
            crossed = measure(market, account).reaches(budgets.threshold(budget)) if budget.look_at <= now else budget.look_at
            self._quiet_until = min(self._quiet_until, NEVER_LOOKED_AT if crossed is None else crossed)
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
        """Everything that is crossed by then, in the order of time. Holds end on the way: what they let a tenant win costs from then on."""
        told: list[Told] = []
        while (first := self._first(at)) is not None:
            when, account = first
            if account is None:
                told += self._advance(when)
            elif account.name in self._exact:
                told += self._reach(account, when)
            else:
                self._measure(account)
        for name, meter in self._exact.items():
            self._rest(self.watched[name], meter, at)
        self._exact.clear()
        return told

    def _first(self, at: int) -> tuple[int, Account | None] | None:
        """What is next, until then: an account to look at, or (None) a hold that ends."""
        look = self._next_look()
        deadline = self._exchange.market.next_deadline()
        if look <= at and (deadline is None or look < deadline or self._looks[0][1] not in self._exact):
            return look, self.watched[self._looks[0][1]]
        return (deadline, None) if deadline is not None and deadline <= at else None

    def _measure(self, account: Account) -> None:
        """From here on `look_at` is the exact instant, as long as no command comes."""
        meter = self._exact[account.name] = measure(self._exchange.market, account)
        crossed = meter.reaches(budgets.threshold(_watched(account)))
        self._look_at(account, NEVER_LOOKED_AT if crossed is None else crossed)

    def _rest(self, account: Account, meter: Meter, at: int) -> None:
        """Commands follow, and rates may rise up to the limits."""
        budget = _watched(account)
        left = max(0, budgets.threshold(budget) - meter.moved_to(at).spent)
        budget.pace = meter.worst
        wait = max(left // meter.worst, LOOK_EVERY_US) if meter.worst else NEVER_LOOKED_AT
        self._look_at(account, min(at + wait, NEVER_LOOKED_AT))

    def _advance(self, to: int) -> list[Told]:
        exchange = self._exchange
        return self._again(exchange.tell(exchange.market.apply(to_market.AdvanceTime(), to)))

    def _again(self, told: Sequence[Told]) -> list[Told]:
        """Whoever won a lease or has another limit is measured anew."""
        for one in told:
            account = self.watched.get(one.tenant or "")
            if account is not None and type(one.event) in (LeaseStarted, LimitSet):
                self._exact.pop(account.name, None)
                self._look_at(account, self._exchange.market.now)
        return list(told)

    # -- a threshold

    def _reach(self, account: Account, when: int) -> list[Told]:
        """If rates have fallen meanwhile it is not reached yet, and its time is worked out anew."""
        market = self._exchange.market
        told = self._advance(when) if when > market.now else []
        budget = _watched(account)
        meter = measure(market, account)
        while budgets.is_watched(budget) and meter.spent >= budgets.threshold(budget):
            told.append(self._tell(account, budget, meter))
            budget.reached += 1
        if budgets.is_watched(budget):
            self._measure(account)
            return told
        budget.look_at, budget.pace = NEVER_LOOKED_AT, 0
        self.watch(account)
        return told + self._again(self._act(account, budget.action))

    def _tell(self, account: Account, budget: BudgetRecord, meter: Meter) -> Told:
        percent = THRESHOLDS[budget.reached]
        at, spent, amount = format_time(meter.at), dollars(meter.spent), dollars(budgets.whole(budget))
        if percent == THRESHOLDS[-1]:
            return self._exchange.tell_tenant(account, BudgetSpent(at, budget.action, spent, amount))
        ends_at = optional_time(meter.reaches(budgets.whole(budget)))
        return self._exchange.tell_tenant(account, BudgetWarning(at, percent, spent, amount, price(meter.rate), ends_at))

    def _act(self, account: Account, action: str) -> list[Told]:
        """Orders first: a leaf that is given up must not be won again by one of them."""
        if action == budgets.WARN:
            return []
        exchange, market, name = self._exchange, self._exchange.market, account.name
        told: list[Told] = []
        for order in market.orders(name):
            told += exchange.tell(market.apply(to_market.CancelOrder(name, order.order), market.now))
            account.forget_order(order.order)
        for lease in market.leases(name):
            if action == budgets.RELINQUISH:
                told += exchange.tell(market.apply(to_market.Relinquish(name, lease.leaf, True), market.now))
            elif action == budgets.LIMITS_TO_FLOOR:
                floor = market.floor(lease.leaf)
                limit = floor if lease.limit is None else min(lease.limit, floor)
                told += exchange.tell(market.apply(to_market.SetLimit(name, lease.leaf, limit), market.now))
        return told

    # -- after a request, and before one

    def note(self, told: Iterable[Told]) -> None:
        """A lease that was won, or a limit that was set, may be charged more than was reckoned with."""
        for one in told:
            event = one.event
            if type(event) is LeaseStarted or type(event) is LimitSet:
                account = self.watched.get(one.tenant or "")
                if account is not None:
                    self._quicken(account, PRICE_MAX if event.limit is None else parse_price(event.limit))

    def _quicken(self, account: Account, more: int) -> None:
        budget, now = _watched(account), self._exchange.market.now
        left = max(0, budget.look_at - now) * budget.pace
        budget.pace += more
        self._look_at(account, now + left // budget.pace if budget.pace else NEVER_LOOKED_AT)

    def check_order(self, account: Account, alternatives: tuple[Alternative, ...], at: int) -> None:
        """May it be placed, or an order become it? Withdrawing it too soon must not cost more than is left."""
        budget = account.budget
        if budget is None or budget.action == "":
            return
        if budgets.is_spent(budget):
            raise _spent(budget, "no order is placed or amended")
        fees = at_risk(self._exchange.market, alternatives)
        if not fees or account.name not in self.watched:
            return
        left = budgets.whole(budget) - measure(self._exchange.market, account).moved_to(at).spent
        if fees >= left and budget.action != budgets.WARN:
            why = f"withdrawing this order too soon could cost {dollars(fees)} dollars, and {dollars(max(0, left))} of your budget are left"
            raise Turned(Code.BUDGET_SPENT, why)
        self._look_at(account, min(budget.look_at, at))  # what it is liable for counts as spent

    def check_limit(self, account: Account, leaf: str, limit: int | None) -> None:
        budget = account.budget
        if budget is None or budget.action != budgets.LIMITS_TO_FLOOR or not budgets.is_spent(budget):
            return
        lease = self._exchange.market.lease(leaf)
        assert lease is not None
        if lease.limit is not None and (limit is None or limit > lease.limit):
            raise _spent(budget, "no limit is raised")


def _watched(account: Account) -> BudgetRecord:
    assert account.budget is not None
    return account.budget


def _spent(budget: BudgetRecord, what: str) -> Turned:
    amount = budgets.amount_text(budget.amount)
    return Turned(Code.BUDGET_SPENT, f"your budget of {amount} dollars is spent, and {what} until you set a new one or remove it")
