"""What a tenant's policy is shown: its own leases and orders, the prices around them, what it has
spent, and the time.

Nothing here is about anybody else (M12), and nothing reads a clock: the same view gives the same
decision, live, simulated or in a test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from laissez.market.commands import Alternative

NO_QUOTES: Final[Mapping[str, int | None]] = MappingProxyType({})


class Held(msgspec.Struct, frozen=True, gc=False):
    """A lease: `charged` is what it costs now, `limit` the most it may cost before it is given up
    (`None`: whatever it costs). `lease` is its number among the tenant's own."""

    lease: int
    leaf: str
    since: int
    charged: int
    limit: int | None


def leaves(leases: Iterable[Held]) -> tuple[str, ...]:
    """What is held, in the order in which applications are asked about it."""
    return tuple(sorted([lease.leaf for lease in leases]))


class Resting(msgspec.Struct, frozen=True, gc=False):
    """An open order with the alternatives in force; `since` is when it was placed or last
    amended."""

    order: int
    since: int
    alternatives: tuple[Alternative, ...]


class TenantView(msgspec.Struct, frozen=True):
    """One instant of a tenant. Prices are micro-dollars per hour, times microseconds, `spent`
    micro-dollars since the tenant's task began.

    `quotes` holds the scopes that were asked for and may be seen; `None` means that no price would
    win there now.
    """

    now: int
    leases: tuple[Held, ...] = ()
    orders: tuple[Resting, ...] = ()
    quotes: Mapping[str, int | None] = NO_QUOTES
    spent: int = 0
