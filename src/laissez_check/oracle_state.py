"""The state of the literal market, and the prices that follow from it (M1 to M6, M17).

No price is kept: a rate is found by looking at every order that was copied to the leaf, a floor by
walking the path. The one liberty is that the forest never changes, so the path and the leaves of
each node are written down once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate

from laissez.market.answers import PriceSegment
from laissez.market.commands import Alternative, Band


def path_order(path: str) -> list[str]:
    """Paths compare part by part, as text."""
    return path.split("/")


class Forest:
    """The trees, by name: every prefix of a leaf's path is a node."""

    def __init__(self, leaves: Iterable[str]) -> None:
        self.leaves = tuple(sorted(leaves, key=path_order))
        self.path: dict[str, tuple[str, ...]] = {}  # node -> the nodes from its root to itself
        self.leaves_below: dict[str, list[str]] = {}
        for leaf in self.leaves:
            path = tuple(accumulate(leaf.split("/"), "{}/{}".format))
            for depth, node in enumerate(path):
                self.path[node] = path[: depth + 1]
                self.leaves_below.setdefault(node, []).append(leaf)
        self.nodes = tuple(sorted(self.path, key=path_order))
        self.roots = tuple(node for node in self.nodes if "/" not in node)


@dataclass
class Liability:
    """The fee of an alternative if it is withdrawn before `end` (M18)."""

    rate: int
    end: int


@dataclass
class Order:
    id: int
    tenant: str
    placed_at: int
    sequence: int
    alternatives: tuple[Alternative, ...]
    liabilities: dict[str, Liability] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """The copy of one alternative that lies at one leaf below its scope."""

    order: Order
    alternative: Alternative


@dataclass
class Lease:
    id: int
    tenant: str
    leaf: str
    order: int
    fence: int
    start: int
    limit: int | None
    limit_first: int
    hold_until: int | None
    end: int | None = None
    carried: PriceSegment | None = None  # its part in closed books
    # (start, end, rate), appended whenever time passes
    charges: list[tuple[int, int, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Fee:
    tenant: str
    order: int
    scope: str
    rate: int
    start: int
    end: int


@dataclass(frozen=True)
class BandSetting:
    """A band as one `SetControls` set it, with the value that every node had right after that: the
    anchors of the first interval."""

    band: Band
    since: int
    first: dict[str, int]


class State:
    """The market between two commands."""

    def __init__(self, leaves: Iterable[str], orders_per_tenant_max: int = 1000) -> None:
        self.topology = Forest(leaves)
        self.orders_per_tenant_max = orders_per_tenant_max
        self.now = 0
        self.sequences_used = 0
        self.fences_used = 0
        self.orders_placed: Counter[str] = Counter()  # by tenant
        self.leases_started: Counter[str] = Counter()
        self.floors: dict[str, int] = {}
        self.offline: set[str] = set()
        self.open_orders: dict[tuple[str, int], Order] = {}  # by tenant and id, as leases are
        self.claims: dict[str, list[Claim]] = {leaf: [] for leaf in self.topology.leaves}
        self.lease_at: dict[str, Lease | None] = dict.fromkeys(self.topology.leaves)
        self.rises: dict[str, BandSetting] = {}
        self.falls: dict[str, BandSetting] = {}
        self.holds_us: dict[str, int] = {}
        self.flashes_us: dict[str, int] = {}
        # (since, value), by node
        self.standing_log: dict[str, list[tuple[int, int]]] = {n: [] for n in self.topology.nodes}
        self.floor_log: dict[str, list[tuple[int, int]]] = {n: [] for n in self.topology.nodes}
        self.leases_on_books: dict[tuple[str, int], Lease] = {}
        self.fees_on_books: list[Fee] = []
        self.carried: Counter[str] = Counter()
        self.closed_before = 0
        self.revenue_so_far = 0
        self.tenants_seen: set[str] = set()

    def add_order(self, order: Order) -> None:
        """Copy every alternative to every leaf below its scope."""
        self.open_orders[order.tenant, order.id] = order
        for alternative in order.alternatives:
            for leaf in self.topology.leaves_below[alternative.scope]:
                self.claims[leaf].append(Claim(order, alternative))

    def remove_order(self, order: Order) -> None:
        """The whole order leaves every book at the same instant (M2)."""
        del self.open_orders[order.tenant, order.id]
        for leaf, claims in self.claims.items():
            self.claims[leaf] = [claim for claim in claims if claim.order is not order]

    def floor(self, node: str) -> int:
        """M4: the highest floor on the node's path."""
        return max(self.floors.get(above, 0) for above in self.topology.path[node])

    def foreign_bid(self, leaf: str) -> int:
        """The highest bid of others than the owner on the leaf, or 0."""
        owner, claims = self.owner(leaf), self.claims[leaf]
        bids = [claim.alternative.bid for claim in claims if claim.order.tenant != owner]
        return max(bids, default=0)

    def rate(self, leaf: str) -> int:
        """M5."""
        return max(self.floor(leaf), self.foreign_bid(leaf))

    def owner(self, leaf: str) -> str | None:
        """M1: one tenant, or the operator (`None`)."""
        lease = self.lease_at[leaf]
        return None if lease is None else lease.tenant

    def is_online(self, leaf: str) -> bool:
        return leaf not in self.offline

    def is_held(self, lease: Lease) -> bool:
        """M17."""
        return lease.hold_until is not None and self.now < lease.hold_until

    def charged(self, lease: Lease) -> int:
        """M17: a lease is charged the rate, while held at most the larger of its limit now and the
        limit it started with."""
        rate = self.rate(lease.leaf)
        if not self.is_held(lease) or lease.limit is None:
            return rate
        return min(rate, max(lease.limit, lease.limit_first))

    def live_leases(self) -> list[Lease]:
        leases = [lease for lease in self.lease_at.values() if lease is not None]
        return sorted(leases, key=lambda lease: lease.fence)

    def standing_rate(self, node: str, without: Order | None = None) -> int:
        """The highest floor or bid at any node of the path, of anyone; `without` leaves one order
        out (M18)."""
        path = self.topology.path[node]
        bids = [
            alternative.bid
            for order in self.open_orders.values()
            if order is not without
            for alternative in order.alternatives
            if alternative.scope in path
        ]
        return max(self.floor(node), *bids, 0)
