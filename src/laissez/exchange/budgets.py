"""Budgets: what a tenant means to spend from some time on, how much of it is spent, and what
happens then.

What is spent is what is owed since the budget was set, with flash fees (M18) whole from the moment
they are charged, and with those that cancelling the open orders now would bring: once the budget
is spent, the orders are cancelled, and that must not cost more than is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from laissez.exchange.accounts import Account, BudgetRecord
from laissez.exchange.commands import Action, SetBudget
from laissez.exchange.refusals import Denial, Refused
from laissez.market import Market
from laissez.market.commands import TIME_MAX_US
from laissez.market.exposure import at_stake, committed, leased, liabilities

# a billion dollars in millionths: what is owed stays far below it, and it fits 64 bits
AMOUNT_MAX = 1_000_000_000 * 1_000_000
CHARGE_PER_MICRO_DOLLAR = 3_600_000_000  # a charge is a price per hour times microseconds
THRESHOLDS = (50, 80, 100)  # percent


class Meter(msgspec.Struct, frozen=True):
    """One tenant at one instant, exactly, in the market's units of charge. Without a command rates
    do not rise, so it also tells what is to come."""

    at: int
    spent: int
    rate: int
    worst: int  # what the rate can become with the leases and limits of now
    # Fees that cancelling all orders would bring: at which rate, until when. There may be
    # thousands, and they are seldom needed one by one.
    owing: Callable[[], Sequence[tuple[int, int]]]

    def reaches(self, spent: int, by: int = TIME_MAX_US) -> int | None:
        """The first microsecond at which so much is spent. What cancelling would cost falls as time
        passes, piece by piece. A caller that need not know a time after `by` may be told None."""
        soonest = self.soonest(spent)
        if soonest is None or soonest > by:
            return None
        now, total, owing = self.at, self.spent, self.owing()
        slope = self.rate - sum([rate for rate, _ in owing])
        for rate, end in sorted(owing, key=_until):  # each is looked at once
            at = _when(now, spent - total, slope)
            if at is not None and at <= end:
                return at
            now, total, slope = end, total + slope * (end - now), slope + rate
        return _when(now, spent - total, self.rate)

    def soonest(self, spent: int) -> int | None:
        """It is not reached before, nor at all if this is None: all but the leases makes what is
        spent fall."""
        return _when(self.at, spent - self.spent, self.rate)


def _until(owing: tuple[int, int]) -> int:
    return owing[1]


def _when(now: int, left: int, rate: int) -> int | None:
    if left <= 0:
        return now
    if rate <= 0:
        return None
    at = now + -(-left // rate)
    return at if at <= TIME_MAX_US else None


def measure(market: Market, account: Account, at: int) -> Meter:
    """At the market's own time, or later if nothing but time passes until then."""
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


def is_watched(budget: BudgetRecord | None) -> bool:
    return budget is not None and budget.reached < len(THRESHOLDS)


def is_spent(budget: BudgetRecord | None) -> bool:
    """Whether it is spent and its action is more than a warning."""
    return (
        budget is not None
        and budget.action is not Action.WARN
        and budget.reached == len(THRESHOLDS)
    )


def threshold(budget: BudgetRecord) -> int:
    """The next one, as an exact charge."""
    return whole(budget) // 100 * THRESHOLDS[budget.reached]


def whole(budget: BudgetRecord) -> int:
    return budget.amount * CHARGE_PER_MICRO_DOLLAR


def micro_dollars(charge: int) -> int:
    """Rounded down."""
    return charge // CHARGE_PER_MICRO_DOLLAR


def check_budget(account: Account, command: SetBudget) -> None:
    if command.amount is None and account.budget is None:
        raise Refused(Denial.NO_BUDGET)
    if command.amount is not None and not 0 < command.amount <= AMOUNT_MAX:
        raise Refused(Denial.AMOUNT_OUT_OF_RANGE, "amount", command.amount, AMOUNT_MAX)


def check_fees(market: Market, account: Account, command: SetBudget, at: int) -> None:
    """A budget that cancelling the open orders would use up at once could not be met. One that
    keeps counting may be: then it acts at once."""
    if command.amount is None or command.action is Action.WARN or keeps_counting(account, command):
        return
    fees = at_stake(market, account.name, at)
    if fees >= command.amount * CHARGE_PER_MICRO_DOLLAR:
        raise Refused(Denial.BUDGET_BELOW_FEES, "amount", command.amount, micro_dollars(fees))


def keeps_counting(account: Account, command: SetBudget) -> bool:
    """Whether what was spent of the budget before is spent of this one too."""
    return command.keep and account.budget is not None


def begun(market: Market, account: Account, command: SetBudget, at: int) -> BudgetRecord | None:
    """What the command makes of a tenant's budget. One that keeps counting and is no other than
    before stays as it is, announced and spent as far as it was."""
    if command.amount is None:
        return None
    before = account.budget if keeps_counting(account, command) else None
    if before is not None and (before.amount, before.action) == (command.amount, command.action):
        return before
    since, owed = (
        # Fees that are charged already do not count, nor what of them is yet to come.
        (at, str(committed(market, account.name)))
        if before is None
        else (before.since, before.owed)
    )
    return BudgetRecord(command.amount, since, owed, command.action, due=at)


def ends_at(budget: BudgetRecord, meter: Meter) -> int | None:
    """When it was spent, or will be as the rates are now; None if never."""
    return budget.spent_at if budget.reached == len(THRESHOLDS) else meter.reaches(whole(budget))
