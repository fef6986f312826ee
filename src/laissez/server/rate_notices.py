"""Looking at the rates of every tenant that somebody follows, once in a while."""

from __future__ import annotations

import asyncio

from laissez.exchange.commands import OPERATOR
from laissez.server.background import Background
from laissez.server.gateway import Gateway
from laissez.server.rates import levels


async def sample_rates(gateway: Gateway, every_s: float) -> None:
    """For ever: look at the rates of every tenant that somebody follows."""
    while True:
        await asyncio.sleep(every_s)
        async for holder in Background(gateway.clock).of(gateway.following()):
            if holder != OPERATOR and gateway.failure is None:
                sample(gateway, holder)


def sample(gateway: Gateway, holder: str) -> None:
    at = gateway.clock.now()
    now = levels(gateway.exchange.market, gateway.exchange.accounts[holder])
    for follower in gateway.followers(holder):
        for notice in follower.watch.notices(at, now):
            gateway.when_durable(follower.notify, notice)
