"""The upper bound: a cloud that knows everything, plans for all tenants at once, and gives GPUs to
the tenants that profit most.

It ignores orders and limits and looks into its tenants instead. A relinquished lease stays until
the plan ends it, since its tenant may need it sooner than it believes. But it pays the same costs
as any cloud: a tenant that gets a GPU has its cold start, and a GPU is taken without warning,
together with all unsaved work. It may only choose the moment, and waits for a checkpoint that is
near. Its prices are list prices. It leaves incumbents alone, of which nothing can be known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from random import Random
from typing import Final

from laissez.market.commands import Relinquish, TenantCommand
from laissez.sim.clouds.cloud import Customer
from laissez.sim.clouds.fcfs import Fcfs, Waiting
from laissez.sim.clouds.foresight import Outlook, Service, Transparent, outlook
from laissez.sim.clouds.planning import AllocationPlan
from laissez.sim.cluster import Cluster
from laissez.sim.kernel import Kernel
from laissez.tenants import EconAdapter, TenantView
from laissez.tenants.paths import parent_of, tree_of
from laissez.units import SECOND_US

STEP_US: Final = 60 * SECOND_US  # between two plans
SAVED_US: Final = 1 * SECOND_US  # a checkpoint is over this long after it is due


class Ideal(Fcfs):
    """Keeps leases and prices as `Fcfs` does."""

    name = "ideal"

    def __init__(self, cluster: Cluster, kernel: Kernel, rng: Random) -> None:
        super().__init__(cluster, kernel, rng)
        self._planned: dict[str, Transparent] = {}  # the tenants it plans for
        self._services: dict[str, Service] = {}
        self._relinquished: dict[str, set[int]] = {}  # by tenant: the leases it wants to end
        self._next: int | None = None  # the time of the next plan

    def join(self, customer: Customer) -> None:
        super().join(customer)
        if not isinstance(customer, Transparent):
            return
        found = outlook(customer.world, self.kernel.now)
        if found is None:
            return
        self._planned[customer.name] = customer
        if isinstance(found, Service):
            self._services[customer.name] = found
        self._plan_at(self.kernel.now)

    def leave(self, tenant: str) -> None:
        self._planned.pop(tenant, None)
        super().leave(tenant)
        self._plan_at(self.kernel.now)

    def view(self, adapter: EconAdapter) -> TenantView:
        self._relinquished[adapter.tenant] = set()  # the tenant decides anew
        return super().view(adapter)

    def send(self, commands: Sequence[TenantCommand]) -> None:
        for command in commands:
            if isinstance(command, Relinquish) and command.tenant in self._planned:
                self.requests += 1
                self._relinquished.setdefault(command.tenant, set()).add(command.lease)
            else:
                super().send([command])

    def _serve(self, order: Waiting) -> None:
        """Orders are ignored."""

    def _offer(self, leaf: str) -> None:
        """The next plan assigns free leaves."""

    # -- planning

    def _plan_at(self, time: int) -> None:
        if self._next is None or time < self._next:
            self._next = time
            self.kernel.at(time, partial(self._plan, time))

    def _plan(self, time: int) -> None:
        if time != self._next:  # an earlier plan has set another time
            return
        self._next = None
        outlooks = self._outlooks()
        if not outlooks:
            return
        held = {name: self._counts(name) for name in outlooks}
        wanted = AllocationPlan(outlooks, held, self._supply(), time).first_bin()
        self._plan_at(time + STEP_US)
        for tree in self.cluster.prices:
            changes = {name: wanted[name].get(tree, 0) - held[name][tree] for name in outlooks}
            self._carry_out(tree, changes)

    def _outlooks(self) -> dict[str, Outlook]:
        """The outlooks of tenants whose time is not over, with their worlds advanced to now."""
        now, found = self.kernel.now, {}
        for one in self._planned.values():
            one.world.advance(now)
        for name, one in self._planned.items():
            ahead = self._services.get(name) or outlook(one.world, now)
            if ahead is not None and ahead.due > now:
                found[name] = ahead
        return found

    def _counts(self, tenant: str) -> Counter[str]:
        return Counter(tree_of(leaf) for leaf in self._held.get(tenant, {}))

    def _supply(self) -> dict[str, int]:
        """The GPUs by type that are online and not held by tenants outside the plan."""
        outside = {
            leaf for leaf, (tenant, _) in self._owners.items() if tenant not in self._planned
        }
        counts = Counter(
            tree_of(leaf)
            for leaf in self.cluster.topology.leaves
            if leaf not in self._offline and leaf not in outside
        )
        return {tree: counts[tree] for tree in self.cluster.prices}

    # -- carrying out

    def _carry_out(self, tree: str, changes: Mapping[str, int]) -> None:
        """Change the numbers of GPUs of one type: end relinquished leases, take GPUs that are still
        missing, and grant them."""
        losing = {name: -change for name, change in changes.items() if change < 0}
        getting = {name: change for name, change in changes.items() if change > 0}
        for name, count in losing.items():
            losing[name] -= self._end_relinquished(name, tree, count)
        self._take(tree, losing, sum(getting.values()) - len(self._idle(tree)))
        for name in sorted(
            getting, key=lambda name: (self._planned[name].kind != "training", name)
        ):
            for leaf in self._best_first(name, self._idle(tree))[: getting[name]]:
                self._hold(name, leaf, None)
                self._grant(name, leaf)

    def _end_relinquished(self, name: str, tree: str, most: int) -> int:
        relinquished, held = self._relinquished.get(name, ()), self._held[name]
        ending = [one for one in self._to_go(name, tree, most) if held[one].lease in relinquished]
        for leaf in ending:
            self._end(leaf, "relinquished", voluntary=True)
        return len(ending)

    def _take(self, tree: str, losing: Mapping[str, int], missing: int) -> None:
        """Take `missing` GPUs, first from tenants with a recent checkpoint."""
        now = self.kernel.now
        recent_first = sorted(
            losing, key=lambda name: (self._planned[name].app.since_checkpoint_s(now), name)
        )
        for name in recent_first:
            taken = self._to_go(name, tree, min(losing[name], max(0, missing)))
            if taken and not self._should_wait(name, taken):
                for leaf in taken:
                    self._end(leaf, "taken", voluntary=False)
                missing -= len(taken)

    def _should_wait(self, name: str, taken: list[str]) -> bool:
        """Whether waiting for the next checkpoint loses less; if so, plan again then. Where all
        nodes run in lockstep, all of them lose their unsaved work."""
        app, now, held = self._planned[name].app, self.kernel.now, tuple(sorted(self._held[name]))
        until_s = app.until_checkpoint_s(now)
        in_lockstep = app.at_stake(taken[0], held, now) is not None
        losing = len(held) if in_lockstep else len(taken)
        if app.since_checkpoint_s(now) * losing <= until_s * len(taken):
            return False
        self._plan_at(now + round(until_s * SECOND_US) + SAVED_US)
        return True

    def _idle(self, tree: str) -> list[str]:
        return [
            leaf
            for leaf in self.cluster.topology.leaves
            if tree_of(leaf) == tree and leaf not in self._owners and leaf not in self._offline
        ]

    def _to_go(self, name: str, tree: str, count: int) -> list[str]:
        """The leaves to take first: relinquished, then latest, from the host with fewest."""
        held = [one for one in self._held[name].values() if tree_of(one.leaf) == tree]
        relinquished = self._relinquished.get(name, set())
        on_host = Counter(parent_of(one.leaf) for one in held)
        held.sort(
            key=lambda one: (
                one.lease not in relinquished,
                -one.since,
                on_host[parent_of(one.leaf)],
                one.leaf,
            )
        )
        return [one.leaf for one in held[:count]]

    def _best_first(self, name: str, idle: list[str]) -> list[str]:
        """Training goes beside its GPUs, then to the emptiest host; others to the fullest."""
        room = Counter(map(parent_of, idle))
        if self._planned[name].kind != "training":
            return sorted(idle, key=lambda leaf: (room[parent_of(leaf)], leaf))
        mine = Counter(map(parent_of, self._held.get(name, {})))
        return sorted(idle, key=lambda leaf: (-mine[parent_of(leaf)], -room[parent_of(leaf)], leaf))
