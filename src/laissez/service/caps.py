"""Caps on what a tenant spends per hour: the operator's, and tighter ones that a tenant sets itself. The lower of each is in force.

A cap ends nothing. It is looked at when an order is placed or amended and when a limit is raised, and stops what would come to more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from laissez.market import Market
from laissez.market.commands import PRICE_MAX, Alternative
from laissez.market.exposure import Exposure, exposure, most_of
from laissez.market.money import MICRO_PER_DOLLAR, format_price
from laissez.service.accounts import Account, OwnCaps
from laissez.service.commands import SetOwnCaps
from laissez.service.turned import Turned
from laissez.wire.figures import OwnCaps as OwnCapsView
from laissez.wire.figures import SpendingCaps
from laissez.wire.problems import Code
from laissez.wire.requests import Caps

PER_HOUR_MAX = 1_000_000_000 * MICRO_PER_DOLLAR  # far above what any market comes to, and it fits 64 bits
EXPECTED = f'0 to {PER_HOUR_MAX // MICRO_PER_DOLLAR} dollars per hour, digits with at most six decimals such as "40"'

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
            raise Turned(Code.BAD_REQUEST, f"caps.{field}: expected {EXPECTED}, found {text[:40]!r}")


def check_own(command: SetOwnCaps) -> None:
    for field in ("rate", "worst_rate"):
        cap = getattr(command, field)
        if cap is not None and not 0 <= cap <= PER_HOUR_MAX:
            raise Turned(Code.BAD_REQUEST, f"{field}: expected {EXPECTED}, found {format_price(cap)}")


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


def check_order(market: Market, account: Account, alternatives: Sequence[Alternative], amended: int | None = None) -> None:
    """An order wins one leaf: it counts with its highest bid and its highest limit. One that is amended counts as it will be."""
    if account.rate_max is None and account.worst_rate_max is None:
        return
    found = exposure(market, account.name)
    bid, limit = _highest(alternatives)
    for order in market.orders(account.name) if amended is not None else ():
        if order.order == amended:
            before = _highest(order.alternatives)
            bid, limit = bid - before[0], limit - before[1]
    _check("rate", "charged and bidding", found.charged + found.bids, bid, account.rate_max)
    _check("worst_rate", "bound to pay up to", found.worst + found.limits, limit, account.worst_rate_max)


def check_limit(market: Market, account: Account, leaf: str, limit: int | None) -> None:
    """A limit that is lowered, or stays, is always taken."""
    if account.worst_rate_max is None:
        return
    found = exposure(market, account.name)
    more = (PRICE_MAX if limit is None else limit) - most_of(market, leaf)
    _check("worst_rate", "bound to pay up to", found.worst + found.limits, more, account.worst_rate_max)


def _highest(alternatives: Sequence[Alternative]) -> tuple[int, int]:
    return max([one.bid for one in alternatives], default=0), max([one.limit for one in alternatives], default=0)


def _check(name: str, what: str, now: int, more: int, most: int | None) -> None:
    if most is None or more <= 0 or now + more <= most:
        return
    detail = f"you are {what} {format_price(now)} dollars per hour, and with this it would be {format_price(now + more)}"
    raise Turned(Code.CAP_EXCEEDED, f"{name}: {detail}; your cap is {format_price(most)}")


# -- as they are shown


def caps_view(market: Market, account: Account) -> SpendingCaps:
    found: Exposure = exposure(market, account.name)
    own = account.own_caps or OwnCaps(None, None)
    return SpendingCaps(
        own=_shown(own.rate, own.worst_rate),
        operator=OwnCapsView(account.caps.rate, account.caps.worst_rate),
        in_force=_shown(account.rate_max, account.worst_rate_max),
        rate_now=format_price(found.charged + found.bids),
        worst_rate_now=format_price(found.worst + found.limits),
    )


def _shown(rate: int | None, worst_rate: int | None) -> OwnCapsView:
    return OwnCapsView(cap_text(rate), cap_text(worst_rate))


def cap_text(cap: int | None) -> str | None:
    return None if cap is None else format_price(cap)
