"""A cloud, as its tenants see it: they show it orders, limits and leases given up, and it tells
them what they got and what they lost.

Every cloud takes the same commands and shows the same view, so a tenant cannot tell which one it is
in but by how it fares. What differs is the contract alone: who gets a GPU, when it is taken away,
and what it costs.
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

# from one owner to the next: fencing and reattaching take 10 to 100 ms
HANDOFF_US: Final = (10_000, 100_000)


class Customer(Protocol):
    """A tenant, as a cloud knows it."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str:
        """`inference`, `training`, `batch`: some clouds treat them differently."""

    @property
    def app(self) -> Application:
        """What it runs: only an omniscient cloud looks."""

    def gained(self, leaf: str, since: int) -> None:
        """The leaf, which is the tenant's since a moment ago, can be used from now on."""

    def lost(self, leaf: str, since: int, voluntary: bool) -> None:
        """The leaf is gone; `voluntary` says that the tenant gave it up itself."""


class Lease(msgspec.Struct, frozen=True):
    """One lease, when it is over: `charge` in micro-dollar-microseconds per hour (rate x duration),
    in pieces of (start, rate)."""

    leaf: str
    tenant: str
    start: int
    end: int
    reason: str
    charge: int
    prices: tuple[tuple[int, int], ...]


class Cloud(ABC):
    """What all clouds have in common: customers, and the hand-off of a leaf, which takes a
    moment."""

    name: str

    def __init__(self, cluster: Cluster, kernel: Kernel, rng: Random) -> None:
        self.cluster = cluster
        self.kernel = kernel
        self.rng = rng
        self.customers: dict[str, Customer] = {}
        self.requests = 0  # commands and questions asked of it
        self._owners: dict[str, tuple[str, int]] = {}  # leaf: its tenant, and when it was granted

    def join(self, customer: Customer) -> None:
        self.customers[customer.name] = customer

    @abstractmethod
    def view(self, adapter: EconAdapter) -> TenantView:
        """What the tenant of `adapter` may see now, with the quotes that its adapter would use."""

    @abstractmethod
    def send(self, commands: Sequence[TenantCommand]) -> None:
        """Carry out what a tenant decided."""

    @abstractmethod
    def leave(self, tenant: str) -> None:
        """The tenant is done: it cancels all that it asked for and gives up all that it has."""

    @abstractmethod
    def take_offline(self, leaf: str) -> None:
        """The node failed."""

    @abstractmethod
    def bring_online(self, leaf: str) -> None:
        """The node is repaired."""

    @abstractmethod
    def leases(self) -> list[Lease]:
        """All leases until now, by start and leaf; those that last end now."""

    def begin(self) -> None:
        """Before the first tenant comes."""
        return

    @abstractmethod
    def start_from(self, start: Start) -> None:
        """Before it begins: what the market of `start` has is held and asked for here too. Its
        tenants have joined."""

    def fees(self) -> dict[str, int]:
        """What each tenant owes beside its leases, in the unit of charges."""
        return {}

    @abstractmethod
    def charged(self) -> dict[str, list[int]]:
        """What each leased GPU costs now, by type, in micro-dollars per hour."""

    def prices(self) -> dict[str, int]:
        """What one more GPU of each type costs now, in micro-dollars per hour."""
        return dict(self.cluster.prices)

    def _granted(self, tenant: str, leaf: str) -> None:
        """Hand `leaf` over: its tenant can use it a moment later, if it is still the owner then."""
        grant = (tenant, self.kernel.now)
        self._owners[leaf] = grant

        def deliver() -> None:
            if self._owners.get(leaf) is grant:
                self.customers[tenant].gained(leaf, grant[1])

        self.kernel.at(self.kernel.now + self.rng.randint(*HANDOFF_US), deliver)

    def _resumed(self, tenant: str, leaf: str) -> None:
        """`leaf` is its tenant's from the beginning, and in use."""
        self._owners[leaf] = (tenant, self.kernel.now)
        self.customers[tenant].gained(leaf, self.kernel.now)

    def _taken(self, leaf: str, voluntary: bool) -> None:
        tenant, since = self._owners.pop(leaf)
        self.customers[tenant].lost(leaf, since, voluntary)
