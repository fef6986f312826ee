"""Views of tenants' spending, budgets and caps."""

from __future__ import annotations

from laissez.exchange.accounts import Account
from laissez.exchange.budgets import ends_at, measure
from laissez.exchange.caps import spending as spending_per_hour
from laissez.server.billing import owed_in_all
from laissez.server.gateway import Gateway
from laissez.server.views import reached
from laissez.units import dollars, format_time
from laissez.wire.figures import Budget, OwnCaps, Spending, SpendingCaps
from laissez.wire.rendering import action_text, optional_price, optional_time, price


def spending_of(gateway: Gateway, account: Account) -> Spending:
    now = reached(gateway.exchange, gateway.end_holds())
    owed, rate = owed_in_all(gateway.exchange, account, now)
    counts = gateway.exchange.market.counts(account.name)
    return Spending(
        account.name,
        dollars(owed),
        price(rate),
        counts.leases_live,
        counts.orders_open,
        _budget_of(gateway, account, rate, now),
    )


def _budget_of(gateway: Gateway, account: Account, rate: int, now: int) -> Budget | None:
    budget = account.budget
    if budget is None:
        return None
    market = gateway.exchange.market
    spent, total = measure(market, account, now).spent, budget.charge
    ends: int | None = ends_at(budget, measure(market, account, market.now))
    return Budget(
        dollars(total),
        format_time(budget.since),
        dollars(spent),
        price(rate),
        dollars(max(0, total - spent)),
        optional_time(ends),
        action_text(budget.action),
        "spent" if budget.is_spent else "open",
        min(10**6, spent * 10_000 // total) / 100,
    )


def caps_of(gateway: Gateway, account: Account) -> SpendingCaps:
    now = spending_per_hour(gateway.exchange.market, account, gateway.clock.now())
    return SpendingCaps(
        own=_caps(account.own_caps.rate, account.own_caps.worst_rate),
        operator=_caps(account.caps.rate, account.caps.worst_rate),
        in_force=_caps(account.rate_max, account.worst_rate_max),
        rate_now=price(now.rate),
        worst_rate_now=price(now.worst),
    )


def _caps(rate: int | None, worst_rate: int | None) -> OwnCaps:
    return OwnCaps(optional_price(rate), optional_price(worst_rate))
