"""Lazy bills: a charge is the integral of a rate (M14), computed when it is asked for.

How it works. A change of price touches one node's log and no lease, however many leases lie below.
The rate of a leaf is the highest price on its path (M5), so a charge is the integral of a maximum
over a few logs. Usually one of them, the root's, changes all the time and the others hardly ever:
the quiet logs are laid out as pieces of constant price, and the busiest log gives its integral over
each piece (`PriceLog.area`), with the piece's price as the least and a hold's cap as the most.

Why it is exact. All times and prices are integers, every piece is half-open, and pieces abut: the
integral is a sum of integers, divided only when an invoice is printed. A lease keeps how far its
charge was computed (`settled`, `settled_to`), so a later question adds only what is new. That is a
cache: no answer depends on when, or how often, it was asked for.

What must never happen: a charge that falls, or a cache ahead of the time it was computed for.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from laissez.market.node import NEVER
from laissez.market.pricelog import PriceLog

if TYPE_CHECKING:
    from laissez.market.lease import Lease
    from laissez.market.node import Node
    from laissez.market.tenant import Tenant


def charge_until(lease: Lease, until: int) -> int:
    """The whole charge of a lease from its start until `until` (or its end)."""
    until = min(until, lease.last_moment(until))
    if until < lease.settled_to:
        return lease.carried + _integral(lease, lease.carried_to, until)
    more = _integral(lease, lease.settled_to, until)
    assert more >= 0, "a charge never falls"
    lease.settled += more
    lease.settled_to = until
    return lease.settled


def charge_of_ended(tenant: Tenant) -> int:
    """The charge of all ended leases on the books."""
    for lease in tenant.unsettled:
        tenant.settled += charge_until(lease, lease.end)
    tenant.unsettled = []
    return tenant.settled


def charge_between(lease: Lease, since: int, until: int) -> int:
    """The charge of a lease within `[since, until)`. The books must be open from `since` on."""
    if since <= lease.start:
        return charge_until(lease, until)
    if since == lease.carried_to:
        return charge_until(lease, until) - lease.carried
    return _integral(lease, since, min(until, lease.last_moment(until)))


def _integral(lease: Lease, since: int, until: int) -> int:
    """The charge of a lease within `[since, until)`."""
    total = 0
    for start, end, cap in _cap_pieces(lease, since, until):
        total += BusyLogs(lease.leaf, lease.tenant, start, end).area(cap)
    return total


def _cap_pieces(lease: Lease, since: int, until: int) -> list[tuple[int, int, int]]:
    """The non-empty pieces `(start, end, cap)` of `[since, until)` between changes of a held
    lease's cap and the end of its hold (M17)."""
    pieces: list[tuple[int, int, int]] = []
    if lease.caps is not None and lease.cap_times is not None:
        for i in range(bisect_right(lease.cap_times, since) - 1, len(lease.caps)):
            end = lease.cap_times[i + 1] if i + 1 < len(lease.caps) else lease.hold_until
            if max(since, lease.cap_times[i]) < min(end, until):
                pieces.append((max(since, lease.cap_times[i]), min(end, until), lease.caps[i]))
    free_from = max(since, lease.hold_until)
    if free_from < until:
        pieces.append((free_from, until, NEVER))
    return pieces


class BusyLogs:
    """The price logs on the path of a leaf that change within `[since, until)`, and the highest
    price of those that do not."""

    __slots__ = ("least", "logs", "owner", "since", "until")

    def __init__(self, leaf: Node, owner: Tenant, since: int, until: int) -> None:
        self.owner = owner
        self.since = since
        self.until = until
        self.least = 0
        self.logs: list[PriceLog] = []
        node: Node | None = leaf
        while node is not None:
            log = node.log
            if log is not None:
                index = log.index_at(since)
                if index + 1 < len(log.times) and log.times[index + 1] < until:
                    self.logs.append(log)
                else:
                    self.least = max(self.least, log.pressing(index, owner))
            node = node.above

    def area(self, cap: int) -> int:
        """The integral of the rate, up to a cap: the busiest log's, over each piece in which the
        other logs are constant."""
        if not self.logs:
            return (self.until - self.since) * min(self.least, cap)
        busiest = self.logs[0]
        for log in self.logs:
            if len(log.times) > len(busiest.times):
                busiest = log
        times, rates = self.pieces([log for log in self.logs if log is not busiest])
        total = 0
        for i in range(len(times)):
            end = times[i + 1] if i + 1 < len(times) else self.until
            if end > times[i]:
                total += busiest.area(times[i], end, self.owner, rates[i], cap)
        return total

    def pieces(self, logs: list[PriceLog]) -> tuple[list[int], list[int]]:
        """The times at which the highest price of these logs and the quiet ones changes, and the
        prices. The first time is `since`."""
        current: list[int] = []
        changes: list[tuple[int, int, int]] = []
        for which in range(len(logs)):
            log = logs[which]
            first = log.index_at(self.since)
            current.append(log.pressing(first, self.owner))
            for index in range(first + 1, log.index_before(self.until) + 1):
                changes.append((log.times[index], which, index))
        changes.sort()
        times = [self.since]
        rates = [max(current, default=0)]
        for time, which, index in changes:
            current[which] = logs[which].pressing(index, self.owner)
            times.append(time)
            rates.append(max(current))
        return times, [max(rate, self.least) for rate in rates]
