"""The market in figures, now and over the last hours, and what tenants spend."""

from __future__ import annotations

import asyncio
from collections import deque

from laissez.exchange.accounts import Account
from laissez.exchange.budgets import THRESHOLDS, ends_at, measure, whole
from laissez.exchange.caps import spending as spending_per_hour
from laissez.server.background import RESTS, RESTS_LONG, Background
from laissez.server.billing import owed_in_all, settle
from laissez.server.gateway import Gateway
from laissez.server.metrics import Metrics
from laissez.server.views import reached
from laissez.units import dollars, format_time
from laissez.wire.figures import (
    Budget,
    MarketHistory,
    MarketSample,
    OwnCaps,
    Spending,
    SpendingCaps,
)
from laissez.wire.rendering import action_text, optional_price, optional_time, price
from laissez.wire.views import MarketSummary

SAMPLE_EVERY_S = 10.0
SAMPLES_MAX = 720  # two hours


# -- the market


async def all_owed(gateway: Gateway, rests: int = RESTS) -> tuple[int, int]:
    """What all tenants owe, exactly, and what they are charged per hour. In a large market that
    takes a while, and each tenant is looked at in its turn."""
    owed = rate = 0
    pieces = Background(gateway.clock, rests)
    async for account in pieces.of(gateway.exchange.accounts.values()):
        await settle(gateway.exchange, account, pieces)
        more, charged = owed_in_all(gateway.exchange, account, gateway.end_holds())
        owed += more
        rate += charged
    return owed, rate


async def market_summary(gateway: Gateway, metrics: Metrics, rests: int = RESTS) -> MarketSummary:
    owed, rate = await all_owed(gateway, rests)
    market, accounts = gateway.exchange.market, gateway.exchange.accounts
    leaves = len(market.topology.leaves)
    counts = [market.counts(tenant) for tenant in accounts]
    return MarketSummary(
        format_time(gateway.clock.now()),
        leaves,
        leaves - len(metrics.offline),
        sum(one.leases_live for one in counts),
        sum(one.orders_open for one in counts),
        len(accounts),
        dollars(owed),
        price(rate),
    )


class MarketSamples:
    """The market in figures every few seconds: a bounded memory that begins anew with the process.
    It is shown only when it is durable."""

    def __init__(self, gateway: Gateway, metrics: Metrics) -> None:
        self._gateway = gateway
        self._metrics = metrics
        self._samples: deque[MarketSample] = deque(maxlen=SAMPLES_MAX)
        self._counted = [0, 0, 0]  # transfers, started, ended until the latest sample

    async def run(self) -> None:
        while True:
            if self._gateway.failure is None:
                await self.take()
            await asyncio.sleep(SAMPLE_EVERY_S)

    async def take(self) -> None:
        metrics = self._metrics
        now = await market_summary(self._gateway, metrics, RESTS_LONG)
        counted = [metrics.transfers, metrics.leases_started, sum(metrics.leases_ended.values())]
        new = [count - before for count, before in zip(counted, self._counted, strict=True)]
        self._counted = counted
        self._samples.append(
            MarketSample(
                now.at,
                now.revenue,
                now.rate_now,
                now.leaves,
                now.online,
                now.leased,
                now.open_orders,
                *new,
            )
        )

    def history(self) -> MarketHistory:
        return MarketHistory(SAMPLE_EVERY_S, tuple(self._samples))


# -- what tenants spend


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
    spent, total = measure(market, account, now).spent, whole(budget)
    ends: int | None = ends_at(budget, measure(market, account, market.now))
    return Budget(
        dollars(total),
        format_time(budget.since),
        dollars(spent),
        price(rate),
        dollars(max(0, total - spent)),
        optional_time(ends),
        action_text(budget.action),
        "spent" if budget.reached == len(THRESHOLDS) else "open",
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
