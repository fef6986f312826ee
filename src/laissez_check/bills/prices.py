"""The charges of all leases, kept up to date change by change, from `docs/reference/market.md`
alone (M4, M5, M17). Shares no code with the market.

A bid at a root may re-price ten thousand leaves, so no leaf is visited for it. The bids and floors
from a root down to a node make two prices there: one for most tenants, and a lower one for the
tenant with the highest bid, since its own bid does not press it. A node adds up the first over
time, and for each tenant the savings by the second. A lease is charged the sum of the nearest node
above it between the lease's start and its end.

A node sleeps, and adds up nothing, while none of its own bids and floors exceeds the pressure from
above on every tenant. Only held leases whose price is above their cap are visited at every change.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

Id = int | str  # a number in the journal, text in events
FEW_LEASES = 64  # moved at once to the node above, when theirs falls asleep


class Pressure(NamedTuple):
    """The highest floor, the highest bid and its tenant, and the highest bid of other tenants."""

    floor: int
    tenant: str
    first: int
    second: int

    def without(self, tenant: str) -> int:
        return self.second if tenant == self.tenant else self.first

    def rate(self, tenant: str) -> int:
        return max(self.floor, self.without(tenant))

    @property
    def on_most(self) -> int:
        return max(self.floor, self.first)

    @property
    def on_everybody(self) -> int:
        return max(self.floor, self.second)


NONE = Pressure(0, "", 0, 0)


def together(above: Pressure, here: Pressure) -> Pressure:
    _, tenant, first, _ = above if above.first >= here.first else here
    second = max(above.without(tenant), here.without(tenant))
    return Pressure(max(above.floor, here.floor), tenant, first, second)


@dataclass(eq=False, slots=True)
class Fee:
    """The charge for a bid that was withdrawn too soon (M18)."""

    order: Id
    scope: str
    rate: int
    start: int
    until: int

    def charge(self, at: int) -> int:
        return self.rate * max(0, min(self.until, at) - self.start)


@dataclass(eq=False, slots=True)
class Lease:
    number: Id
    tenant: str
    leaf: str
    start: int
    limit: int | None
    held_until: int
    limit_first: int = field(init=False)
    end: int | None = None
    charge: int = 0  # settled so far
    billed: int = 0  # on statements so far
    is_capped: bool = False
    node: Node = field(init=False)
    base: int = 0  # the sum of its node for its tenant when the rest began

    def __post_init__(self) -> None:
        assert self.limit is not None
        self.limit_first = self.limit

    @property
    def name(self) -> str:
        return f"lease {self.number} of {self.tenant}"

    @property
    def cap(self) -> int | None:
        """M17: the most that it is charged while held; None for no bound."""
        return None if self.limit is None else max(self.limit, self.limit_first)

    def capped(self, rate: int) -> int:
        return rate if self.cap is None else min(rate, self.cap)


@dataclass(eq=False, slots=True)
class Node:
    path: str
    floor: int = 0
    bids: list[tuple[int, str]] = field(default_factory=list)  # ascending
    here: Pressure = NONE  # of what rests at the node itself, as far as it is taken into account
    is_open: bool = False  # adds up prices
    above: Node | None = None  # the next open one
    below: set[Node] = field(default_factory=set)  # the next open ones
    pressure: Pressure = NONE  # from the root down to here
    since: int = 0  # until when it has added up
    total: int = 0
    saved: dict[str, int] = field(default_factory=dict)
    leases: set[Lease] = field(default_factory=set)  # that are charged its sum
    # A heap of those of them that are held, by their caps.
    caps: list[tuple[int, int, Lease]] = field(default_factory=list)
    # Held leases that are visited because they may be charged less.
    capped: set[Lease] = field(default_factory=set)
    # A heap of nodes below that need not add up, the highest bid or floor first.
    asleep: list[tuple[int, int, Node]] = field(default_factory=list)

    def highest_but(self, tenant: str | None) -> int:
        """The highest bid here of other tenants."""
        return next((bid for bid, other in reversed(self.bids) if other != tenant), 0)

    def resting(self) -> Pressure:
        first, tenant = self.bids[-1] if self.bids else (0, "")
        return Pressure(self.floor, tenant, first, self.highest_but(tenant))

    def may_sleep(self, on_everybody: int) -> bool:
        is_pressed = self.here.on_most <= on_everybody
        return is_pressed and not self.capped and len(self.leases) <= FEW_LEASES

    def add_up(self, to: int) -> None:
        passed, pressure = to - self.since, self.pressure
        if not passed:
            return
        tenant, saves = pressure.tenant, pressure.on_most - pressure.on_everybody
        self.total += pressure.on_most * passed
        if saves > 0:
            self.saved[tenant] = self.saved.get(tenant, 0) + saves * passed
        for lease in self.capped:
            lease.charge += lease.capped(pressure.rate(lease.tenant)) * passed
        self.since = to

    def added_up(self, tenant: str, to: int) -> int:
        since = self.pressure.rate(tenant) * (to - self.since)
        return self.total - self.saved.get(tenant, 0) + since


def path_of(leaf: str) -> list[str]:
    """The nodes from the leaf to its root."""
    found = [leaf]
    while (cut := leaf.rfind("/")) >= 0:
        leaf = leaf[:cut]
        found.append(leaf)
    return found


class Prices:
    def __init__(self) -> None:
        self.now = 0
        self._all = Node("", is_open=True)  # above all roots
        self._nodes: dict[str, Node] = {}
        # Applied when time passes: a change that is undone at once charges no tenant.
        self._changed: dict[Node, None] = {}
        self._leases_below: dict[str, set[Lease]] = {}
        self._holds: list[tuple[int, int, Lease]] = []
        self._count = count()  # of entries of heaps, so that no two are alike

    # -- what rests

    def add(self, scope: str, tenant: str, bid: int) -> None:
        if bid:  # M3: a bid of 0 presses nothing
            insort(self._changing(scope).bids, (bid, tenant))

    def remove(self, scope: str, tenant: str, bid: int) -> None:
        if bid:
            bids = self._changing(scope).bids
            place = bisect_left(bids, (bid, tenant))
            if bids[place : place + 1] != [(bid, tenant)]:
                raise KeyError(scope)
            del bids[place]

    def set_floor(self, path: str, price: int) -> None:
        self._changing(path).floor = price

    def floor(self, leaf: str) -> int:
        """M4, literally."""
        return max([node.floor for node in self._nodes_above(leaf)], default=0)

    def rate(self, leaf: str, owner: str | None) -> int:
        """M5, literally."""
        nodes = self._nodes_above(leaf)
        return max([max(node.floor, node.highest_but(owner)) for node in nodes], default=0)

    def _nodes_above(self, leaf: str) -> list[Node]:
        return [self._nodes[path] for path in path_of(leaf) if path in self._nodes]

    # -- leases

    def start(self, lease: Lease) -> None:
        path = path_of(lease.leaf)
        self._attach(lease, self._nearest(path))
        for one in path:
            self._leases_below.setdefault(one, set()).add(lease)

    def end(self, lease: Lease) -> None:
        self.settle(lease)
        (lease.node.capped if lease.is_capped else lease.node.leases).discard(lease)
        lease.end = self.now
        for node in path_of(lease.leaf):
            self._leases_below[node].discard(lease)

    def settle(self, lease: Lease) -> int:
        """The whole charge of a lease until now."""
        if lease.end is not None:
            return lease.charge
        if lease.is_capped:
            lease.node.add_up(self.now)
        else:
            reached = lease.node.added_up(lease.tenant, self.now)
            lease.charge += reached - lease.base
            lease.base = reached
        return lease.charge

    def charge_at(self, lease: Lease, at: int) -> int:
        """The whole charge of a lease until then, if nothing changes before (M14, M17)."""
        charge = self.settle(lease)
        if lease.end is not None or at <= self.now:
            return charge
        rate = self.rate(lease.leaf, lease.tenant)
        held_until = min(at, max(self.now, lease.held_until))
        return charge + lease.capped(rate) * (held_until - self.now) + rate * (at - held_until)

    def set_limit(self, lease: Lease, limit: int | None) -> None:
        self.settle(lease)
        lease.limit = limit
        if not lease.is_capped:
            self._watch_cap(lease)

    # -- time

    def pass_time(self, to: int) -> None:
        if to <= self.now:
            return
        self._take_changes()  # first: they may affect a lease whose hold ends on the way
        while self._holds and self._holds[0][0] <= to:
            self.now, _, lease = heappop(self._holds)
            if lease.end is None:
                self._end_hold(lease)
        self.now = to

    def _end_hold(self, lease: Lease) -> None:
        node = lease.node
        self.settle(lease)
        node.capped.discard(lease)
        lease.is_capped = False
        self._attach(lease, node)

    def _take_changes(self) -> None:
        changed, self._changed = sorted(self._changed, key=lambda node: node.path.count("/")), {}
        for node in changed:
            here = node.resting()
            if here == node.here and node.is_open:
                continue
            node.here = here
            nearest = self._nearest(path_of(node.path))
            if nearest is not node and here.on_most <= nearest.pressure.on_everybody:
                self._put_asleep(node, nearest)
            else:
                self._wake(node)

    def _wake(self, node: Node) -> None:
        self._open(node)
        assert node.above is not None
        self._press(node, node.above.pressure)

    def _put_asleep(self, node: Node, above: Node) -> None:
        if node.here.on_most:
            heappush(above.asleep, (-node.here.on_most, next(self._count), node))

    def _press(self, node: Node, above: Pressure) -> None:
        pressure = together(above, node.here)
        if pressure == node.pressure:
            return  # and so it is for all below
        node.add_up(self.now)
        node.pressure = pressure
        while node.caps and node.caps[0][0] < pressure.on_most:
            cap, _, lease = heappop(node.caps)
            if lease.node is node and lease.cap == cap:  # else it is watched elsewhere by now
                self._visit(lease)
        on_everybody = pressure.on_everybody
        waiting = list(node.below)
        while waiting:
            below = waiting.pop()
            if below.may_sleep(on_everybody):
                waiting += below.below
                self._close(below)
            else:
                self._press(below, pressure)
        while node.asleep and -node.asleep[0][0] > on_everybody:
            price, _, asleep = heappop(node.asleep)
            if not asleep.is_open and asleep.here.on_most == -price:
                self._wake(asleep)

    # -- holds

    def _watch_cap(self, lease: Lease) -> None:
        """A held lease is charged like any other until its price is above its cap."""
        if lease.held_until <= self.now or lease.cap is None:
            return
        if lease.cap < lease.node.pressure.on_most:
            self._visit(lease)
        else:
            heappush(lease.node.caps, (lease.cap, next(self._count), lease))

    def _visit(self, lease: Lease) -> None:
        """From now on it is visited whenever its price changes, until its hold ends."""
        if lease.is_capped or lease.end is not None or lease.held_until <= self.now:
            return
        self.settle(lease)
        lease.node.leases.discard(lease)
        leaf = self._node(lease.leaf)
        self._wake(leaf)
        leaf.add_up(self.now)
        leaf.capped.add(lease)
        lease.node, lease.is_capped = leaf, True
        heappush(self._holds, (lease.held_until, next(self._count), lease))

    # -- which nodes add up

    def _node(self, path: str) -> Node:
        if path not in self._nodes:
            self._nodes[path] = Node(path)
        return self._nodes[path]

    def _changing(self, path: str) -> Node:
        node = self._node(path)
        self._changed[node] = None
        return node

    def _nearest(self, path: list[str]) -> Node:
        for one in path:
            node = self._nodes.get(one)
            if node is not None and node.is_open:
                return node
        return self._all

    def _open(self, node: Node) -> None:
        if node.is_open:
            return
        above = node.above = self._nearest(path_of(node.path))
        node.is_open = True
        node.pressure, node.since, node.total, node.saved = above.pressure, self.now, 0, {}
        above.add_up(self.now)
        for child in [child for child in above.below if child.path.startswith(node.path + "/")]:
            self._hang(child, node)
        above.below.add(node)
        for lease in self._leases_below.get(node.path, ()):
            if lease.node is above and not lease.is_capped:
                self._move(lease, node)

    def _close(self, node: Node) -> None:
        above = node.above
        assert above is not None
        node.is_open = False
        above.below.discard(node)
        for child in list(node.below):
            self._hang(child, above)
        for lease in list(node.leases):
            self._move(lease, above)
        for entry in node.asleep:
            heappush(above.asleep, entry)
        node.asleep, node.caps = [], []
        self._put_asleep(node, above)

    def _hang(self, child: Node, above: Node) -> None:
        assert child.above is not None
        child.above.below.discard(child)
        above.below.add(child)
        child.above = above

    def _move(self, lease: Lease, node: Node) -> None:
        self.settle(lease)
        lease.node.leases.discard(lease)
        self._attach(lease, node)

    def _attach(self, lease: Lease, node: Node) -> None:
        node.leases.add(lease)
        lease.node = node
        lease.base = node.added_up(lease.tenant, self.now)
        self._watch_cap(lease)
