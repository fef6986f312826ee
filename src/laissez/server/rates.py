"""What one follower knows of its leases' rates, and the notices it is due.

Rates are sampled, because they may change with every command of anyone. A follower is told what
changed since it was told last. A warning comes once when a rate gets within the follower's distance
of the limit, and again only after it has been outside.
"""

from __future__ import annotations

from collections.abc import Iterable

from laissez.market.answers import LeaseView
from laissez.units import format_time
from laissez.wire.events import LimitNear, Notice, RateChanged
from laissez.wire.ids import lease_id, tag_of
from laissez.wire.rendering import optional_price, price

PPM = 1_000_000


class RateWatch:
    """`within_ppm` is the distance at which the follower wants to be warned, in millionths of the
    limit."""

    def __init__(self, within_ppm: int) -> None:
        self._within_ppm = within_ppm
        self._told: dict[int, int] = {}  # lease: the rate it is charged
        self._warned: set[int] = set()

    def notices(self, at: int, leases: Iterable[LeaseView]) -> list[Notice]:
        """What is new, given all live leases of the tenant."""
        notices: list[Notice] = []
        time, told, near = format_time(at), {}, set()
        for lease in leases:
            number, leaf, limit = lease.lease, lease.leaf, lease.limit
            told[number] = lease.charged
            if self._told.get(number) != lease.charged:
                id, rate = lease_id(tag_of(lease.tenant), number), price(lease.charged)
                notices.append(RateChanged(time, id, leaf, rate, optional_price(limit)))
            # While a hold caps the charge, `rate` is more: it counts once the hold is over.
            if limit is not None and self._is_near(lease.rate, limit):
                near.add(number)
                if number not in self._warned:
                    id, rate = lease_id(tag_of(lease.tenant), number), price(lease.rate)
                    notices.append(LimitNear(time, id, leaf, rate, price(limit)))
        self._told, self._warned = told, near
        return notices

    def _is_near(self, rate: int, limit: int) -> bool:
        return (limit - rate) * PPM <= limit * self._within_ppm
