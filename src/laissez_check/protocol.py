"""What the checks ask of a market: they know it by these methods only, so the oracle and broken
oracles can stand in its place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from laissez.market.answers import Bill, LeaseView, OrderView, PriceSegment, TenantCounts
from laissez.market.commands import Command
from laissez.market.events import Event


class HasLeaves(Protocol):
    @property
    def leaves(self) -> Iterable[str]: ...


class MarketUnderTest(Protocol):
    @property
    def now(self) -> int: ...

    @property
    def topology(self) -> HasLeaves: ...

    def apply(self, command: Command, at: int) -> list[Event]: ...

    def owner(self, leaf: str) -> str | None: ...

    def rate(self, leaf: str) -> int: ...

    def floor(self, node: str) -> int: ...

    def is_online(self, leaf: str) -> bool: ...

    def quote(self, tenant: str | None, scope: str) -> int | None: ...

    def pricing_domain(self, tenant: str) -> tuple[str, ...]: ...

    def orders(self, tenant: str | None = None) -> tuple[OrderView, ...]: ...

    def leases(self, tenant: str | None = None) -> tuple[LeaseView, ...]: ...

    def tenants(self) -> Iterable[str]: ...

    def bill(self, tenant: str, since: int | None = None, until: int | None = None) -> Bill: ...

    def revenue(self) -> int: ...

    def counts(self, tenant: str) -> TenantCounts: ...

    def lease(self, tenant: str, lease: int, /) -> LeaseView | None: ...

    def lease_on(self, leaf: str) -> LeaseView | None: ...

    def charge(self, tenant: str, lease: int, /) -> int: ...

    def price_history(self, tenant: str, lease: int, /) -> tuple[PriceSegment, ...]: ...

    def next_deadline(self) -> int | None: ...


class MakeMarket(Protocol):
    """How the market under test is built: leaf paths in any order, and how many open orders a
    tenant may have."""

    def __call__(
        self, leaves: tuple[str, ...], orders_per_tenant_max: int, /
    ) -> MarketUnderTest: ...


def real_market(leaves: tuple[str, ...], orders_per_tenant_max: int) -> MarketUnderTest:
    """The market of `laissez.market`, imported late so that checking the checks does not need
    it."""
    from laissez.market import Market, Topology

    market: MarketUnderTest = Market(
        Topology.of(leaves), orders_per_tenant_max=orders_per_tenant_max
    )
    return market
