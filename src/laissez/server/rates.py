"""Telling tenants what their leases are charged: sampled, because a rate may change with every
command of anyone.

Each follower remembers what it was told last and is told again only what changed. A warning comes
once when the rate gets within the follower's distance of the limit, and again only after it has
been outside.
"""

from __future__ import annotations

import msgspec

from laissez.exchange.accounts import Account
from laissez.market import Market
from laissez.units import format_time
from laissez.wire.events import LimitNear, Notice, RateChanged
from laissez.wire.ids import lease_id, tag_of
from laissez.wire.rendering import optional_price, price

PPM = 1_000_000


class Level(msgspec.Struct, frozen=True, gc=False):
    lease: str
    leaf: str
    rate: int  # what it is charged
    limit: int | None
    # what presses on it: more than it is charged while a hold caps that, and what counts once the
    # hold is over
    pressing: int


class RateWatch:
    """What one follower knows of its leases' rates. `within_ppm` is the distance at which it wants
    to be warned, in millionths of the limit."""

    def __init__(self, within_ppm: int) -> None:
        self._within_ppm = within_ppm
        self._told: dict[str, int] = {}
        self._warned: set[str] = set()

    def notices(self, at: int, levels: list[Level]) -> list[Notice]:
        notices: list[Notice] = []
        for level in levels:
            if self._told.get(level.lease) != level.rate:
                notices.append(
                    RateChanged(
                        format_time(at),
                        level.lease,
                        level.leaf,
                        price(level.rate),
                        optional_price(level.limit),
                    )
                )
            if level.limit is not None and self._is_near(level.pressing, level.limit):
                if level.lease not in self._warned:
                    notices.append(
                        LimitNear(
                            format_time(at),
                            level.lease,
                            level.leaf,
                            price(level.pressing),
                            price(level.limit),
                        )
                    )
                self._warned.add(level.lease)
            else:
                self._warned.discard(level.lease)
        self._told = {level.lease: level.rate for level in levels}
        self._warned &= self._told.keys()
        return notices

    def _is_near(self, rate: int, limit: int) -> bool:
        return (limit - rate) * PPM <= limit * self._within_ppm


def levels(market: Market, account: Account) -> list[Level]:
    """What the tenant's leases are charged now."""
    held, tag = market.leases(account.name), tag_of(account.name)
    return [
        Level(lease_id(tag, lease.lease), lease.leaf, lease.charged, lease.limit, lease.rate)
        for lease in held
    ]
