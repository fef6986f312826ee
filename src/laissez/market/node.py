"""A node of a tree, with the prices that walks up and down the tree read.

Two walks make the market fast, and both touch only a handful of nodes:

- *up*, from a leaf to its root: the rate of the leaf (M5) and who takes it (M8). Each node answers
  for its own floor and the orders that rest at it.
- *down*, from a scope to one leaf: the cheapest leaf (M9, M11). Each node keeps the lowest asks of
  its subtree, so the walk never searches: the lowest floor of an idle leaf, the lowest limit of a
  leased one, and the lowest limit of any *other* owner, so that "not my own leaf" costs nothing.

A node with very many children would make its asks expensive to keep. Such children are gathered
under *bundles*, nodes without a name that exist for the walk down only: `parent` and `children`
include them, `above` skips them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from laissez.market.book import Book
from laissez.market.pricelog import PriceLog

if TYPE_CHECKING:
    from laissez.market.controls import Controls
    from laissez.market.lease import Lease
    from laissez.market.order import Resting
    from laissez.market.tenant import Tenant

# An ask that no price reaches, a limit that no rate exceeds. Adding 1 keeps it a machine word.
NEVER: Final = 1 << 60


class Node:
    __slots__ = (
        "above",
        "book",
        "children",
        "controls",
        "first_leaf",
        "floor",
        "floor_log",
        "idle_ask",
        "last_leaf",
        "lease",
        "lease_ask",
        "lease_ask_other",
        "lease_ask_owner",
        "log",
        "online",
        "parent",
        "path",
        "price",
        "price_by",
        "price_other",
        "resting_below",
    )

    def __init__(self, path: str, above: Node | None) -> None:
        # The fields that one walk reads stand together, so that they are close in memory.
        self.above = above  # the next named node towards the root
        self.price = 0  # the higher of the floor and the best bid here
        self.price_by: Tenant | None = None  # the tenant that makes it, if it is a single one
        self.price_other = 0  # the price without that tenant
        self.floor = 0
        self.book: Book | None = None
        self.lease: Lease | None = None

        self.idle_ask = NEVER  # lowest floor of an idle online leaf below, counted from here down
        self.lease_ask = NEVER  # lowest limit of a lease below that can be taken
        self.lease_ask_owner: Tenant | None = None  # the owner of that lease
        self.lease_ask_other = NEVER  # lowest limit of any other owner's lease
        self.children: list[Node] | None = None  # None for a leaf
        self.parent: Node | None = above  # the next node of any kind towards the root

        self.path = path  # "" for a bundle
        self.first_leaf = 0  # the leaves below are those at positions first_leaf <= p < last_leaf
        self.last_leaf = 0
        self.online = True
        self.resting_below = 0  # alternatives resting here or further down
        self.log: PriceLog | None = None
        self.floor_log: PriceLog | None = None
        self.controls: Controls | None = None

    def is_leaf(self) -> bool:
        return self.children is None

    def own_book(self) -> Book:
        if self.book is None:
            self.book = Book()
        return self.book

    # -- the walk up

    def rate(self, owner: Tenant | None) -> int:
        """The highest floor or bid on the path of this node that is not `owner`'s own: the rate of
        a leaf that `owner` holds (M5)."""
        rate = 0
        node: Node | None = self
        while node is not None:
            pressing = node.pressing(owner)
            if pressing > rate:
                rate = pressing
            node = node.above
        return rate

    def highest_floor(self) -> int:
        """The highest floor on the path of this node (M4)."""
        floor = self.floor
        node = self.above
        while node is not None:
            if node.floor > floor:
                floor = node.floor
            node = node.above
        return floor

    def highest_limit(self) -> int:
        """The highest limit of the orders on the path of this node; -1 without orders."""
        limit = -1
        node: Node | None = self
        while node is not None:
            first = node.first_in_line()
            if first is not None:
                limit = max(limit, first.limit)
            node = node.above
        return limit

    def first_in_line(self) -> Resting | None:
        """The alternative at this node that takes a leaf which opens below."""
        return None if self.book is None else self.book.first_in_line()

    def pressing(self, owner: Tenant | None) -> int:
        """The price that this node sets for a leaf that `owner` holds."""
        return self.price_other if owner is not None and self.price_by is owner else self.price

    def ask_for(self, tenant: Tenant | None) -> int:
        """The lowest limit of a lease below that `tenant` does not hold itself."""
        return (
            self.lease_ask_other
            if tenant is not None and self.lease_ask_owner is tenant
            else self.lease_ask
        )

    def reprice(self, now: int, revision: int) -> None:
        """Compute the price after a change of the book or the floor, and log it if it moved."""
        price = self.floor
        by: Tenant | None = None
        other = price
        book = self.book
        if book is not None and book.leader is not None and book.leader.best > price:
            price = book.leader.best
            other = max(other, book.best_rival())
            if price > other:  # a price that two tenants make belongs to neither
                by = book.leader.tenant
        if price == self.price and by is self.price_by and other == self.price_other:
            return
        self.price = price
        self.price_by = by
        self.price_other = other
        if self.log is None:
            self.log = PriceLog()
        self.log.record(now, revision, price, by, other)

    # -- the walk down

    def lowest_idle_ask(self) -> int:
        """The lowest floor of an idle online leaf below, counting floors above this node; NEVER if
        there is no such leaf."""
        return (
            self.idle_ask if self.above is None else max(self.idle_ask, self.above.highest_floor())
        )

    def refresh_leaf(self) -> None:
        """Update the asks, here and above, after a change of this leaf's lease, floor or state."""
        lease = self.lease
        was_idle = self.idle_ask
        was_leased = self.lease_ask
        if lease is None:
            self.idle_ask = self.floor if self.online else NEVER
            self.lease_ask = NEVER
            self.lease_ask_owner = None
        else:
            self.idle_ask = NEVER
            self.lease_ask = NEVER if lease.held else lease.limit
            self.lease_ask_owner = lease.tenant
        parent = self.parent
        if parent is None:
            return
        same_idle = was_idle == self.idle_ask or min(was_idle, self.idle_ask) > parent.idle_ask
        if same_idle and min(was_leased, self.lease_ask) > parent.lease_ask_other:
            # It neither was nor is among the lowest, so nothing changes above: the common case.
            return
        parent.refresh_asks()

    def refresh_asks(self) -> None:
        """Compute the asks from the children's, here and towards the root, until one does not
        change."""
        node: Node | None = self
        while node is not None and node.gather_asks():
            node = node.parent

    def gather_asks(self) -> bool:
        """Take the lowest of the children's asks. Returns whether anything changed."""
        idle = NEVER
        low = NEVER
        owner: Tenant | None = None
        other = NEVER
        assert self.children is not None
        for child in self.children:
            if child.idle_ask < idle:
                idle = child.idle_ask
            if child.lease_ask_owner is owner:
                low = min(low, child.lease_ask)
                other = min(other, child.lease_ask_other)
            elif child.lease_ask < low:
                other = min(low, child.lease_ask_other)
                low = child.lease_ask
                owner = child.lease_ask_owner
            else:
                other = min(other, child.lease_ask)
        if idle < self.floor:
            idle = self.floor
        if (
            idle == self.idle_ask
            and low == self.lease_ask
            and owner is self.lease_ask_owner
            and other == self.lease_ask_other
        ):
            return False
        self.idle_ask = idle
        self.lease_ask = low
        self.lease_ask_owner = owner
        self.lease_ask_other = other
        return True

    def first_idle(self, ask: int) -> Node:
        """The first leaf below, in path order, that is idle with a floor of at most `ask`; there
        must be one."""
        node = self
        while node.children is not None:
            which = 0
            while node.children[which].idle_ask > ask:
                which += 1
            node = node.children[which]
        return node

    def first_leased(self, ask: int, tenant: Tenant | None) -> Node:
        """The first leaf below, in path order, leased at limit `ask` by anyone but `tenant`; there
        must be one."""
        node = self
        while node.children is not None:
            which = 0
            while node.children[which].ask_for(tenant) != ask:
                which += 1
            node = node.children[which]
        return node
