"""Maintenance of the market: end holds, cancel the orders of lost sessions, close the books."""

from __future__ import annotations

from laissez.exchange.commands import OPERATOR, SERVICE
from laissez.market.commands import CancelOrder, CloseBooks
from laissez.server.background import RESTS_MORE, Background
from laissez.server.billing import settle
from laissez.server.gateway import Gateway
from laissez.server.settings import Books
from laissez.units import HOUR_US

# A hold ends exactly on time, to the microsecond; this bounds the delay of its effects.
HOLDS_EVERY_S = 0.05
BOOKS_EVERY_S = 1.0
CLOSING_ROUNDS = 3


async def end_holds(gateway: Gateway) -> None:
    gateway.end_holds()


# -- orders of lost sessions


def last_done(gateway: Gateway) -> int:
    """The time of the latest command. After a crash the sessions may have been gone since then, so
    their orders must not have won anything after it."""
    return max(gateway.exchange.market.now, gateway.last_at)


def cancel_orphans(gateway: Gateway, at: int) -> int:
    """Cancel the orders that end with their session, as of the time at which the sessions ended.
    Returns their number."""
    orphans = [
        CancelOrder(account.name, order)
        for account in gateway.exchange.accounts.values()
        for order in sorted(account.session_orders)
    ]
    ends = [gateway.enter(one.tenant, SERVICE, "", one, at=at) for one in orphans]
    return sum(end.refusal is None for end in ends)


# -- the books


class Bookkeeper:
    """Closes the books, which bounds memory. It closes them at every whole hour, so that each whole
    hour can be billed by itself.

    A quiet market keeps the detail of the last day. A busy one closes after a number of commands.
    """

    def __init__(self, gateway: Gateway, settings: Books) -> None:
        self._gateway = gateway
        self._keep_us = round(settings.keep_hours * HOUR_US)
        self._commands_max = settings.close_after_commands
        self._commands_at_closing = 0

    def due(self, now: int) -> int | None:
        """The time up to which to close the books now; None if there is nothing to close. Past
        hours are closed one by one."""
        closed = self._closed()
        if closed is None:
            return None
        hours_until = now if self._is_busy() else now - self._keep_us
        next_hour = (closed // HOUR_US + 1) * HOUR_US
        if next_hour <= hours_until:
            return next_hour
        return now if self._is_busy() else None

    def _closed(self) -> int | None:
        """The end of the closed books. Before the first closing, the hour in which the first tenant
        was created; None without a tenant."""
        if self._gateway.exchange.closed_before:
            return self._gateway.exchange.closed_before
        first = next(iter(self._gateway.exchange.accounts.values()), None)
        return None if first is None else first.created_at // HOUR_US * HOUR_US

    def _is_busy(self) -> bool:
        return self._gateway.commands - self._commands_at_closing >= self._commands_max

    async def close(self) -> None:
        """Close the books as far as is due."""
        if self._is_busy():
            await self._settle_all()
        before = self.due(self._gateway.clock.now())
        if before is not None and self._gateway.failure is None:
            self._gateway.enter(OPERATOR, SERVICE, "", CloseBooks(before))
            if before % HOUR_US:  # closed up to now, not only up to a past hour
                self._commands_at_closing = self._gateway.commands

    async def _settle_all(self) -> None:
        """Compute charges in advance. The market keeps the results, so each round has less to do,
        and closing is quick."""
        for _ in range(CLOSING_ROUNDS):
            pieces = Background(self._gateway.clock, RESTS_MORE)
            async for account in pieces.of(self._gateway.exchange.accounts.values()):
                await settle(self._gateway.exchange, account, pieces)
