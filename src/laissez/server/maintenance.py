"""What the service does by itself: end holds, close the books, cancel the orders of lost sessions,
and notify followers of rates."""

from __future__ import annotations

import asyncio

from laissez.exchange.commands import OPERATOR, SERVICE
from laissez.market.commands import CancelOrder, CloseBooks
from laissez.server.background import RESTS_MORE, Background
from laissez.server.billing import settle
from laissez.server.gateway import Gateway
from laissez.server.settings import Books
from laissez.units import HOUR_US

# A hold ends at its own time to the microsecond; this bounds how late that is noticed.
HOLDS_EVERY_S = 0.05
BOOKS_EVERY_S = 1.0
CLOSING_ROUNDS = 3


async def end_holds(gateway: Gateway) -> None:
    while True:
        await asyncio.sleep(HOLDS_EVERY_S)
        gateway.end_holds()


# -- orders of lost sessions


def last_done(gateway: Gateway) -> int:
    """When anything was last done. After a crash the sessions may have been gone since then, and
    nothing may have been won for them."""
    return max(gateway.exchange.market.now, gateway.last_at)


def cancel_orphans(gateway: Gateway, at: int) -> int:
    """Cancel the orders that end with their session, as of the time at which the sessions ended;
    returns how many."""
    orphans = [
        CancelOrder(account.name, order)
        for account in gateway.exchange.accounts.values()
        for order in sorted(account.session_orders)
    ]
    ends = [gateway.enter(one.tenant, SERVICE, "", one, at=at) for one in orphans]
    return sum(end.applied.refusal is None for end in ends)


# -- notices of rates


async def sample_rates(gateway: Gateway, every_s: float) -> None:
    while True:
        await asyncio.sleep(every_s)
        async for holder in Background(gateway.clock).of(gateway.following()):
            if holder != OPERATOR and gateway.failure is None:
                notify_rates(gateway, holder)


def notify_rates(gateway: Gateway, tenant: str) -> None:
    """Send the tenant's followers what is new about its rates."""
    at, leases = gateway.clock.now(), gateway.exchange.market.leases(tenant)
    for follower in gateway.followers(tenant):
        for notice in follower.watch.notices(at, leases):
            gateway.when_durable(follower.notify, notice)


# -- the books


class Bookkeeper:
    """Closes the books so that memory stays bounded, always at whole hours too, so that every whole
    hour can be billed by itself.

    In a quiet market the detail of the last day is kept. In a busy one the books are closed as soon
    as many commands have come.
    """

    def __init__(self, gateway: Gateway, settings: Books) -> None:
        self._gateway = gateway
        self._keep_us = round(settings.keep_hours * HOUR_US)
        self._commands_max = settings.close_after_commands
        self._commands_at_closing = 0

    async def run(self) -> None:
        while True:
            await asyncio.sleep(BOOKS_EVERY_S)
            if self._gateway.failure is None and self.due(self._gateway.clock.now()) is not None:
                await self.close()

    def due(self, now: int) -> int | None:
        """Until when the books should be closed now; None if they need not be. An hour that is over
        comes before anything later."""
        closed = self._closed()
        if closed is None:
            return None
        hours_until = now if self._is_busy() else now - self._keep_us
        next_hour = (closed // HOUR_US + 1) * HOUR_US
        if next_hour <= hours_until:
            return next_hour
        return now if self._is_busy() else None

    def _closed(self) -> int | None:
        """Until when the books are closed; if they never were, the hour in which the first tenant
        came; None if there is none."""
        if self._gateway.exchange.closed_before:
            return self._gateway.exchange.closed_before
        first = next(iter(self._gateway.exchange.accounts.values()), None)
        return None if first is None else first.created_at // HOUR_US * HOUR_US

    def _is_busy(self) -> bool:
        return self._gateway.commands - self._commands_at_closing >= self._commands_max

    async def close(self) -> None:
        if self._is_busy():
            await self._settle_all()
        before = self.due(self._gateway.clock.now())
        if before is not None and self._gateway.failure is None:
            self._gateway.enter(OPERATOR, SERVICE, "", CloseBooks(before))
            if before % HOUR_US:  # closed until now, not only until an hour that is over
                self._commands_at_closing = self._gateway.commands

    async def _settle_all(self) -> None:
        """The market remembers how far it got, so each round has less to do, and closing finds
        little left."""
        for _ in range(CLOSING_ROUNDS):
            pieces = Background(self._gateway.clock, RESTS_MORE)
            async for account in pieces.of(self._gateway.exchange.accounts.values()):
                await settle(self._gateway.exchange, account, pieces)
