"""A cloud as its tenants see it: it takes orders, limits and relinquished leases, and reports gains
and losses.

Every cloud takes the same commands and shows the same view. Only the contract differs: the tenant
that gets a GPU, the time at which it is taken away, and its price.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random
from typing import Final, Protocol

import msgspec

from laissez.market.commands import TenantCommand
from laissez.sim.cluster import Cluster, Start
from laissez.sim.kernel import Kernel
from laissez.tenants import Application, EconAdapter, TenantView

# between two owners: fencing and reattaching take 10 to 100 ms
HANDOFF_US: Final = (10_000, 100_000)


class Customer(Protocol):
    """A tenant as a cloud knows it."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str:
        """`inference`, `training` or `batch`; some clouds treat them differently."""

    @property
    def app(self) -> Application:
        """The application. Only an omniscient cloud looks at it."""

    def gained(self, leaf: str, since: int) -> None:
        """The leaf, leased at `since`, can be used from now on."""

    def lost(self, leaf: str, since: int, voluntary: bool) -> None:
        """The lease has ended; `voluntary` if the tenant relinquished it."""


class Lease(msgspec.Struct, frozen=True):
    """A lease, ended or lasting. `charge` is in micro-dollar-microseconds per hour (rate times
    duration); `prices` are pairs of start and rate."""

    leaf: str
    tenant: str
    start: int
    end: int
    reason: str
    charge: int
    prices: tuple[tuple[int, int], ...]


class Cloud(ABC):
    """The base of all clouds: customers, and the handoff of a leaf, which takes a moment."""

    name: str

    def __init__(self, cluster: Cluster, kernel: Kernel, rng: Random) -> None:
        self.cluster = cluster
        self.kernel = kernel
        self.rng = rng
        self.customers: dict[str, Customer] = {}
        self.requests = 0  # commands and questions
        self._owners: dict[str, tuple[str, int]] = {}  # by leaf: the tenant, and since when

    def join(self, customer: Customer) -> None:
        self.customers[customer.name] = customer

    def begin(self) -> None:
        """Called before the first tenant arrives."""
        return

    @abstractmethod
    def start_from(self, start: Start) -> None:
        """Take over the leases and orders of a market. Its tenants have joined before."""

    @abstractmethod
    def view(self, adapter: EconAdapter) -> TenantView:
        """The tenant's view, with the quotes that its adapter uses."""

    @abstractmethod
    def send(self, commands: Sequence[TenantCommand]) -> None:
        """Carry out a tenant's commands."""

    @abstractmethod
    def leave(self, tenant: str) -> None:
        """Cancel all orders and relinquish all leases of a tenant."""

    @abstractmethod
    def take_offline(self, leaf: str) -> None: ...

    @abstractmethod
    def bring_online(self, leaf: str) -> None: ...

    @abstractmethod
    def leases(self) -> list[Lease]:
        """All leases so far, by start and leaf; lasting ones end now."""

    def fees(self) -> dict[str, int]:
        """The charges of each tenant beyond its leases."""
        return {}

    @abstractmethod
    def charged(self) -> dict[str, list[int]]:
        """The rate of each leased GPU, by type, in micro-dollars per hour."""

    def prices(self) -> dict[str, int]:
        """The price of one more GPU, by type, in micro-dollars per hour."""
        return dict(self.cluster.prices)

    def _grant(self, tenant: str, leaf: str) -> None:
        """Hand a leaf over. The tenant can use it a moment later, if it still owns it then."""
        grant = (tenant, self.kernel.now)
        self._owners[leaf] = grant

        def deliver() -> None:
            if self._owners.get(leaf) is grant:
                self.customers[tenant].gained(leaf, grant[1])

        self.kernel.after(self.rng.randint(*HANDOFF_US), deliver)

    def _resume(self, tenant: str, leaf: str) -> None:
        """Register a leaf that its tenant already uses when the run starts."""
        self._owners[leaf] = (tenant, self.kernel.now)
        self.customers[tenant].gained(leaf, self.kernel.now)

    def _revoke(self, leaf: str, voluntary: bool) -> None:
        tenant, since = self._owners.pop(leaf)
        self.customers[tenant].lost(leaf, since, voluntary)
