"""Budgets: what a tenant means to spend from some time on, how far it got, and what is to happen
then.

What is spent is what is owed since the budget was set, with flash fees (M18) whole from the moment
they are charged, and with those that cancelling the open orders now would bring: once it is spent,
the orders are cancelled, and that must not cost more than is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from laissez.market import Market
from laissez.market.commands import TIME_MAX_US
from laissez.market.exposure import at_stake, committed, leased, liabilities
from laissez.market.money import CHARGE_PER_MICRO_DOLLAR, MICRO_PER_DOLLAR, dollars
from laissez.server.accounts import NEVER_LOOKED_AT, Account, BudgetRecord
from laissez.server.commands import SetBudget
from laissez.server.telling import optional_time, price
from laissez.server.turned import Turned
from laissez.wire.figures import Budget
from laissez.wire.problems import Code
from laissez.wire.times import format_time

NO_BUDGET = "no budget is set"
# what is owed stays far below it, and it fits 64 bits
AMOUNT_MAX = 1_000_000_000 * MICRO_PER_DOLLAR

WARN = "warn"
NO_NEW_ORDERS = "no_new_orders"
LIMITS_TO_FLOOR = "limits_to_floor"
RELINQUISH = "relinquish"
ACTIONS = (WARN, NO_NEW_ORDERS, LIMITS_TO_FLOOR, RELINQUISH)
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
        passes, piece by piece. Who need not know a time after `by` may be told None."""
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
    return budget is not None and budget.action != "" and budget.reached < len(THRESHOLDS)


def is_spent(budget: BudgetRecord | None) -> bool:
    """Whether it is, and something is to be done or not to be done because of it."""
    return (
        budget is not None and budget.action not in ("", WARN) and budget.reached == len(THRESHOLDS)
    )


def threshold(budget: BudgetRecord) -> int:
    """The next one, as an exact charge."""
    return budget.amount * CHARGE_PER_MICRO_DOLLAR // 100 * THRESHOLDS[budget.reached]


def whole(budget: BudgetRecord) -> int:
    return budget.amount * CHARGE_PER_MICRO_DOLLAR


# -- what may speak against one


def check_budget(account: Account, command: SetBudget) -> None:
    if command.amount is None and account.budget is None:
        raise Turned(Code.NOT_FOUND, NO_BUDGET)
    if command.amount is not None and not 0 < command.amount <= AMOUNT_MAX:
        expected = f"more than 0 and at most {AMOUNT_MAX // MICRO_PER_DOLLAR} dollars"
        raise Turned(
            Code.BAD_REQUEST, f"amount: expected {expected}, found {amount_text(command.amount)}"
        )
    if command.action not in ("", *ACTIONS):
        raise Turned(
            Code.BAD_REQUEST,
            f"action: expected one of {', '.join(ACTIONS)}, found {command.action[:40]!r}",
        )


def check_fees(market: Market, account: Account, command: SetBudget, at: int) -> None:
    """One that cancelling the open orders would use up at once could not be met. One that counts on
    may be: then it acts at once."""
    if command.amount is None or command.action in ("", WARN) or counts_on(account, command):
        return
    fees = at_stake(market, account.name, at)
    if fees >= command.amount * CHARGE_PER_MICRO_DOLLAR:
        expected = (
            f"more than the {dollars(fees)} dollars of fees that cancelling your open orders now"
            " would bring"
        )
        raise Turned(
            Code.BUDGET_SPENT, f"amount: expected {expected}, found {amount_text(command.amount)}"
        )


def amount_text(amount: int | None) -> str | None:
    return None if amount is None else dollars(amount * CHARGE_PER_MICRO_DOLLAR)


# -- a new one


def counts_on(account: Account, command: SetBudget) -> bool:
    """Whether what was spent of the one before is spent of this one too."""
    return command.keep is True and account.budget is not None


def begun(market: Market, account: Account, command: SetBudget, at: int) -> BudgetRecord | None:
    """What the command makes of a tenant's budget. One that counts on and is no other than before
    stays as it is, told and spent as far as it was."""
    if command.amount is None:
        return None
    before = account.budget if counts_on(account, command) else None
    if before is not None and (before.amount, before.action) == (command.amount, command.action):
        return before
    since, owed = (
        (at, str(_owed_so_far(market, account, command.action)))
        if before is None
        else (before.since, before.owed)
    )
    look_at = at if command.action else NEVER_LOOKED_AT
    return BudgetRecord(
        command.amount,
        since,
        owed,
        command.action,
        look_at=look_at,
        spent_at=None if command.keep is None else 0,
    )


def _owed_so_far(market: Market, account: Account, action: str) -> int:
    """What a budget counts from. Fees that are charged already are none of it, also what of them is
    yet to come."""
    return market.bill(account.name).total if action == "" else committed(market, account.name)


# -- as it is shown


def budget_view(budget: BudgetRecord, spent: int, ends_at: int | None, rate: int) -> Budget:
    """`spent` is exact, `rate` what is charged per hour."""
    amount = whole(budget)
    state = "spent" if budget.reached == len(THRESHOLDS) else "open"
    percent = min(10**6, spent * 10_000 // amount) / 100
    ends = optional_time(ends_at)
    left = dollars(max(0, amount - spent))
    return Budget(
        dollars(amount),
        format_time(budget.since),
        dollars(spent),
        price(rate),
        left,
        ends,
        budget.action or None,
        state,
        percent,
    )


def ends_at(budget: BudgetRecord, meter: Meter) -> int | None:
    """When it was spent, or will be as the rates are now; None if that is not known."""
    return budget.spent_at if budget.reached == len(THRESHOLDS) else meter.reaches(whole(budget))


def used_up(budget: BudgetRecord, spent: int, rate: int, now: int) -> int | None:
    """The same of one that nobody watches. When it was, nobody noticed."""
    return None if spent >= whole(budget) else _when(now, whole(budget) - spent, rate)
