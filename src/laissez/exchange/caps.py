"""Caps on what a tenant spends per hour: the operator's, and tighter ones that a tenant sets
itself. The lower of each is in force.

An open order counts with its highest limit, because it may win at any price up to that. Its present
price must not matter: the tenant may not see it (M12), and could find it out by setting caps and
being refused. A lease counts in `rate` with its present charge, and in `worst_rate` with its
highest possible charge. Running flash fees (M18) count, because they are paid per hour like a
lease.

A cap ends no lease. It is checked when an order is placed or amended and when a limit is raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from laissez.exchange.accounts import Account, OpenLimits, highest_limit
from laissez.exchange.commands import Caps, OwnCaps, SetOwnCaps
from laissez.exchange.refusals import Denial, Refused
from laissez.market import Market
from laissez.market.commands import ORDERS_PER_TENANT_MAX, PRICE_MAX, Alternative
from laissez.market.exposure import leased, most_at, most_of
from laissez.units import MICRO_PER_DOLLAR

PER_HOUR_MAX = 1_000_000_000 * MICRO_PER_DOLLAR  # far above any real market, and within 64 bits
COUNT_MAX = 1_000_000


def check_caps(caps: Caps) -> None:
    _check_spending("caps.rate", caps.rate)
    _check_spending("caps.worst_rate", caps.worst_rate)
    for field in ("open_orders", "commands_per_second", "commands_burst", "sessions"):
        value = getattr(caps, field)
        most = ORDERS_PER_TENANT_MAX if field == "open_orders" else COUNT_MAX
        if value is not None and not 0 <= value <= most:
            raise Refused(Denial.CAP_INVALID, f"caps.{field}", value, most)


def check_own(command: SetOwnCaps) -> None:
    _check_spending("rate", command.rate)
    _check_spending("worst_rate", command.worst_rate)


def _check_spending(field: str, cap: int | None) -> None:
    if cap is not None and not 0 <= cap <= PER_HOUR_MAX:
        raise Refused(Denial.SPENDING_CAP_INVALID, field, cap, PER_HOUR_MAX)


def put_in_force(account: Account) -> None:
    """Update the lower of the operator's and the tenant's caps."""
    account.rate_max = _lower(account.caps.rate, account.own_caps.rate)
    account.worst_rate_max = _lower(account.caps.worst_rate, account.own_caps.worst_rate)
    account.is_capped = account.rate_max is not None or account.worst_rate_max is not None


def set_own(account: Account, command: SetOwnCaps) -> None:
    account.own_caps = OwnCaps(command.rate, command.worst_rate)
    put_in_force(account)


def _lower(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


def check_order(
    market: Market,
    account: Account,
    alternatives: Sequence[Alternative],
    at: int,
    amended: int | None = None,
) -> None:
    """Check a new order, or an amended one as it will be."""
    if not account.is_capped:
        return
    limits = open_limits(market, account)
    now = spending(market, account, at)
    more = highest_limit(alternatives) - (0 if amended is None else limits.orders[amended])
    # Moving bids again and again would charge ever more fees.
    grows = now.fees > 0 and not _is_part_of(_before(market, account, amended), alternatives)
    _check(Denial.RATE_CAP, now.rate, more, account.rate_max, grows)
    _check(Denial.WORST_RATE_CAP, now.worst, more, account.worst_rate_max, grows)


def check_limit(market: Market, account: Account, number: int, limit: int | None, at: int) -> None:
    """Check a raised limit; a lower or equal one always passes. While a hold keeps the charge below
    the rate (M17), a higher limit costs more at once."""
    lease = market.lease(account.name, number) if account.is_capped else None
    if lease is None or lease.end is not None:
        return
    now = spending(market, account, at)
    most = most_at(market, account.name, number, PRICE_MAX if limit is None else limit)
    _check(Denial.RATE_CAP, now.rate, min(lease.rate, most) - lease.charged, account.rate_max)
    _check(
        Denial.WORST_RATE_CAP,
        now.worst,
        most - most_of(market, account.name, number),
        account.worst_rate_max,
    )


class Spending(NamedTuple):
    """Per hour: the amounts that the two caps bound, and the running fees in both."""

    rate: int
    worst: int
    fees: int


def spending(market: Market, account: Account, at: int) -> Spending:
    charged, worst = leased(market, account.name)
    fees, orders = account.running_fees.per_hour(at), open_limits(market, account).total
    return Spending(charged + orders + fees, worst + orders + fees, fees)


def open_limits(market: Market, account: Account) -> OpenLimits:
    if account.open_limits is None:
        account.open_limits = OpenLimits()
        for order in market.orders(account.name):
            account.open_limits.put(order.order, order.alternatives)
    return account.open_limits


def _before(market: Market, account: Account, amended: int | None) -> Sequence[Alternative]:
    order = None if amended is None else market.order(account.name, amended)
    return () if order is None else order.alternatives


def _is_part_of(before: Sequence[Alternative], after: Sequence[Alternative]) -> bool:
    """Whether `after` has no new scope and no higher bid or limit."""
    known = {one.scope: one for one in before}
    return all(
        one.scope in known
        and one.bid <= known[one.scope].bid
        and one.limit <= known[one.scope].limit
        for one in after
    )


def _check(reason: Denial, now: int, more: int, most: int | None, grows: bool = False) -> None:
    if most is None or (more <= 0 and not grows) or now + more <= most:
        return
    raise Refused(reason, "", now, now + more, most)
