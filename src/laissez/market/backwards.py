"""Price history read backwards, all logs of a path together, so that the newest part of a long
history costs no more than that part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from laissez.market.lease import Lease
    from laissez.market.node import Node
    from laissez.market.pricelog import PriceLog
    from laissez.market.tenant import Tenant

UNBOUNDED: Final = 1 << 60  # more than there will ever be of anything


def newest_pieces(
    node: Node, lease: Lease | None, since: int, until: int, pieces_max: int, changes_max: int
) -> list[tuple[int, int, int]]:
    """The newest `pieces_max` pieces `(start, end, rate)` of constant rate within `[since, until)`,
    oldest first, with neighbours of equal rate joined. The rate is that of the lease, up to its
    cap; without a lease, the standing rate.

    The first piece begins later than `since` if there are more pieces, or more than `changes_max`
    changes of price, of which many may not show.
    """
    past = PathBackwards(node, None if lease is None else lease.tenant, until)
    starts: list[int] = []  # of the pieces found, newest first
    ends: list[int] = []
    rates: list[int] = []
    end = until
    changes = 0
    while end > since and changes < changes_max:
        rate = past.rate
        start = max(since, past.changed_at)
        if lease is not None and lease.caps is not None:
            cap, capped_from = lease.cap_before(end)
            rate = min(rate, cap)
            start = max(start, capped_from)
        if rates and rates[-1] == rate:
            starts[-1] = start
        elif len(rates) == pieces_max:
            break
        else:
            starts.append(start)
            ends.append(end)
            rates.append(rate)
        past.step_back(start)
        end = start
        changes += 1
    return [(starts[i], ends[i], rates[i]) for i in range(len(rates) - 1, -1, -1)]


class PathBackwards:
    """The rate at a node for one owner, and since when, just before a time that only falls."""

    __slots__ = ("changed_at", "in_force", "logs", "owner", "rate")

    def __init__(self, node: Node, owner: Tenant | None, before: int) -> None:
        self.owner = owner
        self.logs: list[PriceLog] = []
        on_path: Node | None = node
        while on_path is not None:
            if on_path.log is not None:
                self.logs.append(on_path.log)
            on_path = on_path.above
        # the index of the record in force in each log; -1: none yet
        self.in_force = [log.index_before(before) for log in self.logs]
        self.rate = 0
        self.changed_at = -1
        self._look()

    def step_back(self, before: int) -> None:
        for which in range(len(self.logs)):
            times = self.logs[which].times
            index = self.in_force[which]
            while index >= 0 and times[index] >= before:
                index -= 1
            self.in_force[which] = index
        self._look()

    def _look(self) -> None:
        self.rate = 0
        self.changed_at = -1
        for which in range(len(self.logs)):
            index = self.in_force[which]
            if index >= 0:
                log = self.logs[which]
                self.rate = max(self.rate, log.pressing(index, self.owner))
                self.changed_at = max(self.changed_at, log.times[index])
