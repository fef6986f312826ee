"""LaissezCloud: the market itself. Everything that it does is `laissez.market`'s; this only carries news back and forth."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

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
    Reason,
    Refused,
    Relinquish,
    SetControls,
    SetFloor,
    TakeOffline,
)
from laissez.market.commands import OperatorCommand, TenantCommand
from laissez.market.money import split_charge
from laissez.sim.clouds.cloud import Cloud, Lease
from laissez.sim.cluster import Cluster
from laissez.sim.kernel import Kernel
from laissez.tenants import EconAdapter, Held, Resting, TenantView
from laissez.tenants.paths import tree_of

OWN_WILL = (EndReason.RELINQUISHED, EndReason.BUDGET_SPENT)


class MarketCloud(Cloud):
    name = "market"

    def __init__(self, cluster: Cluster, kernel: Kernel, chance: Random, controls: SetControls | None = None, market: Market | None = None) -> None:
        super().__init__(cluster, kernel, chance)
        self.market = market or Market(cluster.topology)
        self._controls = controls
        self._since: dict[int, tuple[int, int]] = {}  # order: its place in the queue, and when it got there
        self._ended: dict[int, LeaseEnded] = {}
        self._begun: list[LeaseStarted] = []

    def begin(self) -> None:
        for tree, floor in self.cluster.floors.items():
            self.operate(SetFloor(tree, floor))
        if self._controls is not None:
            for tree in self.cluster.floors:
                controls = self._controls
                self.operate(SetControls(tree, controls.rise, controls.fall, controls.hold_us, controls.flash_us))

    def operate(self, command: OperatorCommand) -> None:
        """What the operator does."""
        self._apply(command)

    def view(self, adapter: EconAdapter) -> TenantView:
        market, now, tenant = self.market, self.kernel.now, adapter.tenant
        self.requests += 2
        leases = tuple([Held(one.leaf, one.start, one.charged, one.limit) for one in market.leases(tenant)])
        orders = tuple([Resting(one.order, self._waiting_since(one.order, one.number), one.alternatives) for one in market.orders(tenant)])
        spent = 0
        if adapter.terms.budget is not None:
            self._apply(AdvanceTime())
            spent = split_charge(market.bill(tenant).total)[0]
        bare = TenantView(now, leases, orders, spent=spent)
        scopes = adapter.watches(bare)
        self.requests += len(scopes)
        return TenantView(now, leases, orders, {scope: market.quote(tenant, scope) for scope in scopes}, spent) if scopes else bare

    def send(self, commands: Sequence[TenantCommand]) -> None:
        for command in commands:
            self.requests += 1
            self._apply(command)

    def leave(self, tenant: str) -> None:
        if tenant in self.market.tenants():
            self.send([CancelOrder(tenant, one.order) for one in self.market.orders(tenant)])
            self.send([Relinquish(tenant, one.leaf) for one in self.market.leases(tenant)])

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
        lines = {line.lease: line for tenant in self.market.tenants() for line in self.market.bill(tenant).leases}
        found = []
        for start in self._begun:
            ended = self._ended.get(start.lease)
            pieces = tuple((piece.start, piece.rate) for piece in self.market.price_history(start.lease) if piece.rate is not None)
            end, reason = (ended.at, str(ended.reason)) if ended else (self.kernel.now, "lasting")
            charge = lines[start.lease].charge if start.lease in lines else 0
            found.append(Lease(start.leaf, start.tenant, start.at, end, reason, charge, pieces))
        return sorted(found, key=lambda lease: (lease.start, lease.leaf))

    def _apply(self, command: Command) -> None:
        for event in self.market.apply(command, self.kernel.now):
            self._hear(event)

    def _hear(self, event: Event) -> None:
        if isinstance(event, LeaseStarted):
            self._begun.append(event)
            self._granted(event.tenant, event.leaf)
        elif isinstance(event, LeaseEnded):
            self._ended[event.lease] = event
            self._taken(event.leaf, event.reason in OWN_WILL)
        elif isinstance(event, Refused):
            self._refused(event)

    def _refused(self, event: Refused) -> None:
        """A tenant decides on what it saw; within one decision its own commands may overtake what it saw. Anything else is a bug."""
        if event.reason not in (Reason.NOT_YOUR_LEASE, Reason.ALREADY_FILLED):
            raise AssertionError(f"the market refused what a tenant sent: {event}")

    def _waiting_since(self, order: int, number: int) -> int:
        known = self._since.get(order)
        if known is None or known[0] != number:
            known = self._since[order] = (number, self.kernel.now)
        return known[1]
