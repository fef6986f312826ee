"""The upper limit: a cloud that knows everything, plans for all its tenants at once, and gives GPUs
to those for whom they will do most.

Bids and limits are nothing to it: it looks into its tenants. It leaves orders unread, and a lease
that is given up stays where it is until the plan says otherwise, since its owner may need it sooner
than it thinks. But it pays what any cloud would have to: whoever gets a GPU has its cold start, and
what it takes is taken without warning, with all that is not saved. It only chooses when: a
checkpoint that is near is waited for. The price is the list price; tenants cannot tell where they
are but by how they fare. Those of which nothing can be known (`standing` ones) it leaves alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from laissez.market.commands import Relinquish, TenantCommand
from laissez.sim.clouds.cloud import Customer
from laissez.sim.clouds.fcfs import Fcfs, Waiting
from laissez.sim.clouds.foresight import Outlook, Service, Transparent, outlook
from laissez.sim.clouds.planning import Timetable
from laissez.sim.cluster import Cluster
from laissez.sim.kernel import Kernel
from laissez.tenants import EconAdapter, TenantView
from laissez.tenants.paths import parent_of, tree_of
from laissez.units import SECOND_US

STEP_US: Final = 60 * SECOND_US  # between two plans
SAVED_US: Final = 1 * SECOND_US  # after a checkpoint is due, it is done


class Ideal(Fcfs):
    """Keeps its books as `Fcfs` does."""

    name = "ideal"

    def __init__(self, cluster: Cluster, kernel: Kernel, rng: Random) -> None:
        super().__init__(cluster, kernel, rng)
        self._open: dict[str, Transparent] = {}  # the tenants it plans for
        self._services: dict[str, Service] = {}
        self._given_up: dict[str, set[int]] = {}  # by tenant: the leases it would be rid of
        self._next: int | None = None  # when it plans next

    def join(self, customer: Customer) -> None:
        super().join(customer)
        found = (
            outlook(customer.world, self.kernel.now) if isinstance(customer, Transparent) else None
        )
        if found is None or not isinstance(customer, Transparent):
            return
        self._open[customer.name] = customer
        if isinstance(found, Service):
            self._services[customer.name] = found
        self._plan_at(self.kernel.now)

    def leave(self, tenant: str) -> None:
        self._open.pop(tenant, None)
        super().leave(tenant)
        self._plan_at(self.kernel.now)

    def view(self, adapter: EconAdapter) -> TenantView:
        self._given_up[adapter.tenant] = set()  # it thinks again
        return super().view(adapter)

    def send(self, commands: Sequence[TenantCommand]) -> None:
        for command in commands:
            if isinstance(command, Relinquish) and command.tenant in self._open:
                self.requests += 1
                self._given_up.setdefault(command.tenant, set()).add(command.lease)
            else:
                super().send([command])

    def _serve(self, order: Waiting) -> None:
        """Orders are not read."""

    def _offer(self, leaf: str) -> None:
        """What is free is part of the next plan."""

    # -- planning

    def _plan_at(self, time: int) -> None:
        if self._next is None or time < self._next:
            self._next = time
            self.kernel.at(time, lambda: self._plan(time))

    def _plan(self, time: int) -> None:
        """Unless there was a plan before that, which has set a new time."""
        if time != self._next:
            return
        self._next = None
        outlooks = self._outlooks()
        if outlooks:
            held = {name: self._counts(name) for name in outlooks}
            wanted = Timetable(outlooks, held, self._supply(), time).first()
            self._plan_at(time + STEP_US)
            for tree in self.cluster.prices:
                self._carry_out(
                    tree, {name: wanted[name].get(tree, 0) - held[name][tree] for name in outlooks}
                )

    def _outlooks(self) -> dict[str, Outlook]:
        """What is ahead of those whose time is not over. Their worlds are asked how things stand
        now, not when they were last looked at."""
        now = self.kernel.now
        for one in self._open.values():
            one.world.advance(now)
        found = {
            name: self._services.get(name) or outlook(one.world, now)
            for name, one in self._open.items()
        }
        return {name: one for name, one in found.items() if one is not None and one.due > now}

    def _counts(self, tenant: str) -> Counter[str]:
        return Counter(tree_of(leaf) for leaf in self._held.get(tenant, {}))

    def _supply(self) -> dict[str, int]:
        """What is there and not in the hands of those who are left alone."""
        others = {leaf for leaf, (tenant, _) in self._owners.items() if tenant not in self._open}
        counts = Counter(
            tree_of(leaf)
            for leaf in self.cluster.topology.leaves
            if leaf not in self._offline and leaf not in others
        )
        return {tree: counts[tree] for tree in self.cluster.prices}

    # -- carrying it out

    def _carry_out(self, tree: str, changes: Mapping[str, int]) -> None:
        """`changes` are GPUs of that type to get or to lose. First what is given up goes, then what
        others lack is taken; then it is given out."""
        losing = {name: -change for name, change in changes.items() if change < 0}
        getting = {name: change for name, change in changes.items() if change > 0}
        for name, count in losing.items():
            gladly = [
                leaf
                for leaf in self._to_go(name, tree, count)
                if self._held[name][leaf].lease in self._given_up.get(name, ())
            ]
            for leaf in gladly:
                self._end(leaf, "relinquished", voluntary=True)
            losing[name] -= len(gladly)
        lacking = sum(getting.values()) - len(self._idle(tree))
        for name in sorted(
            losing,
            key=lambda name: (self._open[name].app.since_checkpoint_s(self.kernel.now), name),
        ):
            taken = self._to_go(name, tree, min(losing[name], max(0, lacking)))
            if taken and not self._should_wait(name, taken):
                for leaf in taken:
                    self._end(leaf, "taken", voluntary=False)
                lacking -= len(taken)
        for name in sorted(getting, key=lambda name: (self._open[name].kind != "training", name)):
            for leaf in self._places(name, self._idle(tree))[: getting[name]]:
                self._hold(name, leaf, None)
                self._granted(name, leaf)

    def _should_wait(self, name: str, taken: list[str]) -> bool:
        """Whether less is lost by waiting for the next checkpoint; then there is a plan for it.
        Where all go in step, all lose what is not saved."""
        app, now, held = self._open[name].app, self.kernel.now, tuple(sorted(self._held[name]))
        until_s = app.until_checkpoint_s(now)
        in_step = app.at_stake(taken[0], held, now) is not None
        if app.since_checkpoint_s(now) * (len(held) if in_step else len(taken)) <= until_s * len(
            taken
        ):
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
        """What a tenant misses least: what it would be rid of, then what came last, out of the host
        where it has fewest."""
        mine = [one for one in self._held[name].values() if tree_of(one.leaf) == tree]
        given_up, beside = (
            self._given_up.get(name, set()),
            Counter(parent_of(one.leaf) for one in mine),
        )
        mine.sort(
            key=lambda one: (
                one.lease not in given_up,
                -one.since,
                beside[parent_of(one.leaf)],
                one.leaf,
            )
        )
        return [one.leaf for one in mine[:count]]

    def _places(self, name: str, idle: list[str]) -> list[str]:
        """The best first: training beside what it has, then where there is most room; the others
        where there is least."""
        room = Counter(map(parent_of, idle))
        if self._open[name].kind != "training":
            return sorted(idle, key=lambda leaf: (room[parent_of(leaf)], leaf))
        mine = Counter(map(parent_of, self._held.get(name, {})))
        return sorted(idle, key=lambda leaf: (-mine[parent_of(leaf)], -room[parent_of(leaf)], leaf))
