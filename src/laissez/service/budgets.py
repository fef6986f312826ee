"""Budgets: what a tenant means to spend from some time on, and how far it got. A budget only tells: nothing ends a lease because of one."""

from __future__ import annotations

from laissez.market.commands import TIME_MAX_US
from laissez.market.money import CHARGE_PER_MICRO_DOLLAR, MICRO_PER_DOLLAR, dollars
from laissez.service.accounts import Account, BudgetRecord
from laissez.service.commands import SetBudget
from laissez.service.telling import optional_time, price
from laissez.service.turned import Turned
from laissez.wire.figures import Budget
from laissez.wire.problems import Code
from laissez.wire.times import format_time

NO_BUDGET = "no budget is set"
AMOUNT_MAX = 1_000_000_000 * MICRO_PER_DOLLAR  # what is owed stays far below it, and it fits 64 bits


def check_budget(account: Account, command: SetBudget) -> None:
    if command.amount is None and account.budget is None:
        raise Turned(Code.NOT_FOUND, NO_BUDGET)
    if command.amount is not None and not 0 < command.amount <= AMOUNT_MAX:
        expected = f"more than 0 and at most {AMOUNT_MAX // MICRO_PER_DOLLAR} dollars"
        raise Turned(Code.BAD_REQUEST, f"amount: expected {expected}, found {amount_text(command.amount)}")


def amount_text(amount: int | None) -> str | None:
    return None if amount is None else dollars(amount * CHARGE_PER_MICRO_DOLLAR)


def budget_view(budget: BudgetRecord, owed: int, rate: int, now: int) -> Budget:
    """`owed` is the exact charge until `now`, `rate` what is charged per hour from then on."""
    amount = budget.amount * CHARGE_PER_MICRO_DOLLAR
    spent = owed - int(budget.owed)
    left = max(0, amount - spent)
    ends_at = optional_time(_used_up(left, rate, now))
    return Budget(dollars(amount), format_time(budget.since), dollars(spent), price(rate), dollars(left), ends_at)


def _used_up(left: int, rate: int, now: int) -> int | None:
    """The first microsecond at which nothing is left."""
    if left == 0:
        return now
    if rate == 0:
        return None
    at = now + -(-left // rate)
    return at if at <= TIME_MAX_US else None
