"""A tenant's view of one instant: its own leases and orders, the prices around them, what it has
spent, and the time.

A view holds nothing about other tenants (M12), and nothing reads a clock: the same view gives the
same decision, live, simulated or in a test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from laissez.market.commands import Alternative

NO_QUOTES: Final[Mapping[str, int | None]] = MappingProxyType({})


class Held(msgspec.Struct, frozen=True, gc=False):
    """A lease: it costs `charged` now and is lost beyond `limit` (`None`: never). `lease` is its
    number among the tenant's own."""

    lease: int
    leaf: str
    since: int
    charged: int
    limit: int | None


def leaves(leases: Iterable[Held]) -> tuple[str, ...]:
    """The leaves held, in the order in which applications are asked about them."""
    return tuple(sorted([lease.leaf for lease in leases]))


class Resting(msgspec.Struct, frozen=True, gc=False):
    """An open order and its alternatives, placed or last amended at `since`."""

    order: int
    since: int
    alternatives: tuple[Alternative, ...]


class TenantView(msgspec.Struct, frozen=True):
    """Prices are micro-dollars per hour, times microseconds. `spent` are micro-dollars since the
    tenant's task began.

    `quotes` holds the scopes that were asked for and may be seen. `None` means that no price would
    win there now.
    """

    now: int
    leases: tuple[Held, ...] = ()
    orders: tuple[Resting, ...] = ()
    quotes: Mapping[str, int | None] = NO_QUOTES
    spent: int = 0
