"""Caps on what a tenant spends per hour: the operator's, and tighter ones that a tenant sets
itself. The lower of each is in force.

Of an open order only its limits say what it can cost: it may win, at once or later, at any price up
to the highest of them. What it would be charged now is not asked: that depends on prices that its
tenant may not see (M12), and whoever sets caps of its own could find them out by being refused. So
an order counts with its highest limit in both; a lease counts in `rate` with what it is charged
now, in `worst_rate` with the most that it can be.

A cap ends nothing. It is looked at when an order is placed or amended and when a limit is raised,
and stops what would come to more. Flash fees (M18) that run count: they are paid per hour like a
lease.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from laissez.market import Market
from laissez.market.commands import PRICE_MAX, Alternative
from laissez.market.exposure import leased, most_at, most_of
from laissez.market.money import MICRO_PER_DOLLAR, format_price
from laissez.server.accounts import Account, OwnCaps, Waiting, highest_limit
from laissez.server.commands import SetOwnCaps
from laissez.server.turned import Turned
from laissez.wire.figures import OwnCaps as OwnCapsView
from laissez.wire.figures import SpendingCaps
from laissez.wire.problems import Code
from laissez.wire.requests import Caps

# far above what any market comes to, and it fits 64 bits
PER_HOUR_MAX = 1_000_000_000 * MICRO_PER_DOLLAR
EXPECTED = (
    f"0 to {PER_HOUR_MAX // MICRO_PER_DOLLAR} dollars per hour, digits with at most six decimals"
    ' such as "40"'
)

_DOLLARS = re.compile(r"[0-9]{1,10}(\.[0-9]{1,6})?", re.ASCII)


def per_hour(text: str) -> int | None:
    """Millionths of a dollar per hour; None if the text is no such cap."""
    if _DOLLARS.fullmatch(text) is None:
        return None
    whole, _, decimals = text.partition(".")
    micro = int(whole + decimals.ljust(6, "0"))
    return micro if micro <= PER_HOUR_MAX else None


def check_texts(caps: Caps) -> None:
    for field in ("rate", "worst_rate"):
        text = getattr(caps, field)
        if text is not None and per_hour(text) is None:
            raise Turned(
                Code.BAD_REQUEST, f"caps.{field}: expected {EXPECTED}, found {text[:40]!r}"
            )


def check_own(command: SetOwnCaps) -> None:
    for field in ("rate", "worst_rate"):
        cap = getattr(command, field)
        if cap is not None and not 0 <= cap <= PER_HOUR_MAX:
            raise Turned(
                Code.BAD_REQUEST, f"{field}: expected {EXPECTED}, found {format_price(cap)}"
            )


def put_in_force(account: Account) -> None:
    """Work out what the caps of both come to."""
    own = account.own_caps or OwnCaps(None, None)
    account.rate_max = _lower(_read(account.caps.rate), own.rate)
    account.worst_rate_max = _lower(_read(account.caps.worst_rate), own.worst_rate)


def _read(text: str | None) -> int | None:
    return None if text is None else per_hour(text)


def _lower(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


# -- what may speak against an order or a limit


def check_order(
    market: Market,
    account: Account,
    alternatives: Sequence[Alternative],
    at: int,
    amended: int | None = None,
) -> None:
    """One that is amended counts as it will be; where it is too late for that, the market says
    so."""
    if not account.is_capped or (
        amended is not None and amended not in waiting(market, account).orders
    ):
        return
    now = _now(market, account, at)
    more = highest_limit(alternatives) - (
        0 if amended is None else waiting(market, account).orders[amended]
    )
    # Bids that are moved again and again would bring ever more fees.
    grows = now.fees > 0 and not _is_part_of(_before(market, account, amended), alternatives)
    _check_rate(account, now.rate, more, grows)
    _check_worst(account, now.worst, more, grows)


def check_limit(market: Market, account: Account, number: int, limit: int | None, at: int) -> None:
    """A limit that is lowered, or stays, is always taken. While a hold keeps the charge below the
    rate (M17), a higher one costs more at once."""
    if not account.is_capped:
        return
    now = _now(market, account, at)
    most = most_at(market, account.name, number, PRICE_MAX if limit is None else limit)
    lease = market.lease(account.name, number)
    assert lease is not None
    _check_rate(account, now.rate, min(lease.rate, most) - lease.charged)
    _check_worst(account, now.worst, most - most_of(market, account.name, number))


class _Now(NamedTuple):
    """Per hour: what the two caps bound, and what of both is fees that run."""

    rate: int
    worst: int
    fees: int


def _now(market: Market, account: Account, at: int) -> _Now:
    (charged, worst), fees, orders = (
        leased(market, account.name),
        account.running_fees.per_hour(at),
        waiting(market, account).limits,
    )
    return _Now(charged + orders + fees, worst + orders + fees, fees)


def waiting(market: Market, account: Account) -> Waiting:
    if account.waiting is None:
        account.waiting = Waiting()
        for order in market.orders(account.name):
            account.waiting.put(order.order, order.alternatives)
    return account.waiting


def _before(market: Market, account: Account, amended: int | None) -> Sequence[Alternative]:
    order = None if amended is None else market.order(account.name, amended)
    return () if order is None else order.alternatives


def _is_part_of(before: Sequence[Alternative], after: Sequence[Alternative]) -> bool:
    """Nowhere a bid or a limit that is new or higher."""
    known = {one.scope: one for one in before}
    return all(
        one.scope in known
        and one.bid <= known[one.scope].bid
        and one.limit <= known[one.scope].limit
        for one in after
    )


def _check_rate(account: Account, now: int, more: int, grows: bool = False) -> None:
    _check(
        "rate",
        "charged, with your open orders at their limits,",
        now,
        more,
        account.rate_max,
        grows,
    )


def _check_worst(account: Account, now: int, more: int, grows: bool = False) -> None:
    _check("worst_rate", "bound to pay up to", now, more, account.worst_rate_max, grows)


def _check(name: str, what: str, now: int, more: int, most: int | None, grows: bool) -> None:
    if most is None or (more <= 0 and not grows) or now + more <= most:
        return
    detail = (
        f"you are {what} {format_price(now)} dollars per hour, and with this it would be"
        f" {format_price(now + more)}"
    )
    raise Turned(Code.CAP_EXCEEDED, f"{name}: {detail}; your cap is {format_price(most)}")


# -- as they are shown


def caps_view(market: Market, account: Account, at: int) -> SpendingCaps:
    now = _now(market, account, at)
    own = account.own_caps or OwnCaps(None, None)
    return SpendingCaps(
        own=_shown(own.rate, own.worst_rate),
        operator=OwnCapsView(account.caps.rate, account.caps.worst_rate),
        in_force=_shown(account.rate_max, account.worst_rate_max),
        rate_now=format_price(now.rate),
        worst_rate_now=format_price(now.worst),
    )


def _shown(rate: int | None, worst_rate: int | None) -> OwnCapsView:
    return OwnCapsView(cap_text(rate), cap_text(worst_rate))


def cap_text(cap: int | None) -> str | None:
    return None if cap is None else format_price(cap)
