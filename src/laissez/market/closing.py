"""Closing the books: how the market's memory stays bounded (M14).

Price logs, ended leases and fees grow with activity. Closing replaces everything before a time by
plain amounts, one per tenant and one per live lease, and drops the detail. No total changes.
"""

from __future__ import annotations

from heapq import heapify
from typing import TYPE_CHECKING

from laissez.market.charges import charge_until
from laissez.market.controls import FALL, RISE
from laissez.market.events import BooksClosed
from laissez.market.tenant import Fee, Tenant

if TYPE_CHECKING:
    from laissez.market.commands import CloseBooks
    from laissez.market.lease import Lease
    from laissez.market.node import Node
    from laissez.market.state import State


def close_books(state: State, command: CloseBooks) -> None:
    before = command.before
    for tenant in state.tenants.values():
        _close_leases(tenant, before)
        _close_fees(tenant, before)
    state.holds = [hold for hold in state.holds if hold[2].end < 0]
    heapify(state.holds)
    for root in state.forest.roots:
        _forget_prices(
            root,
            _oldest_needed(state, root, RISE, before),
            _oldest_needed(state, root, FALL, before),
        )
    state.closed_before = before
    state.events.append(BooksClosed(state.now, before))


def _close_leases(tenant: Tenant, before: int) -> None:
    kept: dict[int, Lease] = {}
    for lease in tenant.leases.values():
        if 0 <= lease.end <= before:
            tenant.carried += charge_until(lease, lease.end)
            del tenant.filled[lease.order]
            continue
        kept[lease.id] = lease
        if lease.start < before:
            lease.carry_forward(charge_until(lease, before), before)
    tenant.leases = kept
    tenant.settled = 0
    tenant.unsettled = [lease for lease in kept.values() if lease.end >= 0]


def _close_fees(tenant: Tenant, before: int) -> None:
    standing: list[Fee] = []
    for fee in tenant.fees:
        if fee.end <= before:
            tenant.carried += fee.charge(fee.start, fee.end)
            tenant.fees_whole -= fee.charge(fee.start, fee.end)
        else:
            standing.append(fee)
    tenant.fees = standing


def _oldest_needed(state: State, root: Node, kind: int, before: int) -> int:
    """The earliest time whose prices a band in this tree may still need, at most `before`."""
    oldest = before
    for node in state.with_controls:
        controls = node.controls
        assert controls is not None
        if controls.sets(kind) and root.first_leaf <= node.first_leaf < root.last_leaf:
            interval = controls.rise_interval if kind == RISE else controls.fall_interval
            oldest = min(oldest, controls.interval_start(interval, state.now))
    return oldest


def _forget_prices(node: Node, prices_before: int, floors_before: int) -> None:
    if node.log is not None:
        node.log.forget_before(prices_before)
        if not node.log.times:
            node.log = None
    if node.floor_log is not None:
        node.floor_log.forget_before(floors_before)
        if not node.floor_log.times:
            node.floor_log = None
    if node.book is not None and node.book.count == 0:
        node.book = None
    for child in node.children if node.children is not None else []:
        _forget_prices(child, prices_before, floors_before)
