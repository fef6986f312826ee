"""What every leaf's owner is charged, kept up to date change by change, from `docs/market.md` alone (M4, M5, M17). Shares no code with the market.

A bid at a root may re-price ten thousand leaves, so no leaf is visited for it. What rests on the way from a root down to a node makes two prices
there: one for everybody, and a lower one for the tenant whose bid is highest, whom its own bid does not press. A node adds up the first, and for each
tenant what it saved by the second; a lease is charged what was added up between its start and its end at the nearest node above it where anything
rests. Only leases under a hold, which are charged at most their cap, are visited whenever their price changes.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from heapq import heappop, heappush
from typing import NamedTuple

FEW_LEASES = 64  # so many are moved at once to the node above, when nothing rests at theirs any more


class Pressure(NamedTuple):
    """The highest floor, the highest bid and whose it is, and the highest bid of anybody else."""

    floor: int
    tenant: str
    first: int
    second: int

    def without(self, tenant: str) -> int:
        return self.second if tenant == self.tenant else self.first

    def rate(self, tenant: str) -> int:
        return max(self.floor, self.without(tenant))


NONE = Pressure(0, "", 0, 0)


def together(above: Pressure, here: Pressure) -> Pressure:
    tenant, first = (above.tenant, above.first) if above.first >= here.first else (here.tenant, here.first)
    return Pressure(max(above.floor, here.floor), tenant, first, max(above.without(tenant), here.without(tenant)))


class Lease:
    __slots__ = ("base", "billed", "charge", "end", "held_until", "id", "is_capped", "leaf", "limit", "limit_first", "node", "start", "tenant")

    def __init__(self, id: str, tenant: str, leaf: str, start: int, limit: int, held_until: int) -> None:
        self.id, self.tenant, self.leaf, self.start = id, tenant, leaf, start
        self.limit_first = limit
        self.limit: int | None = limit
        self.held_until = held_until
        self.end: int | None = None
        self.charge = 0  # settled so far
        self.billed = 0  # on statements so far
        self.is_capped = False
        self.node: Node
        self.base = 0  # what its node had added up for its tenant when the rest began

    def most(self, rate: int) -> int:
        """M17: what is charged of a rate under the hold."""
        return rate if self.limit is None else min(rate, max(self.limit, self.limit_first))


class Node:
    __slots__ = ("above", "below", "bids", "capped", "floor", "here", "is_open", "leases", "path", "pressure", "saved", "since", "total")

    def __init__(self, path: str) -> None:
        self.path = path
        self.floor = 0
        self.bids: list[tuple[int, str]] = []  # ascending
        self.here = NONE  # what rests at the node itself, as far as it is taken into account
        self.is_open = False  # adds up prices
        self.above: Node | None = None  # the next open one
        self.below: set[Node] = set()  # the next open ones
        self.pressure = NONE  # from the root down to here
        self.since = 0  # until when it has added up
        self.total = 0
        self.saved: dict[str, int] = {}
        self.leases: set[Lease] = set()
        self.capped: set[Lease] = set()

    def resting(self) -> Pressure:
        if not self.bids:
            return Pressure(self.floor, "", 0, 0)
        first, tenant = self.bids[-1]
        second = next((bid for bid, other in reversed(self.bids) if other != tenant), 0)
        return Pressure(self.floor, tenant, first, second)

    @property
    def is_idle(self) -> bool:
        return not self.bids and not self.floor and not self.capped and len(self.leases) <= FEW_LEASES

    def add_up(self, to: int) -> None:
        passed, pressure = to - self.since, self.pressure
        if not passed:
            return
        everybody, its_own = max(pressure.floor, pressure.first), max(pressure.floor, pressure.second)
        self.total += everybody * passed
        if its_own < everybody:
            self.saved[pressure.tenant] = self.saved.get(pressure.tenant, 0) + (everybody - its_own) * passed
        for lease in self.capped:
            lease.charge += lease.most(pressure.rate(lease.tenant)) * passed
        self.since = to

    def added_up(self, tenant: str, to: int) -> int:
        return self.total - self.saved.get(tenant, 0) + self.pressure.rate(tenant) * (to - self.since)


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
        self._all = Node("")  # above all roots
        self._all.is_open = True
        self._nodes: dict[str, Node] = {}
        self._changed: dict[Node, None] = {}  # not taken into account until time passes: what comes and goes in an instant charges nobody
        self._leases_below: dict[str, set[Lease]] = {}
        self._holds: list[tuple[int, int, Lease]] = []
        self._holds_begun = 0

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

    def rate(self, leaf: str, owner: str) -> int:
        """M5, literally."""
        rate = 0
        for path in path_of(leaf):
            node = self._nodes.get(path)
            if node is not None:
                rate = max(rate, node.floor, next((bid for bid, tenant in reversed(node.bids) if tenant != owner), 0))
        return rate

    # -- leases

    def start(self, lease: Lease) -> None:
        path = path_of(lease.leaf)
        if lease.held_until > self.now:
            node_of = self._node(lease.leaf)
            self._open(node_of)
            node_of.add_up(self.now)
            node_of.capped.add(lease)
            lease.node, lease.is_capped = node_of, True
            self._holds_begun += 1
            heappush(self._holds, (lease.held_until, self._holds_begun, lease))
        else:
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
        """Its whole charge until now."""
        if lease.end is not None:
            return lease.charge
        if lease.is_capped:
            lease.node.add_up(self.now)
        else:
            reached = lease.node.added_up(lease.tenant, self.now)
            lease.charge += reached - lease.base
            lease.base = reached
        return lease.charge

    def set_limit(self, lease: Lease, limit: int | None) -> None:
        self.settle(lease)
        lease.limit = limit

    # -- time

    def pass_time(self, to: int) -> None:
        while self._holds and self._holds[0][0] <= to:
            until, _, lease = heappop(self._holds)
            if lease.end is None:
                self._pass_to(until)
                self._end_hold(lease)
        self._pass_to(to)

    def _pass_to(self, to: int) -> None:
        if to > self.now:
            self._take_changes()
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
            if node.is_open or here != NONE:
                self._open(node)
                assert node.above is not None
                self._press(node, node.above.pressure)

    def _press(self, node: Node, above: Pressure) -> None:
        pressure = together(above, node.here)
        if pressure == node.pressure:
            return  # and so it is for all below
        node.add_up(self.now)
        node.pressure = pressure
        waiting = list(node.below)
        while waiting:
            below = waiting.pop()
            if below.is_idle:
                waiting += below.below
                self._close(below)
            else:
                self._press(below, pressure)

    # -- which nodes add up

    def _node(self, path: str) -> Node:
        found = self._nodes.get(path)
        if found is None:
            found = self._nodes[path] = Node(path)
        return found

    def _changing(self, path: str) -> Node:
        node = self._node(path)
        self._changed[node] = None
        return node

    def _nearest(self, path: list[str]) -> Node:
        return next((node for one in path if (node := self._nodes.get(one)) is not None and node.is_open), self._all)

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
        for child in list(node.below):
            self._hang(child, above)
        for lease in list(node.leases):
            self._move(lease, above)
        above.below.discard(node)
        node.is_open = False

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
