"""Looking at the rates of every tenant that somebody follows, once in a while."""

from __future__ import annotations

import asyncio

from laissez.server.aside import Pieces
from laissez.server.commands import OPERATOR
from laissez.server.desk import Desk
from laissez.server.rates import levels


async def sample_rates(desk: Desk, every_s: float) -> None:
    """For ever: look at the rates of every tenant that somebody follows."""
    while True:
        await asyncio.sleep(every_s)
        async for holder in Pieces(desk.clock).of(desk.following()):
            if holder != OPERATOR and desk.failure is None:
                sample(desk, holder)


def sample(desk: Desk, holder: str) -> None:
    at = desk.clock.now()
    now = levels(desk.exchange.market, desk.exchange.accounts[holder])
    for follower in desk.followers(holder):
        for notice in follower.watch.notices(at, now):
            desk.when_durable(follower.deliver, follower.noticed(notice))
