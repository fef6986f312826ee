"""Find the events of one order among all those of its tenant.

The event log does not know which order an event is about, so events are read from the journal. A
tenant's orders are numbered as they are placed: bisection finds a place shortly before the order's
first event. Reading ends with the entry that fills or cancels the order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from laissez.exchange.events import Applied, Event
from laissez.market.events import LeaseStarted, OrderCancelled, OrderPlaced
from laissez.server.gateway import Gateway
from laissez.wire.events import Numbered
from laissez.wire.rendering import render

PIECE = 100  # events read at a time
ENDS = (OrderCancelled, LeaseStarted)


class TenantsEvent(NamedTuple):
    """An event with its number in the stream of its tenant and in that of the operator."""

    n: int
    operators_n: int
    event: Event


class OrderHistory:
    def __init__(
        self, gateway: Gateway, tenant: str, order: int, owe: Callable[[int], None]
    ) -> None:
        """`owe` is called with the number of events that were read, wanted or not."""
        self._gateway = gateway
        self._tenant = tenant
        self._order = order
        self._owe = owe

    async def after(self, n: int, most: int) -> list[TenantsEvent]:
        """The order's kept events after its tenant's number `n`, at most `most`."""
        until = self._gateway.latest(self._tenant)
        if n <= 0:
            n = await self._before_placing(until)
        found: list[TenantsEvent] = []
        is_over = False
        while n < until and len(found) < most and not is_over:
            read = await self._read(n)
            own = [one for one in read if getattr(one.event, "order", None) == self._order]
            is_over = any(isinstance(one.event, ENDS) for one in own)
            found += own
            n = read[-1].n if read else until
        return found[:most]

    async def _before_placing(self, high: int) -> int:
        """A number of the tenant shortly before the order was placed, or before the first event
        that is kept."""
        low = self._gone_until()
        while high - low > PIECE:
            n = middle = (low + high) // 2
            placed: int | None = None
            while placed is None and n < high:
                read = await self._read(n)
                placed = next(
                    (one.event.order for one in read if isinstance(one.event, OrderPlaced)), None
                )
                n = read[-1].n if read else high
            if placed is not None and placed <= self._order:
                low = middle
            else:
                high = middle
        return low

    async def _read(self, n: int) -> list[TenantsEvent]:
        """The tenant's next events after number `n`, in whole entries; none if all were forgotten
        meanwhile."""
        n = max(n, self._gone_until())
        found: list[TenantsEvent] = []

        def take(applied: Applied) -> None:
            for place, event in enumerate(applied.events):
                number = applied.numbers[place]
                if applied.tenants[place] == self._tenant and number > n:
                    found.append(TenantsEvent(number, applied.first + place, event))

        await self._gateway.read_outcomes(self._tenant, n, take, PIECE)
        self._owe(len(found))
        return found

    def _gone_until(self) -> int:
        gateway = self._gateway
        return gateway.event_log.gone_until(self._tenant, gateway.latest(self._tenant))


def show(one: TenantsEvent, operators_tenant: str | None) -> Numbered:
    """The event as its tenant sees it, or as the operator does, with the name of the tenant."""
    event = render(one.event)
    if operators_tenant is None:
        return Numbered(one.n, event)
    return Numbered(one.operators_n, event, operators_tenant)
