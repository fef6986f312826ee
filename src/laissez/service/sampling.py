"""Looking at the rates of every tenant that somebody follows, once in a while, a few tenants at a time."""

from __future__ import annotations

import asyncio

from laissez.service.commands import OPERATOR
from laissez.service.desk import Desk
from laissez.service.rates import levels

TENANTS_PER_TURN = 25  # looked at before other work gets its turn: about a millisecond


async def sample_rates(desk: Desk, every_s: float) -> None:
    """For ever: look at the rates of every tenant that somebody follows."""
    while True:
        await asyncio.sleep(every_s)
        for turn, holder in enumerate(desk.following()):
            if turn % TENANTS_PER_TURN == 0:
                await asyncio.sleep(0)
            if holder != OPERATOR and desk.failure is None:
                sample(desk, holder)


def sample(desk: Desk, holder: str) -> None:
    at = desk.clock.now()
    now = levels(desk.exchange.market, desk.exchange.accounts[holder])
    for follower in desk.followers(holder):
        for notice in follower.watch.notices(at, now):
            desk.when_durable(follower.deliver, follower.noticed(notice))
