"""The effects of each command, once its guards have passed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from laissez.market.clearing import (
    change_hands,
    clear_leaves,
    clear_order,
    end_lease,
    idle_within_reach,
    is_unstable,
    leases_below_limit,
    open_leaf,
    rest,
    withdraw,
)
from laissez.market.commands import (
    Alternative,
    AmendOrder,
    BringOnline,
    CancelOrder,
    PlaceOrder,
    Relinquish,
    SetControls,
    SetFloor,
    SetLimit,
    TakeOffline,
)
from laissez.market.controls import Controls, clipped_bid, clipped_floor
from laissez.market.events import (
    ControlsSet,
    FloorSet,
    LeafBroughtOnline,
    LeafTakenOffline,
    LimitSet,
    OrderAmended,
    OrderCancelled,
    OrderPlaced,
)
from laissez.market.fees import amend_liabilities, become_liable, charge_fee
from laissez.market.node import NEVER
from laissez.market.order import Order, Resting
from laissez.market.pricelog import PriceLog
from laissez.market.reasons import EndReason

if TYPE_CHECKING:
    from laissez.market.node import Node
    from laissez.market.state import State

# Looking up a member of an enum costs as much as a walk up the tree.
RELINQUISHED: Final = EndReason.RELINQUISHED
BUDGET_SPENT: Final = EndReason.BUDGET_SPENT


def place(state: State, command: PlaceOrder) -> None:
    tenant = state.tenant(command.tenant)
    tenant.orders_placed += 1
    id = tenant.orders_placed
    order = Order(id, tenant, state.now, state.next_sequence())
    alternatives, clipped = _alternatives_in_force(state, order, command.alternatives)
    if state.with_controls:
        for resting in order.alternatives:
            become_liable(state, resting)
    tenant.orders[id] = order
    state.events.append(OrderPlaced(state.now, command.tenant, id, alternatives, clipped))
    rest(state, order)
    clear_order(state, order)


def amend(state: State, command: AmendOrder) -> None:
    order = state.tenants[command.tenant].orders[command.order]
    before = order.alternatives
    withdraw(state, order)
    order.sequence = state.next_sequence()
    alternatives, clipped = _alternatives_in_force(state, order, command.alternatives)
    state.events.append(OrderAmended(state.now, command.tenant, order.id, alternatives, clipped))
    amend_liabilities(state, before, order.alternatives)
    rest(state, order)
    clear_order(state, order)


def cancel(state: State, command: CancelOrder) -> None:
    order = state.tenants[command.tenant].orders.pop(command.order)
    withdraw(state, order)
    state.events.append(OrderCancelled(state.now, command.tenant, order.id))
    for resting in order.alternatives:
        charge_fee(state, resting, resting.liable)
    order.close()


def _alternatives_in_force(
    state: State, order: Order, asked: tuple[Alternative, ...]
) -> tuple[tuple[Alternative, ...], bool]:
    """Give an order its alternatives, clipped by rise bands (M15). Returns those in force, and
    whether any was clipped."""
    by_path = state.forest.by_path
    order.alternatives = tuple(
        [
            Resting(order, by_path[alternative.scope], alternative.bid, alternative.limit)
            for alternative in asked
        ]
    )
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
    return tuple(
        [
            Alternative(resting.scope.path, resting.bid, resting.limit)
            for resting in order.alternatives
        ]
    ), True


# -- leases


def set_limit(state: State, command: SetLimit) -> None:
    lease = state.tenants[command.tenant].leases[command.lease]
    leaf = lease.leaf
    lease.set_limit(NEVER if command.limit is None else command.limit, state.now)
    state.events.append(LimitSet(state.now, command.tenant, lease.id, leaf.path, command.limit))
    if is_unstable(leaf):
        change_hands(state, leaf)
    else:
        leaf.refresh_leaf()


def relinquish(state: State, command: Relinquish) -> None:
    leaf = state.tenants[command.tenant].leases[command.lease].leaf
    _end_at_once(state, leaf, BUDGET_SPENT if command.budget_spent else RELINQUISHED)
    open_leaf(state, leaf)


def _end_at_once(state: State, leaf: Node, reason: EndReason) -> None:
    assert leaf.lease is not None
    end_lease(state, leaf, reason, leaf.rate(leaf.lease.tenant))


# -- the operator's commands


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
    clear_leaves(
        state, leases_below_limit(node, price) if price > before else idle_within_reach(node)
    )


def set_controls(state: State, command: SetControls) -> None:
    node = state.forest.by_path[command.node]
    if node.controls is not None:
        state.with_controls.remove(node)
        node.controls = None
    if (
        command.rise is not None
        or command.fall is not None
        or command.hold_us is not None
        or command.flash_us is not None
    ):
        node.controls = _controls_of(state, command)
        state.with_controls.append(node)
    state.events.append(
        ControlsSet(
            state.now, node.path, command.rise, command.fall, command.hold_us, command.flash_us
        )
    )


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
