"""Totals of the market, now and as samples over the last hours."""

from __future__ import annotations

from collections import deque

from msgspec.structs import astuple

from laissez.server.background import RESTS, RESTS_LONG, Background
from laissez.server.billing import owed_in_all, settle
from laissez.server.gateway import Gateway
from laissez.units import dollars, format_time
from laissez.wire.figures import MarketHistory, MarketSample
from laissez.wire.rendering import price
from laissez.wire.views import MarketSummary

SAMPLE_EVERY_S = 10.0
SAMPLES_MAX = 720  # two hours


async def all_owed(gateway: Gateway, rests: int = RESTS) -> tuple[int, int]:
    """The exact charges of all tenants until now, and their rate per hour. A large market takes a
    while, so tenants are read at slightly different times."""
    owed = rate = 0
    pieces = Background(gateway.clock, rests)
    async for account in pieces.of(gateway.exchange.accounts.values()):
        await settle(gateway.exchange, account, pieces)
        more, charged = owed_in_all(gateway.exchange, account, gateway.end_holds())
        owed += more
        rate += charged
    return owed, rate


async def market_summary(gateway: Gateway, rests: int = RESTS) -> MarketSummary:
    owed, rate = await all_owed(gateway, rests)
    market, accounts = gateway.exchange.market, gateway.exchange.accounts
    leaves = len(market.topology.leaves)
    counts = [market.counts(tenant) for tenant in accounts]
    return MarketSummary(
        format_time(gateway.clock.now()),
        leaves,
        leaves - len(gateway.counts.offline),
        sum(one.leases_live for one in counts),
        sum(one.orders_open for one in counts),
        len(accounts),
        dollars(owed),
        price(rate),
    )


class MarketSamples:
    """Samples of the market at intervals. They are bounded and not stored: a new process starts
    without any."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._samples: deque[MarketSample] = deque(maxlen=SAMPLES_MAX)
        self._counted = [0, 0, 0]  # transfers, started, ended until the latest sample

    async def take(self) -> None:
        counts = self._gateway.counts
        now = await market_summary(self._gateway, RESTS_LONG)
        counted = [counts.transfers, counts.leases_started, sum(counts.leases_ended.values())]
        new = [count - before for count, before in zip(counted, self._counted, strict=True)]
        self._counted = counted
        self._samples.append(MarketSample(*astuple(now), *new))

    def history(self) -> MarketHistory:
        return MarketHistory(SAMPLE_EVERY_S, tuple(self._samples))
