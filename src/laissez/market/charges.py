"""What leases were charged: the integral of the rate, worked out when somebody asks (M14).

The rate of a leaf is the highest of what the nodes on its path press with (M5), and each node has logged its price. To know what
a lease was charged over a period, walk those few logs side by side. A lease remembers how far the last answer went, so each
change of price is looked at once per lease, and only if somebody asks.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

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
    lease.settled += _integral(lease, lease.settled_to, until)
    lease.settled_to = until
    return lease.settled


def charge_between(lease: Lease, since: int, until: int) -> int:
    """What a lease was charged within `[since, until)`. The books must be open from `since` on."""
    until = min(until, lease.last_moment(until))
    if since <= lease.start:
        return charge_until(lease, until)
    return _integral(lease, since, until)


def segments(lease: Lease, since: int, until: int) -> list[tuple[int, int, int]]:
    """The pieces `(start, end, rate)` of constant charge within `[since, until)`, neighbours of equal rate joined."""
    joined: list[tuple[int, int, int]] = []
    times, rates = _charged(lease, since, until)
    for i in range(len(times)):
        end = times[i + 1] if i + 1 < len(times) else until
        if joined and joined[-1][2] == rates[i]:
            joined[-1] = (joined[-1][0], end, rates[i])
        elif end > times[i]:
            joined.append((times[i], end, rates[i]))
    return joined


def _integral(lease: Lease, since: int, until: int) -> int:
    if since >= until:
        return 0
    times, rates = _charged(lease, since, until)
    total = 0
    last = len(times) - 1
    for i in range(last):
        total += (times[i + 1] - times[i]) * rates[i]
    return total + (until - times[last]) * rates[last]


def _charged(lease: Lease, since: int, until: int) -> tuple[list[int], list[int]]:
    """When the charge changes within `[since, until)`, and to what; the first time is `since`."""
    times, rates = _pressed(lease.leaf, lease.tenant, since, until)
    if since < lease.hold_until:
        return _capped(lease, times, rates, until)
    return times, rates


def _pressed(leaf: Node, owner: Tenant, since: int, until: int) -> tuple[list[int], list[int]]:
    """The rate of a leaf for its owner: the highest of the logs on its path."""
    moving: list[PriceLog] = []
    starts: list[int] = []
    still = 0  # the highest price that does not change in the period
    node: Node | None = leaf
    while node is not None:
        log = node.log
        if log is not None:
            index = log.index_at(since)
            if index + 1 < len(log.times) and log.times[index + 1] < until:
                moving.append(log)
                starts.append(index)
            else:
                still = max(still, log.pressing(index, owner))
        node = node.above
    if not moving:
        return [since], [still]
    if len(moving) == 1:
        return _one_log(moving[0], starts[0], owner, since, until, still)
    return _many_logs(moving, starts, owner, since, until, still)


def _one_log(log: PriceLog, index: int, owner: Tenant, since: int, until: int, still: int) -> tuple[list[int], list[int]]:
    times = [since]
    rates = [max(still, log.pressing(index, owner))]
    index += 1
    while index < len(log.times) and log.times[index] < until:
        times.append(log.times[index])
        rates.append(max(still, log.pressing(index, owner)))
        index += 1
    return times, rates


def _many_logs(logs: list[PriceLog], starts: list[int], owner: Tenant, since: int, until: int, still: int) -> tuple[list[int], list[int]]:
    current: list[int] = []
    changes: list[tuple[int, int, int]] = []
    for which in range(len(logs)):
        log = logs[which]
        current.append(log.pressing(starts[which], owner))
        index = starts[which] + 1
        while index < len(log.times) and log.times[index] < until:
            changes.append((log.times[index], which, index))
            index += 1
    changes.sort()
    times = [since]
    rates = [max(still, max(current))]
    for time, which, index in changes:
        current[which] = logs[which].pressing(index, owner)
        times.append(time)
        rates.append(max(still, max(current)))
    return times, rates


def _capped(lease: Lease, times: list[int], rates: list[int], until: int) -> tuple[list[int], list[int]]:
    """Apply the cap of a held lease (M17): the pieces are cut where the cap changes and where the hold ends."""
    assert lease.caps is not None and lease.cap_times is not None
    cuts = set(times)
    cuts.update(cut for cut in lease.cap_times if times[0] < cut < until)
    if lease.hold_until < until:
        cuts.add(lease.hold_until)
    all_times = sorted(cuts)
    capped: list[int] = []
    for time in all_times:
        rate = rates[bisect_right(times, time) - 1]
        if time < lease.hold_until:
            rate = min(rate, lease.caps[bisect_right(lease.cap_times, time) - 1])
        capped.append(rate)
    return all_times, capped
