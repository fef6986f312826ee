"""Notices of changed rates, and of rates that come close to a lease's limit.

Rates are sampled, because any command of any tenant may change them. A notice reports changes since
the follower's previous notice. A follower is warned once when a rate comes near the limit, and
again only after the rate has left that range.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from laissez.exchange.commands import OPERATOR
from laissez.market.answers import LeaseView
from laissez.server.background import Background
from laissez.units import format_time
from laissez.wire.events import LimitNear, Notice, RateChanged
from laissez.wire.ids import lease_id, tag_of
from laissez.wire.rendering import optional_price, price

if TYPE_CHECKING:
    from laissez.server.gateway import Gateway

PPM = 1_000_000


class RateWatch:
    """The rates that one follower knows. `within_ppm` is the distance at which it wants to be
    warned, in millionths of the limit."""

    def __init__(self, within_ppm: int) -> None:
        self._within_ppm = within_ppm
        self._known: dict[int, int] = {}  # lease: the rate it is charged
        self._warned: set[int] = set()

    def notices(self, at: int, leases: Iterable[LeaseView]) -> list[Notice]:
        """The notices that are due, given all live leases of the tenant."""
        notices: list[Notice] = []
        time, known, near = format_time(at), {}, set()
        for lease in leases:
            number, leaf, limit = lease.lease, lease.leaf, lease.limit
            known[number] = lease.charged
            if self._known.get(number) != lease.charged:
                id, rate = lease_id(tag_of(lease.tenant), number), price(lease.charged)
                notices.append(RateChanged(time, id, leaf, rate, optional_price(limit)))
            # While a hold caps the charge, `rate` is higher: it applies once the hold ends.
            if limit is not None and self._is_near(lease.rate, limit):
                near.add(number)
                if number not in self._warned:
                    id, rate = lease_id(tag_of(lease.tenant), number), price(lease.rate)
                    notices.append(LimitNear(time, id, leaf, rate, price(limit)))
        self._known, self._warned = known, near
        return notices

    def _is_near(self, rate: int, limit: int) -> bool:
        return (limit - rate) * PPM <= limit * self._within_ppm


async def sample_rates(gateway: Gateway) -> None:
    """Notify the followers of all tenants."""
    async for holder in Background(gateway.clock).of(gateway.following()):
        if holder != OPERATOR and gateway.failure is None:
            notify_rates(gateway, holder)


def notify_rates(gateway: Gateway, tenant: str) -> None:
    """Notify the tenant's followers of its rates."""
    at, leases = gateway.clock.now(), gateway.exchange.market.leases(tenant)
    for follower in gateway.followers(tenant):
        for notice in follower.watch.notices(at, leases):
            gateway.when_durable(follower.notify, notice)
