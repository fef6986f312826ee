"""Mistakes of the market on purpose.

Its compiled form calls its own functions without asking Python for them, so a mistake cannot be put
inside. It is made where the service calls the market: after each command, the leases that a market
with the mistake would have ended as well are ended, and told as it would tell them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from laissez.market import EndReason, Event, LeaseEnded, Market, Refused, Relinquish
from laissez.market.answers import LeaseView

Replaced = tuple[Any, str, Any]  # object, name, what stands there now


def lost_at_the_limit() -> list[Replaced]:
    """>= for >: a lease is lost as soon as its rate reaches its limit."""
    return _also_lost(
        lambda lease, now: (
            lease.rate == lease.limit and (lease.hold_until is None or lease.hold_until <= now)
        )
    )


def hold_ignored() -> list[Replaced]:
    """A lease is lost for price though it is held."""
    return _also_lost(lambda lease, now: lease.limit is not None and lease.rate > lease.limit)


def _also_lost(is_lost: Callable[[LeaseView, int], bool]) -> list[Replaced]:
    apply = Market.apply

    def apply_and_lose(self: Market, command: Any, at: Any) -> list[Event]:
        events = apply(self, command, at)
        if events and isinstance(events[-1], Refused):
            return events
        for before in self.leases():
            lease = self.lease(before.tenant, before.lease)
            if lease is not None and lease.end is None and is_lost(lease, self.now):
                events += [
                    _for_price(self, event)
                    for event in apply(self, Relinquish(lease.tenant, lease.lease), self.now)
                ]
        return events

    return [(Market, name, apply_and_lose) for name in ("apply", "apply_typed")]


def _for_price(market: Market, event: Event) -> Event:
    if not isinstance(event, LeaseEnded):
        return event
    return replace(
        event,
        reason=EndReason.FLOOR_RAISED
        if market.floor(event.leaf) >= event.rate
        else EndReason.OUTBID,
    )


MARKET_BUGS = (lost_at_the_limit, hold_ignored)
