"""Mistakes of the market on purpose.

Its compiled form, and that of the exchange around it, call their own functions without asking
Python for them, so a mistake cannot be put inside. It is made where the service calls the exchange:
after each command, the leases that a market with the mistake would have ended as well are ended,
and told as it would tell them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from laissez.exchange.commands import SERVICE, Request
from laissez.exchange.events import Applied, Event
from laissez.exchange.exchange import Exchange
from laissez.market import EndReason, LeaseEnded, Market, Relinquish
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
    apply = Exchange.apply

    def apply_and_lose(self: Exchange, at: int, request: Request) -> Applied:
        applied, market = apply(self, at, request), self.market
        if applied.refusal is not None:
            return applied
        for before in market.leases():
            lease = market.lease(before.tenant, before.lease)
            if lease is not None and lease.end is None and is_lost(lease, market.now):
                gives_up = Relinquish(lease.tenant, lease.lease)
                more = Request(lease.tenant, SERVICE, "", b"", gives_up)
                applied = _together(market, applied, apply(self, market.now, more))
        return applied

    return [(Exchange, "apply", apply_and_lose)]


def _together(market: Market, first: Applied, then: Applied) -> Applied:
    events = [_for_price(market, event) for event in then.events]
    return replace(
        first,
        events=(*first.events, *events),
        tenants=(*first.tenants, *then.tenants),
        numbers=(*first.numbers, *then.numbers),
    )


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
