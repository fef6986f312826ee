"""A refusal in words: what was wrong, what was found, what was expected."""

from __future__ import annotations

from laissez.market.events import Refused
from laissez.market.money import format_price
from laissez.market.reasons import Reason

_WORDS: dict[Reason, str] = {
    Reason.MALFORMED: (
        "{subject} has the wrong type: expected whole numbers of at most 62 bits for prices, times"
        " and ids, and text for names"
    ),
    Reason.TIME_BACKWARDS: (
        "time {found} is before the market's time {bound}: expected that or later"
    ),
    Reason.TIME_OUT_OF_RANGE: "time {found} is out of range: expected at most {bound}",
    Reason.TENANT_INVALID: (
        "{subject!r} is no tenant's name: expected 1 to 200 printable characters, and not"
        " 'operator'"
    ),
    Reason.NOT_YOUR_ORDER: "you have no open order {subject}",
    Reason.ALREADY_FILLED: "too late: this order was filled, and you were given {subject}",
    Reason.NOT_YOUR_LEASE: "you hold no lease {subject}",
    Reason.ALTERNATIVES_COUNT: "{found} alternatives: expected 1 to {bound}",
    Reason.SCOPE_UNKNOWN: "there is no scope {subject!r}",
    Reason.SCOPE_REPEATED: "two alternatives name {subject}: expected each scope once",
    Reason.NOT_A_LEAF: "{subject} has nodes below it: expected a leaf",
    Reason.PRICE_OUT_OF_RANGE: (
        "{found_price} $/h at {subject} is out of range: expected 0 to {bound_price} $/h"
    ),
    Reason.LIMIT_BELOW_BID: (
        "at {subject} the limit, {found_price} $/h, is below the bid, {bound_price} $/h"
    ),
    Reason.TOO_MANY_ORDERS: "{subject} has {found} open orders and may have {bound}",
    Reason.TOO_MANY_TENANTS: (
        "there is no room for {subject}: the market knows {found} tenants and may know {bound}"
    ),
    Reason.CONTROLS_INVALID: (
        "{subject} is out of range: found {found}, expected a fraction from 0 or a duration from 1"
        " us, and at most {bound}"
    ),
    Reason.ALREADY_OFFLINE: "{subject} is offline already",
    Reason.ALREADY_ONLINE: "{subject} is online already",
    Reason.BOOKS_CLOSED: (
        "cannot close the books before {found}: expected a time that has come, not earlier than the"
        " last closing ({bound})"
    ),
}


def explain(refused: Refused) -> str:
    """One sentence for the person who sent the command."""
    found_price = "" if refused.found is None else format_price(refused.found)
    bound_price = "" if refused.bound is None else format_price(refused.bound)
    words = _WORDS[refused.reason]
    return words.format(
        subject=refused.subject,
        found=refused.found,
        bound=refused.bound,
        found_price=found_price,
        bound_price=bound_price,
    )
