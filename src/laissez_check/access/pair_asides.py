"""What the tenant of a pair does beside trading: budgets, caps of its own, a webhook. None of it
may make its market another one than was drawn.

So a budget that acts is one that was drawn (`pair_spending.py`); the others only warn. A cap is so
low that nothing is taken while it is there, or so high that everything is. What is refused because
of them is asked for all the same: the words, and the figures in them, are compared.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random

from laissez.market.commands import PRICE_MAX
from laissez.wire.ids import lease_id, tag_of
from laissez_check.access.pair_service import RECEIVER, Service
from laissez_check.access.pair_spending import AMOUNT, LIMITS_TO_FLOOR, Spending
from laissez_check.access.pairs import ME

BUDGET_SET, CAPS_SET, DELIVERED = 0.15, 0.15, 0.3  # how often, of all moments
AMOUNTS = ("0.01", "5", "1000")
# dollars per hour: below and above all that a tenant can have
NOTHING, EVERYTHING = "0", "1000000000"
CAPS = (
    {"rate": NOTHING},
    {"worst_rate": NOTHING},
    {"rate": NOTHING, "worst_rate": NOTHING},
    {"rate": EVERYTHING, "worst_rate": EVERYTHING},
)

Ask = Callable[..., Awaitable[bytes]]


class Asides:
    """`ask` sends a request and keeps its answer."""

    def __init__(self, service: Service, seed: int, ask: Ask) -> None:
        self._service = service
        self._draw = Random(f"{seed} asides")  # the same in both worlds
        self._ask = ask

    async def begin(self) -> None:
        await self._service.deliver()  # there is nothing yet: as when a service starts
        made = await self._ask("POST", "/v1/webhooks", {"url": RECEIVER})
        assert b"(201, " in made, made

    async def now_and_then(self) -> None:
        if self._draw.random() < BUDGET_SET:
            amount, keep = self._draw.choice(AMOUNTS), self._draw.random() < 0.5
            await self._ask("PUT", "/v1/budget", {"amount": amount, "action": "warn", "keep": keep})
        if self._draw.random() < CAPS_SET:
            await self._cap(self._draw.choice(CAPS))
        if self._draw.random() < DELIVERED:
            await self._service.deliver()

    async def _cap(self, caps: dict[str, str]) -> None:
        await self._ask("PUT", "/v1/caps", caps)
        if NOTHING not in caps.values():
            return
        await self._try_order()
        if "worst_rate" in caps:
            await self._try_limits()
        await self._ask("GET", "/v1/caps")
        await self._ask("PUT", "/v1/caps", {})

    async def spend(self, spending: Spending) -> None:
        """A budget is set and lasts until that time. It is told twice on the way, acts, and then
        stands against more."""
        await self._ask("PUT", "/v1/budget", {"amount": AMOUNT, "action": spending.action})
        await self._service.settle()
        self._service.pass_until(spending.until)
        await self._service.settle()
        await self._try_order()
        if spending.action == LIMITS_TO_FLOOR:
            await self._try_limits()
        for path in ("/v1/budget", "/v1/spending", "/v1/leases", "/v1/orders", "/v1/bills"):
            await self._ask("GET", path)
        await self._ask("DELETE", "/v1/budget")

    async def _try_order(self) -> None:
        await self._ask(
            "POST", "/v1/orders", {"alternatives": [{"scope": self._service.root, "limit": "1"}]}
        )

    async def _try_limits(self) -> None:
        """Only those that can be raised: one that stays as it is would be taken."""
        for lease in self._service.gateway.exchange.market.leases(ME):
            if lease.limit is not None and lease.limit < PRICE_MAX:
                path = f"/v1/leases/{lease_id(tag_of(ME), lease.lease)}"
                await self._ask("PATCH", path, {"limit": None})
