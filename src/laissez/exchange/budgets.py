"""Budgets: their records, measuring spending, and checking new ones.

Spent is everything owed since the budget was set. Flash fees (M18) count in full from the moment
they are charged. The fees for cancelling all open orders now count too: a spent budget cancels
them, and that must not exceed the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from laissez.exchange.commands import Action, SetBudget
from laissez.exchange.refusals import Denial, Refused
from laissez.market import Market
from laissez.market.commands import TIME_MAX_US
from laissez.market.exposure import at_stake, committed, leased, liabilities
from laissez.units import CHARGE_PER_MICRO_DOLLAR, MICRO_PER_DOLLAR, micro_dollars

if TYPE_CHECKING:
    from laissez.exchange.accounts import Account

AMOUNT_MAX = 1_000_000_000 * MICRO_PER_DOLLAR  # far above any real charge, and within 64 bits
THRESHOLDS = (50, 80, 100)  # percent
NEVER_DUE = 2**62  # later than any time


class BudgetRecord(msgspec.Struct, gc=False):
    """A tenant's budget. Spent is what the tenant owes now, less what it `owed` at the start.

    No threshold can be crossed before `due` while the tenant is charged at most `pace` per hour.
    Both are part of the state: the instant at which a budget acts must not depend on the history of
    one process.
    """

    amount: int  # millionths of a dollar
    since: int
    owed: str  # the exact charge, as text because it outgrows 64 bits
    action: Action
    reached: int = 0  # the number of thresholds crossed
    due: int = NEVER_DUE
    pace: int = 0
    spent_at: int = 0  # 0 until the budget is spent

    @property
    def is_spent(self) -> bool:
        return self.reached == len(THRESHOLDS)

    @property
    def charge(self) -> int:
        """The whole budget as an exact charge."""
        return self.amount * CHARGE_PER_MICRO_DOLLAR

    @property
    def threshold(self) -> int:
        """The next threshold as an exact charge."""
        return self.charge // 100 * THRESHOLDS[self.reached]


class Meter(msgspec.Struct, frozen=True):
    """One tenant at one instant, exactly, in the market's units of charge. Rates do not rise
    without a command, so it also predicts spending."""

    at: int
    spent: int
    rate: int
    worst: int  # the highest rate possible with the present leases and limits
    # The fees for cancelling all orders, as (rate, end). Computed on demand: there may be
    # thousands, and they are seldom needed one by one.
    owing: Callable[[], Sequence[tuple[int, int]]]

    def reaches(self, spent: int, by: int = TIME_MAX_US) -> int | None:
        """The first microsecond at which `spent` is reached. None if never; may be None if it is
        after `by`. The fees for cancelling fall as time passes, one after the other."""
        soonest = self.soonest(spent)
        if soonest is None or soonest > by:
            return None
        now, total, owing = self.at, self.spent, self.owing()
        slope = self.rate - sum([rate for rate, _ in owing])
        for rate, end in sorted(owing, key=lambda fee: fee[1]):
            at = _when(now, spent - total, slope)
            if at is not None and at <= end:
                return at
            now, total, slope = end, total + slope * (end - now), slope + rate
        return _when(now, spent - total, self.rate)

    def soonest(self, spent: int) -> int | None:
        """A lower bound of `reaches`: only leases make spending rise. None if never reached."""
        return _when(self.at, spent - self.spent, self.rate)


def _when(now: int, left: int, rate: int) -> int | None:
    if left <= 0:
        return now
    if rate <= 0:
        return None
    at = now + -(-left // rate)
    return at if at <= TIME_MAX_US else None


def measure(market: Market, account: Account, at: int) -> Meter:
    """Measure at the market's time, or later if no command comes until then."""
    assert account.budget is not None
    name = account.name
    rate, worst = leased(market, name)
    spent = (
        committed(market, name)
        - int(account.budget.owed)
        + rate * (at - market.now)
        + at_stake(market, name, at)
    )
    return Meter(at, spent, rate, worst, lambda: liabilities(market, name, at))


def check_budget(market: Market, account: Account, command: SetBudget, at: int) -> None:
    """Refuse also a new budget that the fees for cancelling all orders would use up at once. A
    budget that keeps counting is accepted, and acts at once."""
    if command.amount is None:
        if account.budget is None:
            raise Refused(Denial.NO_BUDGET)
        return
    if not 0 < command.amount <= AMOUNT_MAX:
        raise Refused(Denial.AMOUNT_OUT_OF_RANGE, "amount", command.amount, AMOUNT_MAX)
    if command.action is Action.WARN or keeps_counting(account, command):
        return
    fees = at_stake(market, account.name, at)
    if fees >= command.amount * CHARGE_PER_MICRO_DOLLAR:
        raise Refused(Denial.BUDGET_BELOW_FEES, "amount", command.amount, micro_dollars(fees))


def keeps_counting(account: Account, command: SetBudget) -> bool:
    """Whether spending under the previous budget counts for the new one too."""
    return command.keep and account.budget is not None


def budget_after(
    market: Market, account: Account, command: SetBudget, at: int
) -> BudgetRecord | None:
    """The tenant's budget after the command. A budget that keeps counting, with the same amount and
    action, stays as it is: its thresholds are not announced again."""
    if command.amount is None:
        return None
    before = account.budget if keeps_counting(account, command) else None
    if before is not None and (before.amount, before.action) == (command.amount, command.action):
        return before
    since, owed = (
        # Fees charged before do not count, not even the part that is yet to run.
        (at, str(committed(market, account.name)))
        if before is None
        else (before.since, before.owed)
    )
    return BudgetRecord(command.amount, since, owed, command.action, due=at)


def ends_at(budget: BudgetRecord, meter: Meter) -> int | None:
    """When the budget was spent, or will be at the present rates; None if never."""
    return budget.spent_at if budget.is_spent else meter.reaches(budget.charge)
