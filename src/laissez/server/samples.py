"""The market in figures every so often, for the last hours: a bounded memory that begins anew with
the process."""

from __future__ import annotations

import asyncio
from collections import deque

from laissez.server.background import RESTS_LONG
from laissez.server.figures import market_summary
from laissez.server.gateway import Gateway
from laissez.server.metrics import Metrics
from laissez.wire.figures import MarketHistory, MarketSample

SAMPLE_EVERY_S = 10.0
SAMPLES_MAX = 720  # two hours


class MarketSamples:
    def __init__(self, gateway: Gateway, metrics: Metrics) -> None:
        self._gateway = gateway
        self._metrics = metrics
        self._samples: deque[MarketSample] = deque(maxlen=SAMPLES_MAX)
        self._counted = 0, 0, 0  # transfers, started, ended until the latest sample

    async def run(self) -> None:
        """For ever. What is kept is shown only when it is durable, like everything."""
        while True:
            if self._gateway.failure is None:
                await self.take()
            await asyncio.sleep(SAMPLE_EVERY_S)

    async def take(self) -> None:
        now = await market_summary(self._gateway, self._metrics, RESTS_LONG)
        turnover = self._metrics.turnover
        counted = turnover.transfers, turnover.started, turnover.all_ended
        transfers, started, ended = (
            count - before for count, before in zip(counted, self._counted, strict=True)
        )
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
                transfers,
                started,
                ended,
            )
        )

    def history(self) -> MarketHistory:
        return MarketHistory(SAMPLE_EVERY_S, tuple(self._samples))
