"""What every leaf's owner is charged, kept up to date change by change, from `docs/market.md` alone
(M4, M5, M17). Shares no code with the market.

A bid at a root may re-price ten thousand leaves, so no leaf is visited for it. What rests on the
way from a root down to a node makes two prices there: one for everybody, and a lower one for the
tenant whose bid is highest, whom its own bid does not press. A node adds up the first, and for each
tenant what it saved by the second; a lease is charged what was added up between its start and its
end at the nearest node above it that adds up. A node need not, and sleeps, as long as what rests
there is no more than what presses from above on everybody. Only leases under a hold whose price is
above what they are charged at most are visited whenever it changes.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from heapq import heappop, heappush
from typing import NamedTuple

FEW_LEASES = 64  # so many are moved at once to the node above, when theirs falls asleep


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

    @property
    def on_most(self) -> int:
        return max(self.floor, self.first)

    @property
    def on_everybody(self) -> int:
        return max(self.floor, self.second)


NONE = Pressure(0, "", 0, 0)


def together(above: Pressure, here: Pressure) -> Pressure:
    tenant, first = (
        (above.tenant, above.first) if above.first >= here.first else (here.tenant, here.first)
    )
    return Pressure(
        max(above.floor, here.floor),
        tenant,
        first,
        max(above.without(tenant), here.without(tenant)),
    )


class Lease:
    __slots__ = (
        "base",
        "billed",
        "charge",
        "end",
        "held_until",
        "is_capped",
        "leaf",
        "limit",
        "limit_first",
        "node",
        "number",
        "start",
        "tenant",
    )

    def __init__(
        self, number: int, tenant: str, leaf: str, start: int, limit: int, held_until: int
    ) -> None:
        self.number, self.tenant, self.leaf, self.start = number, tenant, leaf, start
        self.limit_first = limit
        self.limit: int | None = limit
        self.held_until = held_until
        self.end: int | None = None
        self.charge = 0  # settled so far
        self.billed = 0  # on statements so far
        self.is_capped = False
        self.node: Node
        self.base = 0  # what its node had added up for its tenant when the rest began

    @property
    def name(self) -> str:
        return f"lease {self.number} of {self.tenant}"

    @property
    def cap(self) -> int | None:
        """M17: the most that it is charged while held."""
        return None if self.limit is None else max(self.limit, self.limit_first)

    def most(self, rate: int) -> int:
        cap = self.cap
        return rate if cap is None else min(rate, cap)


class Node:
    __slots__ = (
        "above",
        "asleep",
        "below",
        "bids",
        "capped",
        "caps",
        "floor",
        "here",
        "is_open",
        "leases",
        "path",
        "pressure",
        "saved",
        "since",
        "total",
    )

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
        self.leases: set[Lease] = set()  # that are charged what it adds up
        # a heap of those of them that are held, by what they are charged at most
        self.caps: list[tuple[int, int, Lease]] = []
        # that are held, and visited because they may be charged less
        self.capped: set[Lease] = set()
        # a heap of nodes below that need not add up, the highest bid or floor first
        self.asleep: list[tuple[int, int, Node]] = []

    def resting(self) -> Pressure:
        if not self.bids:
            return Pressure(self.floor, "", 0, 0)
        first, tenant = self.bids[-1]
        second = next((bid for bid, other in reversed(self.bids) if other != tenant), 0)
        return Pressure(self.floor, tenant, first, second)

    def may_sleep(self, on_everybody: int) -> bool:
        return (
            self.here.on_most <= on_everybody and not self.capped and len(self.leases) <= FEW_LEASES
        )

    def add_up(self, to: int) -> None:
        passed, pressure = to - self.since, self.pressure
        if not passed:
            return
        on_most, on_its_own = pressure.on_most, pressure.on_everybody
        self.total += on_most * passed
        if on_its_own < on_most:
            self.saved[pressure.tenant] = (
                self.saved.get(pressure.tenant, 0) + (on_most - on_its_own) * passed
            )
        for lease in self.capped:
            lease.charge += lease.most(pressure.rate(lease.tenant)) * passed
        self.since = to

    def added_up(self, tenant: str, to: int) -> int:
        return (
            self.total - self.saved.get(tenant, 0) + self.pressure.rate(tenant) * (to - self.since)
        )


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
        # not taken into account until time passes: what comes and goes in an instant charges nobody
        self._changed: dict[Node, None] = {}
        self._leases_below: dict[str, set[Lease]] = {}
        self._holds: list[tuple[int, int, Lease]] = []
        self._put = 0  # into heaps, so that no two entries are alike

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
                rate = max(
                    rate,
                    node.floor,
                    next((bid for bid, tenant in reversed(node.bids) if tenant != owner), 0),
                )
        return rate

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
        if not lease.is_capped:
            self._watch_cap(lease)

    # -- time

    def pass_time(self, to: int) -> None:
        if to <= self.now:
            return
        self._take_changes()  # first: by them a lease may be visited whose hold ends on the way
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
            self._put += 1
            heappush(above.asleep, (-node.here.on_most, self._put, node))

    def _press(self, node: Node, above: Pressure) -> None:
        pressure = together(above, node.here)
        if pressure == node.pressure:
            return  # and so it is for all below
        node.add_up(self.now)
        node.pressure = pressure
        while node.caps and node.caps[0][0] < pressure.on_most:
            self._visit(*heappop(node.caps), node)
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
        cap = lease.cap
        if lease.held_until > self.now and cap is not None:
            self._put += 1
            if cap < lease.node.pressure.on_most:
                self._visit(cap, 0, lease, lease.node)
            else:
                heappush(lease.node.caps, (cap, self._put, lease))

    def _visit(self, cap: int, _: int, lease: Lease, node: Node) -> None:
        """From now on it is visited whenever its price changes, until its hold ends. What the heap
        says of it may be over."""
        if (
            lease.node is not node
            or lease.is_capped
            or lease.end is not None
            or lease.held_until <= self.now
            or lease.cap != cap
        ):
            return
        self.settle(lease)
        node.leases.discard(lease)
        leaf = self._node(lease.leaf)
        self._wake(leaf)
        leaf.add_up(self.now)
        leaf.capped.add(lease)
        lease.node, lease.is_capped = leaf, True
        self._put += 1
        heappush(self._holds, (lease.held_until, self._put, lease))

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
        return next(
            (node for one in path if (node := self._nodes.get(one)) is not None and node.is_open),
            self._all,
        )

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
