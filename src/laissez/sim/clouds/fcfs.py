"""The clouds of today: whoever asked first is served first, at the list price, and keeps what it
has.

An order waits until a GPU is free that it can use at a price it is willing to pay; later orders for
other hardware may pass it. With preemption (`fcfs-p`), an inference tenant that would have to wait
takes a GPU from a training tenant instead, without warning: spot instances, seen from below. It is
the one that was leased last: a cloud knows nothing about what its tenants would lose, but one that
has just begun has not much to lose.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from random import Random

import msgspec

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
    """An order in the queue. Amending it does not cost its place."""

    order: int
    tenant: str
    since: int
    alternatives: tuple[Alternative, ...]


class Fcfs(Cloud):
    name = "fcfs"

    def __init__(self, cluster: Cluster, kernel: Kernel, rng: Random) -> None:
        super().__init__(cluster, kernel, rng)
        self._queue: dict[int, Waiting] = {}  # in order of arrival
        self._placed = 0
        self._started = 0
        self._held: dict[str, dict[str, Held]] = {}  # by tenant
        self._offline: set[str] = set()
        # by scope, a heap: leaves that were free when they were put there
        self._free: dict[str, list[str]] = {}
        self._past: list[Lease] = []
        for leaf in cluster.topology.leaves:
            self._put_back(leaf)

    def start_from(self, start: Start) -> None:
        """Who held something holds it, at the list price and whatever it had as a limit; who asked
        for something is in the queue."""
        self._offline.update(start.offline)
        for lease in start.leases:
            self._hold(lease.tenant, lease.leaf, lease.limit)
            self._resumed(lease.tenant, lease.leaf)
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
        return TenantView(
            self.kernel.now, leases, orders, {scope: self._quote(scope) for scope in scopes}, spent
        )

    def send(self, commands: Sequence[TenantCommand]) -> None:
        for command in commands:
            self.requests += 1
            match command:
                case PlaceOrder(tenant, alternatives):
                    self._enqueue(tenant, alternatives)
                case AmendOrder(_, order, alternatives) if order in self._queue:
                    self._queue[order].alternatives, self._queue[order].since = (
                        alternatives,
                        self.kernel.now,
                    )
                    self._serve(self._queue[order])
                case CancelOrder(_, order):
                    self._queue.pop(order, None)
                case Relinquish(tenant, lease) if leaf := self._leaf_of(tenant, lease):
                    self._end(leaf, "relinquished", voluntary=True)
                case SetLimit(tenant, lease, limit) if leaf := self._leaf_of(tenant, lease):
                    self._held[tenant][leaf] = msgspec.structs.replace(
                        self._held[tenant][leaf], limit=limit
                    )
                case _:
                    pass  # what it names is gone meanwhile

    def leave(self, tenant: str) -> None:
        self.send(
            [CancelOrder(tenant, one.order) for one in self._queue.values() if one.tenant == tenant]
        )
        held = self._held.get(tenant, {}).values()
        self.send([Relinquish(tenant, one.lease) for one in held])

    def take_offline(self, leaf: str) -> None:
        self._offline.add(leaf)
        if leaf in self._owners:
            self._end(leaf, "taken_offline", voluntary=False)

    def bring_online(self, leaf: str) -> None:
        self._offline.remove(leaf)
        self._put_back(leaf)
        self._offer(leaf)

    def charged(self) -> dict[str, list[int]]:
        rates: dict[str, list[int]] = {}
        for leaf in self._owners:
            rates.setdefault(tree_of(leaf), []).append(self._price(leaf))
        return rates

    def leases(self) -> list[Lease]:
        lasting = [self._lease(leaf, "lasting") for leaf in self._owners]
        return sorted([*self._past, *lasting], key=lambda lease: (lease.start, lease.leaf))

    # -- who gets what

    def _enqueue(self, tenant: str, alternatives: tuple[Alternative, ...]) -> None:
        self._placed += 1
        self._queue[self._placed] = Waiting(self._placed, tenant, self.kernel.now, alternatives)
        self._serve(self._queue[self._placed])

    def _serve(self, order: Waiting) -> None:
        """Give the order the best of what is free, if anything is."""
        found = [
            (one.limit - self._price(one.scope), leaf)
            for one in self._affordable(order)
            if (leaf := self._first_free(one.scope))
        ]
        if found:
            self._start(order, max(found, key=lambda each: each[0])[1])

    def _offer(self, leaf: str) -> None:
        """A leaf is free: it goes to the first in the queue who can use it."""
        order = self._first_for(leaf)
        if order is not None:
            self._start(order, leaf)

    def _first_for(self, leaf: str, kind: str | None = None) -> Waiting | None:
        """The first in the queue who can use the leaf; of one kind only, if that is asked for."""
        waiting = (
            order
            for order in self._queue.values()
            if kind in (None, self.customers[order.tenant].kind)
        )
        return next(
            (
                order
                for order in waiting
                if any(is_below(leaf, one.scope) for one in self._affordable(order))
            ),
            None,
        )

    def _start(self, order: Waiting, leaf: str) -> None:
        del self._queue[order.order]
        limit = max(one.limit for one in self._affordable(order) if is_below(leaf, one.scope))
        self._hold(order.tenant, leaf, limit)
        self._granted(order.tenant, leaf)

    def _hold(self, tenant: str, leaf: str, limit: int | None) -> None:
        self._started += 1
        self._held.setdefault(tenant, {})[leaf] = Held(
            self._started, leaf, self.kernel.now, self._price(leaf), limit
        )

    def _leaf_of(self, tenant: str, lease: int) -> str | None:
        held = self._held.get(tenant, {}).values()
        return next((one.leaf for one in held if one.lease == lease), None)

    def _end(self, leaf: str, reason: str, voluntary: bool) -> None:
        tenant, _ = self._owners[leaf]
        self._past.append(self._lease(leaf, reason))
        del self._held[tenant][leaf]
        self._taken(leaf, voluntary)
        if leaf not in self._offline:
            self._put_back(leaf)
            self._offer(leaf)

    def _affordable(self, order: Waiting) -> list[Alternative]:
        return [one for one in order.alternatives if one.limit >= self._price(one.scope)]

    def _price(self, path: str) -> int:
        return self.cluster.prices[tree_of(path)]

    def _quote(self, scope: str) -> int | None:
        return self._price(scope) if self._first_free(scope) else None

    # -- what is free

    def _put_back(self, leaf: str) -> None:
        for scope in ancestors(leaf):
            heappush(self._free.setdefault(scope, []), leaf)

    def _first_free(self, scope: str) -> str | None:
        heap = self._free.get(scope, [])
        while heap and (heap[0] in self._owners or heap[0] in self._offline):
            heappop(heap)
        return heap[0] if heap else None

    # -- what it costs

    def _lease(self, leaf: str, reason: str) -> Lease:
        tenant, start = self._owners[leaf]
        price, now = self._price(leaf), self.kernel.now
        return Lease(leaf, tenant, start, now, reason, price * (now - start), ((start, price),))

    def _spent(self, tenant: str) -> int:
        past = sum(lease.charge for lease in self._past if lease.tenant == tenant)
        return micro_dollars(
            past
            + sum(
                one.charged * (self.kernel.now - one.since)
                for one in self._held.get(tenant, {}).values()
            )
        )


class FcfsPreemptive(Fcfs):
    name = "fcfs-p"

    PREEMPTS = "inference"
    PREEMPTED = "training"

    def _serve(self, order: Waiting) -> None:
        super()._serve(order)
        if order.order not in self._queue or self.customers[order.tenant].kind != self.PREEMPTS:
            return
        victims = [
            leaf
            for leaf in self._victims()
            if any(is_below(leaf, one.scope) for one in self._affordable(order))
        ]
        if victims:
            leaf = max(victims, key=lambda victim: (self._owners[victim][1], victim))
            tenant, _ = self._owners[leaf]
            self._past.append(self._lease(leaf, "preempted"))
            del self._held[tenant][leaf]
            self._taken(leaf, voluntary=False)
            self._start(order, leaf)

    def _first_for(self, leaf: str, kind: str | None = None) -> Waiting | None:
        """What would be taken from a training tenant at once is not given to it first."""
        first = super()._first_for(leaf, kind)
        if first is None or self.customers[first.tenant].kind != self.PREEMPTED:
            return first
        return super()._first_for(leaf, self.PREEMPTS) or first

    def _victims(self) -> list[str]:
        preempted = (
            held
            for tenant, held in self._held.items()
            if self.customers[tenant].kind == self.PREEMPTED
        )
        return [leaf for held in preempted for leaf in held]
