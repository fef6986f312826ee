"""Today's clouds: first come, first served at the list price, and tenants keep what they hold.

An order waits for a free GPU that it can use at a price within its limit; later orders for other
hardware may pass it. With preemption (`fcfs-p`), an inference tenant that would have to wait takes
a GPU from a training tenant without warning, as with spot instances. The victim is the GPU that was
leased last: a cloud does not know the losses of its tenants, but work that has just begun is cheap
to lose.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from random import Random

import msgspec
from msgspec.structs import replace

from laissez.market.commands import (
    Alternative,
    AmendOrder,
    CancelOrder,
    PlaceOrder,
    Relinquish,
    SetLimit,
    TenantCommand,
)
from laissez.sim.clouds.cloud import Cloud, Lease
from laissez.sim.cluster import Cluster, Start
from laissez.sim.kernel import Kernel
from laissez.tenants import EconAdapter, Held, Resting, TenantView
from laissez.tenants.paths import ancestors, is_below, tree_of
from laissez.units import micro_dollars


class Waiting(msgspec.Struct):
    """An order in the queue. Amending it keeps its place."""

    order: int
    tenant: str
    since: int
    alternatives: tuple[Alternative, ...]


class Fcfs(Cloud):
    name = "fcfs"

    def __init__(self, cluster: Cluster, kernel: Kernel, rng: Random) -> None:
        super().__init__(cluster, kernel, rng)
        self._queue: dict[int, Waiting] = {}  # by order, in order of arrival
        self._placed = self._started = 0
        self._held: dict[str, dict[str, Held]] = {}  # by tenant and leaf
        self._offline: set[str] = set()
        # a heap per scope; a leaf that is leased or offline meanwhile is dropped when it is found
        self._free: dict[str, list[str]] = {}
        self._past: list[Lease] = []
        for leaf in cluster.topology.leaves:
            self._add_free(leaf)

    def start_from(self, start: Start) -> None:
        """Leases go on at the list price with their limits; resting orders form the queue."""
        self._offline.update(start.offline)
        for lease in start.leases:
            self._hold(lease.tenant, lease.leaf, lease.limit)
            self._resume(lease.tenant, lease.leaf)
        for order in start.orders:
            self._enqueue(order.tenant, order.alternatives)

    def view(self, adapter: EconAdapter) -> TenantView:
        leases = tuple(self._held.get(adapter.tenant, {}).values())
        orders = tuple(
            Resting(one.order, one.since, one.alternatives)
            for one in self._queue.values()
            if one.tenant == adapter.tenant
        )
        spent = 0 if adapter.settings.budget is None else self._spent(adapter.tenant)
        bare = TenantView(self.kernel.now, leases, orders, spent=spent)
        scopes = adapter.watches(bare)
        self.requests += 2 + len(scopes)
        return replace(bare, quotes={scope: self._quote(scope) for scope in scopes})

    def send(self, commands: Sequence[TenantCommand]) -> None:
        for command in commands:
            self.requests += 1
            match command:
                case PlaceOrder(tenant, alternatives):
                    self._enqueue(tenant, alternatives)
                case AmendOrder(_, order, alternatives) if waiting := self._queue.get(order):
                    waiting.alternatives, waiting.since = alternatives, self.kernel.now
                    self._serve(waiting)
                case CancelOrder(_, order):
                    self._queue.pop(order, None)
                case Relinquish(tenant, lease) if leaf := self._leaf_of(tenant, lease):
                    self._end(leaf, "relinquished", voluntary=True)
                case SetLimit(tenant, lease, limit) if leaf := self._leaf_of(tenant, lease):
                    held = self._held[tenant]
                    held[leaf] = replace(held[leaf], limit=limit)
                case _:
                    pass  # the order or lease has ended meanwhile

    def leave(self, tenant: str) -> None:
        orders = [one.order for one in self._queue.values() if one.tenant == tenant]
        self.send([CancelOrder(tenant, order) for order in orders])
        held = self._held.get(tenant, {}).values()
        self.send([Relinquish(tenant, one.lease) for one in held])

    def take_offline(self, leaf: str) -> None:
        self._offline.add(leaf)
        if leaf in self._owners:
            self._end(leaf, "taken_offline", voluntary=False)

    def bring_online(self, leaf: str) -> None:
        self._offline.remove(leaf)
        self._add_free(leaf)
        self._offer(leaf)

    def charged(self) -> dict[str, list[int]]:
        rates: dict[str, list[int]] = {}
        for leaf in self._owners:
            rates.setdefault(tree_of(leaf), []).append(self._price(leaf))
        return rates

    def leases(self) -> list[Lease]:
        lasting = [self._lease(leaf, "lasting") for leaf in self._owners]
        return sorted([*self._past, *lasting], key=lambda lease: (lease.start, lease.leaf))

    # -- the queue

    def _enqueue(self, tenant: str, alternatives: tuple[Alternative, ...]) -> None:
        self._placed += 1
        self._queue[self._placed] = Waiting(self._placed, tenant, self.kernel.now, alternatives)
        self._serve(self._queue[self._placed])

    def _serve(self, order: Waiting) -> None:
        """Give the order the free leaf on which it saves most, if there is one."""
        found = [
            (one.limit - self._price(one.scope), leaf)
            for one in self._affordable(order)
            if (leaf := self._first_free(one.scope))
        ]
        if found:
            self._start(order, max(found, key=lambda each: each[0])[1])

    def _offer(self, leaf: str) -> None:
        """Give a free leaf to the first order that can use it."""
        order = self._first_for(leaf)
        if order is not None:
            self._start(order, leaf)

    def _first_for(self, leaf: str, kind: str | None = None) -> Waiting | None:
        """The first order, of tenants of that kind if given, that can use the leaf."""
        for order in self._queue.values():
            if kind in (None, self.customers[order.tenant].kind) and self._can_use(order, leaf):
                return order
        return None

    def _can_use(self, order: Waiting, leaf: str) -> bool:
        return any(is_below(leaf, one.scope) for one in self._affordable(order))

    def _affordable(self, order: Waiting) -> list[Alternative]:
        return [one for one in order.alternatives if one.limit >= self._price(one.scope)]

    # -- leases

    def _start(self, order: Waiting, leaf: str) -> None:
        del self._queue[order.order]
        limit = max(one.limit for one in self._affordable(order) if is_below(leaf, one.scope))
        self._hold(order.tenant, leaf, limit)
        self._grant(order.tenant, leaf)

    def _hold(self, tenant: str, leaf: str, limit: int | None) -> None:
        self._started += 1
        held = Held(self._started, leaf, self.kernel.now, self._price(leaf), limit)
        self._held.setdefault(tenant, {})[leaf] = held

    def _leaf_of(self, tenant: str, lease: int) -> str | None:
        held = self._held.get(tenant, {}).values()
        return next((one.leaf for one in held if one.lease == lease), None)

    def _end(self, leaf: str, reason: str, voluntary: bool) -> None:
        self._take_back(leaf, reason, voluntary)
        if leaf not in self._offline:
            self._add_free(leaf)
            self._offer(leaf)

    def _take_back(self, leaf: str, reason: str, voluntary: bool) -> None:
        tenant, _ = self._owners[leaf]
        self._past.append(self._lease(leaf, reason))
        del self._held[tenant][leaf]
        self._revoke(leaf, voluntary)

    def _add_free(self, leaf: str) -> None:
        for scope in ancestors(leaf):
            heappush(self._free.setdefault(scope, []), leaf)

    def _first_free(self, scope: str) -> str | None:
        heap = self._free.get(scope, [])
        while heap and (heap[0] in self._owners or heap[0] in self._offline):
            heappop(heap)
        return heap[0] if heap else None

    # -- prices

    def _price(self, path: str) -> int:
        return self.cluster.prices[tree_of(path)]

    def _quote(self, scope: str) -> int | None:
        return self._price(scope) if self._first_free(scope) else None

    def _lease(self, leaf: str, reason: str) -> Lease:
        tenant, start = self._owners[leaf]
        price, now = self._price(leaf), self.kernel.now
        return Lease(leaf, tenant, start, now, reason, price * (now - start), ((start, price),))

    def _spent(self, tenant: str) -> int:
        past = sum(lease.charge for lease in self._past if lease.tenant == tenant)
        held = self._held.get(tenant, {}).values()
        lasting = sum(one.charged * (self.kernel.now - one.since) for one in held)
        return micro_dollars(past + lasting)


class FcfsPreemptive(Fcfs):
    name = "fcfs-p"

    PREEMPTS = "inference"
    PREEMPTED = "training"

    def _serve(self, order: Waiting) -> None:
        super()._serve(order)
        if order.order not in self._queue or self.customers[order.tenant].kind != self.PREEMPTS:
            return
        victims = [leaf for leaf in self._preemptible() if self._can_use(order, leaf)]
        if victims:
            leaf = max(victims, key=lambda victim: (self._owners[victim][1], victim))
            self._take_back(leaf, "preempted", voluntary=False)
            self._start(order, leaf)

    def _first_for(self, leaf: str, kind: str | None = None) -> Waiting | None:
        """Skip a training tenant from which inference would take the leaf at once."""
        first = super()._first_for(leaf, kind)
        if first is None or self.customers[first.tenant].kind != self.PREEMPTED:
            return first
        return super()._first_for(leaf, self.PREEMPTS) or first

    def _preemptible(self) -> list[str]:
        return [
            leaf
            for tenant, held in self._held.items()
            if self.customers[tenant].kind == self.PREEMPTED
            for leaf in held
        ]
