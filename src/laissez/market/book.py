"""The orders that rest at one node, and the two questions asked of them.

*Who takes a leaf that opens?* The highest limit, then the earliest order (M8): a queue per limit, in order of arrival, and a heap of the limits.
*Who presses, and how hard?* The best bid, and the best bid of anyone but its tenant, because nobody presses on themselves (M5): the best bid of
every tenant, the tenant with the highest kept aside as the leader, and a heap of the others.

Nothing is searched for when an alternative leaves: it is marked gone, and passed over when its turn comes. A queue or heap that is mostly gone is
rebuilt, so that its size stays within a factor of what rests. Every operation is O(log of what rests here), amortised.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from laissez.market.order import Resting
    from laissez.market.tenant import Tenant

SLACK: Final = 32  # below this many dead entries a rebuild costs more than it saves
TENANT_BITS: Final = 24  # a rival is kept as one machine word: how far its bid is below the highest price, then its tenant
BID_TOP: Final = 1 << 34  # above every price


class Queue:
    """The alternatives of one limit, in order of arrival: numbers only grow, so the next to come is always the last in line."""

    __slots__ = ("count", "first", "line")

    def __init__(self) -> None:
        self.line: list[Resting] = []
        self.first = 0  # all before it are gone
        self.count = 0

    def add(self, resting: Resting) -> None:
        self.count += 1
        self.line.append(resting)
        if len(self.line) > 2 * self.count + SLACK:
            self.line = [waiting for waiting in self.line if not waiting.gone]
            self.first = 0

    def head(self) -> Resting:
        while self.line[self.first].gone:
            self.first += 1
        return self.line[self.first]


class Presser:
    """The bids of one tenant in one book: how many at each price, and the best."""

    __slots__ = ("best", "bids", "counts", "tenant")

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        self.counts: dict[int, int] = {}
        self.bids: list[int] = []  # heap of -price: every price with a count, and prices that had one
        self.best = 0

    def add(self, bid: int) -> None:
        count = self.counts.get(bid, 0)
        self.counts[bid] = count + 1
        if count == 0:
            heappush(self.bids, -bid)
            if len(self.bids) > 2 * len(self.counts) + SLACK:
                self.bids = [-price for price in self.counts]
                heapify(self.bids)
        if bid > self.best:
            self.best = bid

    def remove(self, bid: int) -> None:
        count = self.counts[bid]
        if count > 1:
            self.counts[bid] = count - 1
            return
        del self.counts[bid]
        if bid == self.best:
            while self.bids and -self.bids[0] not in self.counts:
                heappop(self.bids)
            self.best = -self.bids[0] if self.bids else 0


class Book:
    __slots__ = ("count", "leader", "limits", "pressers", "queues", "rivals")

    def __init__(self) -> None:
        self.count = 0
        self.queues: dict[int, Queue] = {}
        self.limits: list[int] = []  # heap of -limit: every limit with a queue, and limits that had one
        self.pressers: dict[int, Presser] = {}
        self.leader: Presser | None = None
        self.rivals: list[int] = []  # heap of every presser but the leader, and of entries that no longer hold

    def add(self, resting: Resting) -> None:
        self.count += 1
        queue = self.queues.get(resting.limit)
        if queue is None:
            queue = Queue()
            self.queues[resting.limit] = queue
            heappush(self.limits, -resting.limit)
            if len(self.limits) > 2 * len(self.queues) + SLACK:
                self.limits = [-limit for limit in self.queues]
                heapify(self.limits)
        queue.add(resting)
        if resting.bid > 0:
            self._press(resting)

    def remove(self, resting: Resting) -> None:
        self.count -= 1
        resting.gone = True
        queue = self.queues[resting.limit]
        queue.count -= 1
        if queue.count == 0:
            del self.queues[resting.limit]
        if resting.bid > 0:
            self._relent(resting)

    def first_in_line(self) -> Resting | None:
        """The alternative that takes a leaf opened to this book: highest limit, then earliest."""
        limits = self.limits
        while limits:
            queue = self.queues.get(-limits[0])
            if queue is not None:
                return queue.head()
            heappop(limits)
        return None

    def best_rival(self) -> int:
        """The best bid of anyone but the leader; 0 if there is none."""
        rival = self._first_rival()
        return 0 if rival is None else rival.best

    def _press(self, resting: Resting) -> None:
        tenant = resting.order.tenant
        presser = self.pressers.get(tenant.number)
        if presser is None:
            presser = Presser(tenant)
            self.pressers[tenant.number] = presser
        before = presser.best
        presser.add(resting.bid)
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
        presser.remove(resting.bid)
        if presser.best == before:
            return
        if presser.best == 0:
            del self.pressers[presser.tenant.number]
        if presser is self.leader:
            self._find_leader()
        elif presser.best > 0:
            self._add_rival(presser)

    def _find_leader(self) -> None:
        """The leader's best bid fell: it may have to give way."""
        leader = self.leader
        assert leader is not None
        rival = self._first_rival()
        if rival is not None and rival.best > leader.best:
            heappop(self.rivals)
            self.leader = rival
            if leader.best > 0:
                self._add_rival(leader)
        elif leader.best == 0:
            self.leader = None

    def _add_rival(self, presser: Presser) -> None:
        heappush(self.rivals, _rival(presser))
        if len(self.rivals) > 2 * len(self.pressers) + SLACK:
            self.rivals = [_rival(other) for other in self.pressers.values() if other is not self.leader]
            heapify(self.rivals)

    def _first_rival(self) -> Presser | None:
        """An entry holds only while its tenant still has that best bid and does not lead."""
        rivals = self.rivals
        while rivals:
            presser = self.pressers.get(rivals[0] & ((1 << TENANT_BITS) - 1))
            if presser is not None and presser is not self.leader and _rival(presser) == rivals[0]:
                return presser
            heappop(rivals)
        return None


def _rival(presser: Presser) -> int:
    """Sorts by best bid, highest first, then by tenant."""
    return (BID_TOP - presser.best) << TENANT_BITS | presser.tenant.number
