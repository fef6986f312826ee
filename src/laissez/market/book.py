"""The order book of one node. It answers two questions.

*Which order takes a leaf that opens?* The one with the highest limit, then the earliest (M8): a
queue per limit in order of arrival, and a heap of the limits.

*What do the orders press with?* The best bid, and the best bid of any other tenant, because no
tenant presses on itself (M5): the sorted bids of every tenant, the tenant with the highest bid as
the leader, and a heap of the others.

Heaps are never searched. A stale entry is dropped when it comes to the top, and a heap that is
mostly stale is rebuilt, so its size stays proportional to the orders. Every operation is O(log n)
amortised for n orders at this node; a tenant's own bids are few, because its open orders are
bounded.
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from laissez.market.order import Resting
    from laissez.market.tenant import Tenant

SLACK: Final = 32  # with fewer stale entries, rebuilding a heap costs more than it saves
# A rival is one machine word: how far its bid is below the highest price, then its tenant.
TENANT_BITS: Final = 24
BID_TOP: Final = 1 << 34  # above every price


class Presser:
    """The bids of one tenant in one book, lowest first."""

    __slots__ = ("best", "bids", "tenant")

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        self.bids: list[int] = []
        self.best = 0

    def add(self, bid: int) -> None:
        self.bids.insert(bisect_left(self.bids, bid), bid)
        if bid > self.best:
            self.best = bid

    def remove(self, bid: int) -> None:
        if bid == self.best:
            self.bids.pop()
            self.best = self.bids[-1] if self.bids else 0
        else:
            del self.bids[bisect_left(self.bids, bid)]


class Book:
    __slots__ = ("count", "leader", "limits", "lines", "pressers", "rivals")

    def __init__(self) -> None:
        self.count = 0
        self.lines: dict[int, Resting] = {}  # the first in the line of each limit
        # heap of -limit: every limit with a line, and limits that had one
        self.limits: list[int] = []
        self.pressers: dict[int, Presser] = {}
        self.leader: Presser | None = None
        # heap of every presser but the leader, and of stale entries
        self.rivals: list[int] = []

    def add(self, resting: Resting) -> None:
        self.count += 1
        self._line_up(resting)
        if resting.bid > 0:
            self._press(resting)

    def remove(self, resting: Resting) -> None:
        self.count -= 1
        self._leave_line(resting)
        if resting.bid > 0:
            self._relent(resting)

    def first_in_line(self) -> Resting | None:
        """The alternative that takes a leaf which opens: highest limit, then earliest."""
        limits = self.limits
        while limits:
            first = self.lines.get(-limits[0])
            if first is not None:
                return first
            heappop(limits)
        return None

    def _line_up(self, resting: Resting) -> None:
        """Sequence numbers only grow, so a new alternative is the last in line."""
        first = self.lines.get(resting.limit)
        if first is not None:
            last = first.last
            assert last is not None
            last.later = resting
            resting.earlier = last
            first.last = resting
            return
        resting.last = resting
        self.lines[resting.limit] = resting
        heappush(self.limits, -resting.limit)
        if len(self.limits) > 2 * len(self.lines) + SLACK:
            self.limits = [-limit for limit in self.lines]
            heapify(self.limits)

    def _leave_line(self, resting: Resting) -> None:
        earlier = resting.earlier
        later = resting.later
        if later is not None:
            later.earlier = earlier
        if earlier is not None:
            earlier.later = later
            if later is None:
                self.lines[resting.limit].last = earlier
        elif later is not None:
            later.last = resting.last
            self.lines[resting.limit] = later
        else:
            del self.lines[resting.limit]
        resting.earlier = None
        resting.later = None
        resting.last = None

    def best_rival(self) -> int:
        """The best bid of any tenant but the leader; 0 without such a bid."""
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
        """Find the leader after its best bid fell."""
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
            self.rivals = [
                _rival(other) for other in self.pressers.values() if other is not self.leader
            ]
            heapify(self.rivals)

    def _first_rival(self) -> Presser | None:
        """The first entry whose tenant still has that best bid and does not lead."""
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
