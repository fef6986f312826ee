"""What each command does once no guard objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laissez.market.charges import charge_until
from laissez.market.clearing import (
    clear_leaves,
    clear_order,
    end_lease,
    idle_within_reach,
    is_unstable,
    leases_below_limit,
    open_for_price,
    open_leaf,
    rate_of,
    rest,
    withdraw,
)
from laissez.market.commands import (
    Alternative,
    AmendOrder,
    BringOnline,
    CancelOrder,
    CloseBooks,
    PlaceOrder,
    Relinquish,
    SetControls,
    SetFloor,
    SetLimit,
    TakeOffline,
)
from laissez.market.controls import Controls, clipped_bid, clipped_floor, flash_of
from laissez.market.events import (
    BooksClosed,
    ControlsSet,
    FeeCharged,
    FloorSet,
    LeafBroughtOnline,
    LeafTakenOffline,
    LimitSet,
    OrderAmended,
    OrderCancelled,
    OrderPlaced,
)
from laissez.market.node import NEVER
from laissez.market.order import Order, Resting
from laissez.market.pricelog import PriceLog
from laissez.market.reasons import EndReason
from laissez.market.tenant import Fee, Tenant

if TYPE_CHECKING:
    from laissez.market.lease import Lease
    from laissez.market.node import Node
    from laissez.market.state import State


def place(state: State, command: PlaceOrder) -> None:
    tenant = state.tenant(command.tenant)
    id = state.next_order_number()
    order = Order(id, id, tenant)
    alternatives, clipped = _alternatives_in_force(state, order, command.alternatives)
    if state.with_controls:
        for resting in order.alternatives:
            _become_liable(state, resting)
    tenant.orders[id] = order
    state.events.append(OrderPlaced(state.now, command.tenant, id, alternatives, clipped))
    rest(state, order)
    clear_order(state, order)


def amend(state: State, command: AmendOrder) -> None:
    order = state.tenants[command.tenant].orders[command.order]
    before = order.alternatives
    withdraw(state, order)
    order.number = state.next_order_number()
    alternatives, clipped = _alternatives_in_force(state, order, command.alternatives)
    state.events.append(OrderAmended(state.now, command.tenant, order.id, alternatives, clipped))
    _amend_liabilities(state, before, order.alternatives)
    rest(state, order)
    clear_order(state, order)


def cancel(state: State, command: CancelOrder) -> None:
    order = state.tenants[command.tenant].orders.pop(command.order)
    withdraw(state, order)
    state.events.append(OrderCancelled(state.now, command.tenant, order.id))
    for resting in order.alternatives:
        _charge_fee(state, resting, resting.liable)
    order.close()


def _alternatives_in_force(state: State, order: Order, asked: tuple[Alternative, ...]) -> tuple[tuple[Alternative, ...], bool]:
    """Give an order its alternatives, clipped by rise bands (M15); says what is in force and whether anything was clipped."""
    by_path = state.forest.by_path
    order.alternatives = tuple([Resting(order, by_path[alternative.scope], alternative.bid, alternative.limit) for alternative in asked])
    if not state.with_controls:
        return asked, False
    clipped = False
    for resting in order.alternatives:
        bid = clipped_bid(resting.scope, resting.bid, state.now)
        if bid < resting.bid:
            resting.bid = bid
            clipped = True
    if not clipped:
        return asked, False
    return tuple([Alternative(resting.scope.path, resting.bid, resting.limit) for resting in order.alternatives]), True


# -- flash fees (M18)


def _become_liable(state: State, resting: Resting) -> None:
    """A bid that lifts its scope's standing rate must stand for a while, or pay. The order itself must not rest while this is asked."""
    flash = flash_of(resting.scope)
    if flash == 0:
        return
    made = resting.bid - rate_of(resting.scope, None)
    if made > 0:
        resting.liable = made
        resting.liable_until = state.now + flash


def _amend_liabilities(state: State, before: tuple[Resting, ...], after: tuple[Resting, ...]) -> None:
    if not state.with_controls and not any([old.liable for old in before]):
        return
    now_at = {resting.scope.path: resting for resting in after}
    for old in before:
        new = now_at.pop(old.scope.path, None)
        if new is None:
            _charge_fee(state, old, old.liable)
            continue
        if new.bid < old.bid:
            _charge_fee(state, old, min(old.liable, old.bid - new.bid))
        new.liable = old.liable
        new.liable_until = old.liable_until
        if new.bid > old.bid:
            _become_liable(state, new)
    for resting in now_at.values():
        _become_liable(state, resting)


def _charge_fee(state: State, resting: Resting, rate: int) -> None:
    """Charge part or all of a liability, if it has not run out."""
    if rate == 0 or state.now >= resting.liable_until:
        return
    resting.liable -= rate
    order = resting.order
    order.tenant.fees.append(Fee(order.id, resting.scope.path, rate, state.now, resting.liable_until))
    state.events.append(FeeCharged(state.now, order.tenant.name, order.id, resting.scope.path, rate, resting.liable_until))


