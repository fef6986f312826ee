"""The orders that rest at one node, and the two questions asked of them.

*Who takes a leaf that opens?* The highest limit, then the earliest order (M8): one heap over all alternatives.
*Who presses, and how hard?* The best bid, and the best bid of anyone but its tenant, because nobody presses on themselves (M5): a
heap per tenant, the tenant with the best bid kept aside as the leader, and a heap of the others.

Nothing is searched for when an alternative leaves: it is marked gone, and a heap drops it when it comes to its top. A heap that
is mostly gone is rebuilt, so that its size stays within a factor of what rests. Every operation is O(log of what rests here),
amortised.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from laissez.market.order import Resting
    from laissez.market.tenant import Tenant

REBUILD_SLACK = 32  # below this many dead entries a rebuild costs more than it saves


def _drop_gone(heap: list[tuple[int, int, Resting]]) -> None:
    while heap and heap[0][2].gone:
        heappop(heap)


class Presser:
    """One tenant's bids in one book."""

    __slots__ = ("best", "bids", "count", "tenant")

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        self.bids: list[tuple[int, int, Resting]] = []
        self.count = 0
        self.best = 0

    def add(self, resting: Resting) -> None:
        self.count += 1
        heappush(self.bids, (-resting.bid, resting.order.number, resting))
        if resting.bid > self.best:
            self.best = resting.bid

    def removed_one(self) -> None:
        self.count -= 1
        if len(self.bids) > 2 * self.count + REBUILD_SLACK:
            self.bids = [entry for entry in self.bids if not entry[2].gone]
            heapify(self.bids)
        _drop_gone(self.bids)
        self.best = -self.bids[0][0] if self.bids else 0


class Book:
    __slots__ = ("by_limit", "count", "leader", "pressers", "rivals")

    def __init__(self) -> None:
        self.count = 0
        self.by_limit: list[tuple[int, int, Resting]] = []
        self.pressers: dict[int, Presser] = {}
        self.leader: Presser | None = None
        self.rivals: list[tuple[int, int]] = []  # (-best bid, tenant) of every presser but the leader, and entries that no longer hold

    def add(self, resting: Resting) -> None:
        self.count += 1
        heappush(self.by_limit, (-resting.limit, resting.order.number, resting))
        if resting.bid > 0:
            self._press(resting)

    def remove(self, resting: Resting) -> None:
        self.count -= 1
        resting.gone = True
        if len(self.by_limit) > 2 * self.count + REBUILD_SLACK:
            self.by_limit = [entry for entry in self.by_limit if not entry[2].gone]
            heapify(self.by_limit)
        if resting.bid > 0:
            self._relent(resting)

    def first_in_line(self) -> Resting | None:
        """The alternative that takes a leaf opened to this book: highest limit, then earliest."""
        _drop_gone(self.by_limit)
        return self.by_limit[0][2] if self.by_limit else None

    def best_rival(self) -> int:
        """The best bid of anyone but the leader; 0 if there is none."""
        self._drop_stale_rivals()
        return -self.rivals[0][0] if self.rivals else 0

    def _press(self, resting: Resting) -> None:
        tenant = resting.order.tenant
        presser = self.pressers.get(tenant.number)
        if presser is None:
            presser = Presser(tenant)
            self.pressers[tenant.number] = presser
        before = presser.best
        presser.add(resting)
        if presser.best == before or presser is self.leader:
            return
        leader = self.leader
        if leader is None or presser.best > leader.best:
            self.leader = presser
            if leader is not None:
                self._add_rival(leader)
        else:
            self._add_rival(presser)

    def _relent(self, resting: Resting) -> None:
        presser = self.pressers[resting.order.tenant.number]
        before = presser.best
        presser.removed_one()
        if presser.count == 0:
            del self.pressers[presser.tenant.number]
        if presser.best == before:
            return
        if presser is not self.leader:
            if presser.best > 0:
                self._add_rival(presser)
        elif self.best_rival() > presser.best:
            self.leader = self.pressers[heappop(self.rivals)[1]]
            if presser.best > 0:
                self._add_rival(presser)
        elif presser.count == 0:
            self.leader = None

    def _add_rival(self, presser: Presser) -> None:
        heappush(self.rivals, (-presser.best, presser.tenant.number))
        if len(self.rivals) > 2 * len(self.pressers) + REBUILD_SLACK:
            self.rivals = [(-other.best, number) for number, other in self.pressers.items() if other is not self.leader]
            heapify(self.rivals)

    def _drop_stale_rivals(self) -> None:
        """An entry holds only while its tenant still has that best bid and does not lead."""
        rivals = self.rivals
        while rivals:
            presser = self.pressers.get(rivals[0][1])
            if presser is not None and presser is not self.leader and presser.best == -rivals[0][0]:
                return
            heappop(rivals)
