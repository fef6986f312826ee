"""LaissezCloud: the market itself. Everything that it does is `laissez.market`'s; this only carries
news back and forth.

A market that a run starts from has a time of its own, which goes on; the run's counts from 0.
`_origin` is the one at the other's beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

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

OWN_WILL = (EndReason.RELINQUISHED, EndReason.BUDGET_SPENT)


class Begun(NamedTuple):
    """A lease that began, or was there when the run did."""

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
        self._has_floors = False  # a market that was there before has its own
        # by tenant and order: when it was placed or last amended
        self._since: dict[tuple[str, int], int] = {}
        self._ended: dict[tuple[str, int], LeaseEnded] = {}
        self._begun: list[Begun] = []
        self._wakes_at: int | None = None  # when a hold ends next

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
            self._resumed(one.tenant, one.leaf)
        self._since = {(one.tenant, one.order): self.kernel.now for one in self.market.orders()}
        self._sleep()

    @property
    def market_time(self) -> int:
        return self._origin + self.kernel.now

    def operate(self, command: OperatorCommand) -> None:
        """What the operator does."""
        self._apply(command)

    def view(self, adapter: EconAdapter) -> TenantView:
        market, now, tenant = self.market, self.kernel.now, adapter.tenant
        self.requests += 2
        leases = tuple(
            [
                Held(one.lease, one.leaf, one.start - self._origin, one.charged, one.limit)
                for one in market.leases(tenant)
            ]
        )
        orders = tuple(
            [
                Resting(one.order, self._since[tenant, one.order], one.alternatives)
                for one in market.orders(tenant)
            ]
        )
        spent = 0
        if adapter.settings.budget is not None:
            self._apply(AdvanceTime())
            spent = micro_dollars(market.bill(tenant, self._origin).total)
        bare = TenantView(now, leases, orders, spent=spent)
        scopes = adapter.watches(bare)
        self.requests += len(scopes)
        return (
            TenantView(
                now, leases, orders, {scope: market.quote(tenant, scope) for scope in scopes}, spent
            )
            if scopes
            else bare
        )

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
        """What a newcomer would have to bid."""
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
        for begun in self._begun:
            ended = self._ended.get((begun.tenant, begun.lease))
            end, reason = (
                (ended.at - self._origin, str(ended.reason))
                if ended
                else (self.kernel.now, "lasting")
            )
            found.append(
                Lease(
                    begun.leaf,
                    begun.tenant,
                    begun.at,
                    end,
                    reason,
                    charges.get((begun.tenant, begun.lease), 0),
                    self._pieces(begun.tenant, begun.lease),
                )
            )
        return sorted(found, key=lambda lease: (lease.start, lease.leaf))

    def _pieces(self, tenant: str, lease: int) -> tuple[tuple[int, int], ...]:
        """What it was charged from when on; what was before the run is left out."""
        history = [
            piece
            for piece in self.market.price_history(tenant, lease)
            if piece.rate is not None and piece.end > self._origin
        ]
        return tuple(
            [
                (max(0, piece.start - self._origin), piece.rate)
                for piece in history
                if piece.rate is not None
            ]
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
        """Until the next hold ends: the market then moves without a command, and has to be told
        that it is time."""
        deadline = self.market.next_deadline()
        if deadline is not None and (self._wakes_at is None or deadline < self._wakes_at):
            self._wakes_at = deadline
            self.kernel.at(
                max(self.kernel.now, deadline - self._origin), lambda: self._wake(deadline)
            )

    def _wake(self, deadline: int) -> None:
        if deadline == self._wakes_at:  # else something sooner came in between
            self._wakes_at = None
            self._apply(AdvanceTime())

    def _hear(self, event: Event) -> None:
        if isinstance(event, LeaseStarted):
            self._begun.append(
                Begun(event.tenant, event.lease, event.leaf, event.at - self._origin)
            )
            self._granted(event.tenant, event.leaf)
        elif isinstance(event, LeaseEnded):
            self._ended[event.tenant, event.lease] = event
            self._taken(event.leaf, event.reason in OWN_WILL)
        elif isinstance(event, OrderPlaced | OrderAmended):
            self._since[event.tenant, event.order] = self.kernel.now
        elif isinstance(event, Refused):
            self._refused(event)

    def _refused(self, event: Refused) -> None:
        """A tenant decides on what it saw; within one decision its own commands may overtake what
        it saw. Anything else is a bug."""
        if event.reason not in (Reason.NOT_YOUR_LEASE, Reason.ALREADY_FILLED):
            raise AssertionError(f"the market refused what a tenant sent: {event}")