# -- leases


def set_limit(state: State, command: SetLimit) -> None:
    leaf = state.forest.by_path[command.leaf]
    lease = leaf.lease
    assert lease is not None
    lease.set_limit(NEVER if command.limit is None else command.limit, state.now)
    state.events.append(LimitSet(state.now, command.tenant, lease.id, leaf.path, command.limit))
    if is_unstable(leaf):
        open_for_price(state, leaf)
    else:
        leaf.refresh_leaf()


def relinquish(state: State, command: Relinquish) -> None:
    leaf = state.forest.by_path[command.leaf]
    reason = EndReason.BUDGET_SPENT if command.budget_spent else EndReason.RELINQUISHED
    _end_at_once(state, leaf, reason)
    open_leaf(state, leaf)


def _end_at_once(state: State, leaf: Node, reason: EndReason) -> None:
    assert leaf.lease is not None
    end_lease(state, leaf, reason, rate_of(leaf, leaf.lease.tenant))


# -- the operator's


def set_floor(state: State, command: SetFloor) -> None:
    node = state.forest.by_path[command.node]
    asked = 0 if command.price is None else command.price
    price = clipped_floor(node, asked, state.now)
    before = node.floor
    state.events.append(FloorSet(state.now, node.path, price, price != asked))
    if price == before:
        return
    node.floor = price
    if node.floor_log is None:
        node.floor_log = PriceLog()
    node.floor_log.record(state.now, state.revision, price, None, price)
    node.reprice(state.now, state.revision)
    if node.is_leaf():
        node.refresh_leaf()
    else:
        node.refresh_asks()
    clear_leaves(state, leases_below_limit(node, price) if price > before else idle_within_reach(node))


def set_controls(state: State, command: SetControls) -> None:
    node = state.forest.by_path[command.node]
    if node.controls is not None:
        state.with_controls.remove(node)
        node.controls = None
    if command.rise is not None or command.fall is not None or command.hold_us is not None or command.flash_us is not None:
        node.controls = _controls_of(state, command)
        state.with_controls.append(node)
    state.events.append(ControlsSet(state.now, node.path, command.rise, command.fall, command.hold_us, command.flash_us))


def _controls_of(state: State, command: SetControls) -> Controls:
    controls = Controls(state.now, state.revision)
    if command.rise is not None:
        controls.rise_ppm = command.rise.fraction_ppm
        controls.rise_interval = command.rise.interval_us
    if command.fall is not None:
        controls.fall_ppm = command.fall.fraction_ppm
        controls.fall_interval = command.fall.interval_us
    controls.hold = 0 if command.hold_us is None else command.hold_us
    controls.flash = 0 if command.flash_us is None else command.flash_us
    return controls


def take_offline(state: State, command: TakeOffline) -> None:
    leaf = state.forest.by_path[command.leaf]
    leaf.online = False
    state.events.append(LeafTakenOffline(state.now, leaf.path))
    if leaf.lease is not None:
        _end_at_once(state, leaf, EndReason.TAKEN_OFFLINE)
    leaf.refresh_leaf()


def bring_online(state: State, command: BringOnline) -> None:
    leaf = state.forest.by_path[command.leaf]
    leaf.online = True
    state.events.append(LeafBroughtOnline(state.now, leaf.path))
    open_leaf(state, leaf)


def close_books(state: State, command: CloseBooks) -> None:
    """Carry what lies before a time forward as plain amounts, and forget the prices it came from (M14)."""
    before = command.before
    for tenant in state.tenants.values():
        _close_leases(state, tenant, before)
        _close_fees(tenant, before)
    oldest = before
    for node in state.with_controls:
        assert node.controls is not None
        oldest = min(oldest, node.controls.oldest_anchor(state.now))
    for node in state.forest.by_path.values():
        if node.log is not None:
            node.log.forget_before(oldest)
        if node.floor_log is not None:
            node.floor_log.forget_before(oldest)
    state.closed_before = before
    state.events.append(BooksClosed(state.now, before))


def _close_leases(state: State, tenant: Tenant, before: int) -> None:
    kept: list[Lease] = []
    for lease in tenant.leases:
        if 0 <= lease.end <= before:
            tenant.carried += charge_until(lease, lease.end)
            del state.leases[lease.id]
            continue
        kept.append(lease)
        if lease.start < before:
            lease.carried = charge_until(lease, before)
            lease.carried_to = before
    tenant.leases = kept


def _close_fees(tenant: Tenant, before: int) -> None:
    standing: list[Fee] = []
    for fee in tenant.fees:
        if fee.end <= before:
            tenant.carried += fee.charge(fee.start, fee.end)
        else:
            standing.append(fee)
    tenant.fees = standing
