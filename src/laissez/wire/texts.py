"""Refusals in English, with the expected and the found value.

The exchange stores only reasons and numbers, so the wording may change at any time.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from laissez.exchange.budgets import AMOUNT_MAX
from laissez.exchange.caps import PER_HOUR_MAX
from laissez.exchange.commands import Command
from laissez.exchange.keys import scopes_of
from laissez.exchange.refusals import AnyReason, Denial, Refusal
from laissez.market.commands import TIME_MAX_US
from laissez.market.reasons import Reason
from laissez.units import MICRO_PER_DOLLAR, format_amount, format_price, format_time
from laissez.wire.ids import lease_id, order_id, tag_of, webhook_id
from laissez.wire.problems import ProblemError

NO_BUDGET = "no budget is set"
EXPECTED_RATE = (
    f"0 to {PER_HOUR_MAX // MICRO_PER_DOLLAR} dollars per hour, digits with at most six decimals"
    ' such as "40"'
)

# The English for each reason. A template may name the subject and the numbers: `{0}`, in dollars
# per hour `{price0}`, in dollars `{amount0}`. A function explains the rest.
_WORDS: dict[AnyReason, str | Callable[[Refusal, str], str]] = {
    Reason.MALFORMED: (
        "{subject} has the wrong type: expected whole numbers of at most 62 bits for prices, times"
        " and ids, and text for names"
    ),
    Reason.TENANT_INVALID: (
        "{subject!r} is not a valid tenant name: expected 1 to 200 printable characters, and not"
        " 'operator'"
    ),
    Reason.ALREADY_FILLED: "too late: this order was filled, and you were given {subject}",
    Reason.ALTERNATIVES_COUNT: "{0} alternatives: expected 1 to {1}",
    Reason.SCOPE_UNKNOWN: "there is no scope {subject!r}",
    Reason.SCOPE_REPEATED: "two alternatives name {subject}: expected each scope once",
    Reason.NOT_A_LEAF: "{subject} has nodes below it: expected a leaf",
    Reason.PRICE_OUT_OF_RANGE: (
        "{price0} $/h at {subject} is out of range: expected 0 to {price1} $/h"
    ),
    Reason.LIMIT_BELOW_BID: "at {subject} the limit, {price0} $/h, is below the bid, {price1} $/h",
    Reason.TOO_MANY_ORDERS: "{subject} has {0} open orders and may have {1}",
    Reason.TOO_MANY_TENANTS: (
        "there is no room for {subject}: the market has {0} tenants and may have {1}"
    ),
    Reason.CONTROLS_INVALID: (
        "{subject} is out of range: found {0}, expected a fraction from 0 or a duration from 1 us,"
        " and at most {1}"
    ),
    Reason.ALREADY_OFFLINE: "{subject} is offline already",
    Reason.ALREADY_ONLINE: "{subject} is online already",
    Reason.TIME_BACKWARDS: "time {0} is before the market's time {1}: expected that or later",
    Reason.TIME_OUT_OF_RANGE: "time {0} is out of range: expected at most {1}",
    Reason.BOOKS_CLOSED: (
        "cannot close the books before {0}: expected a time that has come, not earlier than the"
        " last closing ({1})"
    ),
    Denial.NO_BUDGET: NO_BUDGET,
    Denial.AMOUNT_OUT_OF_RANGE: (
        f"amount: expected more than 0 and at most {AMOUNT_MAX // MICRO_PER_DOLLAR} dollars, found"
        " {amount0}"
    ),
    Denial.BUDGET_BELOW_FEES: (
        "amount: expected more than the {amount1} dollars of fees that cancelling your open orders"
        " now would bring, found {amount0}"
    ),
    Denial.BUDGET_BLOCKS_ORDERS: (
        "your budget of {amount0} dollars is spent, and no order is placed or amended until you set"
        " a new one or remove it"
    ),
    Denial.BUDGET_BLOCKS_LIMITS: (
        "your budget of {amount0} dollars is spent, and no limit is raised until you set a new one"
        " or remove it"
    ),
    Denial.FEES_ABOVE_BUDGET: (
        "withdrawing this order too soon could cost up to {amount0} dollars, its full bid for as"
        " long as it must stand, and {amount1} of your budget are left"
    ),
    Denial.RATE_CAP: (
        "rate: you are charged, with your open orders at their limits, {price0} dollars per hour,"
        " and with this it would be {price1}; your cap is {price2}"
    ),
    Denial.WORST_RATE_CAP: (
        "worst_rate: you are bound to pay up to {price0} dollars per hour, and with this it would"
        " be {price1}; your cap is {price2}"
    ),
    Denial.OPEN_ORDERS_CAP: "you have {0} open orders and may have {1}",
    Denial.SPENDING_CAP_INVALID: f"{{subject}}: expected {EXPECTED_RATE}, found {{price0}}",
    Denial.CAP_INVALID: "{subject}: expected 0 to {1}, found {0}",
    Denial.TENANT_NAME_INVALID: (
        "{subject!r} is not a valid tenant name: expected 1 to 200 printable characters without"
        " '/', and not 'operator', '.' or '..'"
    ),
    Denial.TENANT_TAG_TAKEN: (
        "the ids of {subject!r} would look like those of another holder: expected another name"
    ),
    Denial.TENANT_EXISTS: "there is a tenant {subject!r} already",
    Denial.TENANT_UNKNOWN: "there is no tenant {subject!r}",
    Denial.KEY_NAME_INVALID: "name: expected 1 to {0} printable characters, found {subject!r}",
    Denial.TOO_MANY_KEYS: "there are {0} live keys named {subject!r}: revoke one first",
    Denial.TOO_MANY_KEY_NAMES: "{subject} has keys with {0} names and may not have more",
    Denial.KEY_UNKNOWN: "there is no live key {subject!r}",
    Denial.LAST_OPERATOR_KEY: "{subject} is the operator's last key: issue another one first",
    Denial.TOO_MANY_WEBHOOKS: "you have {0} webhooks and may not have more: delete one first",
    Denial.WEBHOOK_SECRET_FRESH: "the secret was made at this very instant",
    Denial.EVENT_NUMBER_INVALID: (
        "{subject}: expected the number of an event from 0 to {1}, your latest, found {0}"
    ),
    Reason.NOT_YOUR_ORDER: lambda refusal, holder: no_open_order(
        order_id(tag_of(holder), int(refusal.subject))
    ),
    Reason.NOT_YOUR_LEASE: lambda refusal, holder: no_lease(
        lease_id(tag_of(holder), int(refusal.subject))
    ),
    Denial.WEBHOOK_UNKNOWN: lambda refusal, holder: no_webhook(
        webhook_id(tag_of(holder), refusal.numbers[0] or 0)
    ),
    Denial.KEY_SCOPES_INVALID: lambda refusal, _: (
        f"scopes: expected one or more of {', '.join(scopes_of(refusal.subject))}"
    ),
    Denial.CLOSING_TIME_INVALID: lambda refusal, _: _closing_time(*refusal.numbers),
}


def _closing_time(found: int | None, closed: int | None) -> str:
    assert found is not None and closed is not None
    shown = format_time(found) if 0 <= found <= TIME_MAX_US else str(found)
    return f"expected a time from {format_time(closed)} until now, found {shown}"


def no_open_order(id: str) -> str:
    return f"there is no open order {id!r}"


def no_order(id: str) -> str:
    return f"there is no order {id!r}"


def no_lease(id: str) -> str:
    return f"you hold no lease {id!r}"


def no_webhook(id: str) -> str:
    return f"you have no webhook {id!r}"


def explain(refusal: Refusal, holder: str) -> str:
    """Explain a refusal to the holder that sent the command, in one sentence."""
    words = _WORDS[refusal.reason]
    if callable(words):
        return words(refusal, holder)
    named: dict[str, str] = {"subject": refusal.subject}
    for place, number in enumerate(refusal.numbers):
        if number is not None:
            named[f"price{place}"] = format_price(number)
            named[f"amount{place}"] = format_amount(number)
    return words.format(*refusal.numbers, **named)


def code_of(reason: AnyReason) -> str:
    """The error code of the API."""
    return reason.code if isinstance(reason, Denial) else reason


def problem_of(refusal: Refusal, holder: str) -> ProblemError:
    return ProblemError(code_of(refusal.reason), explain(refusal, holder))


def command_name(command: Command) -> str:
    """`PlaceOrder` as `place_order`."""
    return re.sub("(?<!^)(?=[A-Z])", "_", type(command).__name__).lower()
