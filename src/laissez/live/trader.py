"""One turn of a tenant: look at its leases and orders, decide with its adapter, send."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

from laissez.client import AsyncSession, LaissezError, NotFound
from laissez.live.translation import Names
from laissez.market.commands import TenantCommand
from laissez.tenants import EconAdapter, TenantView
from laissez.units import parse_price
from laissez.wire.session import LeasesReply, OrdersReply, Reply

Clock: TypeAlias = Callable[[], int]
Outcome: TypeAlias = tuple[TenantCommand, Reply | LaissezError]

# the two lists differ in time only if something happened between the two requests
LOOKS_MAX = 5


def wall_clock() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


@dataclass
class Trader:
    """Trades for one tenant in one session. `spent` returns the cost of the task so far in
    micro-dollars; it is needed only with a budget."""

    session: AsyncSession
    adapter: EconAdapter
    spent: Callable[[], Awaitable[int]] | None = None
    clock: Clock = wall_clock
    _names: Names = field(default_factory=Names)

    async def turn(self) -> tuple[TenantView, list[Outcome]]:
        """Look, decide and send. Returns the view and each command with its outcome."""
        view = await self.look()
        return view, await self.send(self.adapter.decide(view), view.now)

    async def look(self) -> TenantView:
        leases, orders = await self._lists()
        spent = 0 if self.spent is None else await self.spent()
        bare = TenantView(
            self.clock(),
            self._names.held(leases.leases),
            self._names.resting(orders.orders),
            spent=spent,
        )
        scopes = self.adapter.watches(bare)
        quotes = await asyncio.gather(*(self._quote(scope) for scope in scopes))
        return msgspec.structs.replace(bare, quotes=dict(zip(scopes, quotes, strict=True)))

    async def send(self, commands: list[TenantCommand], now: int) -> list[Outcome]:
        outcomes = await self.session.send_many(
            [self._names.request(command, now) for command in commands]
        )
        return list(zip(commands, outcomes, strict=True))

    async def _lists(self) -> tuple[LeasesReply, OrdersReply]:
        for _ in range(LOOKS_MAX):
            leases, orders = await asyncio.gather(self.session.leases(), self.session.orders())
            if leases.n == orders.n:
                break
        return leases, orders  # the next turn corrects any mistake that follows from this

    async def _quote(self, scope: str) -> int | None:
        try:
            quote = await self.session.quote(scope)
        except NotFound:  # the lease that made it visible has just ended
            return None
        return None if quote.price is None else parse_price(quote.price)
