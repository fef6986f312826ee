"""LaissezCloud: the market itself as a cloud. This class only carries commands and events.

A market that a run starts from has a time of its own, which goes on, while the run counts from 0.
`_origin` is the market's time at the start of the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple

from msgspec.structs import replace

from laissez.market import (
    AdvanceTime,
    BringOnline,
    CancelOrder,
    Command,
    EndReason,
    Event,
    LeaseEnded,
    LeaseStarted,
    Market,
    OrderAmended,
    OrderPlaced,
    Reason,
    Refused,
    Relinquish,
    SetFloor,
    TakeOffline,
)
from laissez.market.commands import OperatorCommand, TenantCommand
from laissez.sim.clouds.cloud import Cloud, Lease
from laissez.sim.cluster import Cluster, Start
from laissez.sim.kernel import Kernel
from laissez.tenants import EconAdapter, Held, Resting, TenantView
from laissez.tenants.paths import tree_of
from laissez.units import micro_dollars

VOLUNTARY: Final = (EndReason.RELINQUISHED, EndReason.BUDGET_SPENT)
# a tenant decides on a view; its own earlier commands may have changed what the view shows
OVERTAKEN: Final = (Reason.NOT_YOUR_LEASE, Reason.ALREADY_FILLED)


class Begun(NamedTuple):
    """A lease that began during the run, or lasted when it started."""

    tenant: str
    lease: int
    leaf: str
    at: int


class MarketCloud(Cloud):
    name = "market"

    def __init__(self, cluster: Cluster, kernel: Kernel, rng: Random) -> None:
        super().__init__(cluster, kernel, rng)
        self.market = Market(cluster.topology)
        self._origin = 0
        self._has_floors = False
        # by tenant and order: when it was placed or last amended
        self._since: dict[tuple[str, int], int] = {}
        self._ended: dict[tuple[str, int], LeaseEnded] = {}
        self._begun: list[Begun] = []
        self._wakes_at: int | None = None  # the market's next deadline

    def begin(self) -> None:
        if not self._has_floors:
            for tree, floor in self.cluster.floors.items():
                self.operate(SetFloor(tree, floor))

    def start_from(self, start: Start) -> None:
        self.market = start.market()
        self._origin = self.market.now
        self._has_floors = True
        for one in self.market.leases():
            self._begun.append(Begun(one.tenant, one.lease, one.leaf, self.kernel.now))
            self._resume(one.tenant, one.leaf)
        self._since = {(one.tenant, one.order): self.kernel.now for one in self.market.orders()}
        self._sleep()

    @property
    def market_time(self) -> int:
        return self._origin + self.kernel.now

    def operate(self, command: OperatorCommand) -> None:
        """Carry out a command of the operator."""
        self._apply(command)

    def view(self, adapter: EconAdapter) -> TenantView:
        market, tenant = self.market, adapter.tenant
        self.requests += 2
        # a tuple of a list is faster than of a generator, and this is the busiest place of a run
        leases = [
            Held(one.lease, one.leaf, one.start - self._origin, one.charged, one.limit)
            for one in market.leases(tenant)
        ]
        orders = [
            Resting(one.order, self._since[tenant, one.order], one.alternatives)
            for one in market.orders(tenant)
        ]
        spent = 0
        if adapter.settings.budget is not None:
            self._apply(AdvanceTime())
            spent = micro_dollars(market.bill(tenant, self._origin).total)
        bare = TenantView(self.kernel.now, tuple(leases), tuple(orders), spent=spent)
        scopes = adapter.watches(bare)
        self.requests += len(scopes)
        if not scopes:
            return bare
        return replace(bare, quotes={scope: market.quote(tenant, scope) for scope in scopes})

    def send(self, commands: Sequence[TenantCommand]) -> None:
        for command in commands:
            self.requests += 1
            self._apply(command)

    def leave(self, tenant: str) -> None:
        if tenant in self.market.tenants():
            self.send([CancelOrder(tenant, one.order) for one in self.market.orders(tenant)])
            self.send([Relinquish(tenant, one.lease) for one in self.market.leases(tenant)])

    def take_offline(self, leaf: str) -> None:
        self.operate(TakeOffline(leaf))

    def bring_online(self, leaf: str) -> None:
        self.operate(BringOnline(leaf))

    def prices(self) -> dict[str, int]:
        """The bid that a newcomer would need."""
        quotes = {tree: self.market.quote(None, tree) for tree in self.cluster.topology.roots}
        return {tree: quote for tree, quote in quotes.items() if quote is not None}

    def charged(self) -> dict[str, list[int]]:
        rates: dict[str, list[int]] = {}
        for lease in self.market.leases():
            rates.setdefault(tree_of(lease.leaf), []).append(lease.charged)
        return rates

    def leases(self) -> list[Lease]:
        self._apply(AdvanceTime())
        charges = {
            (tenant, line.lease): line.charge
            for tenant in self.market.tenants()
            for line in self.market.bill(tenant, self._origin).leases
        }
        found = []
        for tenant, lease, leaf, start in self._begun:
            ended = self._ended.get((tenant, lease))
            end = self.kernel.now if ended is None else ended.at - self._origin
            reason = "lasting" if ended is None else str(ended.reason)
            charge = charges.get((tenant, lease), 0)
            prices = self._rates(tenant, lease)
            found.append(Lease(leaf, tenant, start, end, reason, charge, prices))
        return sorted(found, key=lambda lease: (lease.start, lease.leaf))

    def _rates(self, tenant: str, lease: int) -> tuple[tuple[int, int], ...]:
        """The rates of a lease, each with its start, from the start of the run on."""
        return tuple(
            (max(0, piece.start - self._origin), piece.rate)
            for piece in self.market.price_history(tenant, lease)
            if piece.rate is not None and piece.end > self._origin
        )

    def fees(self) -> dict[str, int]:
        self._apply(AdvanceTime())
        bills = [self.market.bill(tenant, self._origin) for tenant in self.market.tenants()]
        return {bill.tenant: sum(fee.charge for fee in bill.fees) for bill in bills if bill.fees}

    def _apply(self, command: Command) -> None:
        for event in self.market.apply(command, self.market_time):
            self._hear(event)
        self._sleep()

    def _sleep(self) -> None:
        """Wake at the market's next deadline, such as the end of a hold."""
        deadline = self.market.next_deadline()
        if deadline is not None and (self._wakes_at is None or deadline < self._wakes_at):
            self._wakes_at = deadline
            at = max(self.kernel.now, deadline - self._origin)
            self.kernel.at(at, lambda: self._wake(deadline))

    def _wake(self, deadline: int) -> None:
        if deadline == self._wakes_at:  # otherwise an earlier deadline came up meanwhile
            self._wakes_at = None
            self._apply(AdvanceTime())

    def _hear(self, event: Event) -> None:
        if isinstance(event, LeaseStarted):
            at = event.at - self._origin
            self._begun.append(Begun(event.tenant, event.lease, event.leaf, at))
            self._grant(event.tenant, event.leaf)
        elif isinstance(event, LeaseEnded):
            self._ended[event.tenant, event.lease] = event
            self._revoke(event.leaf, event.reason in VOLUNTARY)
        elif isinstance(event, OrderPlaced | OrderAmended):
            self._since[event.tenant, event.order] = self.kernel.now
        elif isinstance(event, Refused):
            assert event.reason in OVERTAKEN, f"the market refused a tenant's command: {event}"
