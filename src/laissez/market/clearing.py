"""Clearing: how leaves change hands (M7 to M9, M17).

How it works. The market is stable after every command: no owner is pressed beyond its limit, and no
idle leaf is covered by a resting order that would take it (M7). A command can upset this only near
what it touches. A new or amended order takes the best deal it can get (`clear_order`). A floor, a
limit, the end of a hold or a leaf given up concerns a list of leaves, and the unstable ones among
them open (`clear_leaves`). An open leaf goes to the highest limit that covers it, or becomes idle
(`open_leaf`).

Why one pass is enough. Opening a leaf can upset no other leaf. An order that wins leaves all books
at once, so prices elsewhere only fall: no lease comes under pressure. The winner has the highest
limit of all orders that cover the leaf, and no bid exceeds its own limit: so no bid presses the
winner beyond its limit. The list of leaves is therefore made once. Each leaf is examined again when
its turn comes, because the order that would have taken it may be filled by then.

Why it ends. Each step fills an order or leaves a leaf without a taker. Orders are finite, and a
leaf that no order takes is not opened again in the same command.

What must never happen: a second lease on a leaf; a filled order that still rests in a book; a lease
that starts with a rate above its limit. Assertions say so, and stay on in production.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from laissez.market.controls import hold_of
from laissez.market.events import LeaseEnded, LeaseStarted
from laissez.market.lease import Lease
from laissez.market.node import NEVER
from laissez.market.reasons import EndReason

if TYPE_CHECKING:
    from laissez.market.node import Node
    from laissez.market.order import Order, Resting
    from laissez.market.state import State


def winner_of(leaf: Node) -> Resting | None:
    """The alternative that takes a leaf which opens: the highest limit, then the deepest scope,
    then the earliest order (M8)."""
    best: Resting | None = None
    floor = 0
    node: Node | None = leaf
    while node is not None:  # from the leaf up, so that on a tie the deeper scope stays
        floor = max(floor, node.floor)
        first = node.first_in_line()
        if first is not None and (best is None or first.limit > best.limit):
            best = first
        node = node.above
    return best if best is not None and best.limit >= floor else None


# -- orders in and out of the books


def rest(state: State, order: Order) -> None:
    """Put every alternative of an order into the book of its scope."""
    for resting in order.alternatives:
        scope = resting.scope
        scope.own_book().add(resting)
        _count_below(scope, 1)
        if resting.bid > scope.price_other:  # below that a bid makes no price
            scope.reprice(state.now, state.revision)


def withdraw(state: State, order: Order) -> None:
    """Take every alternative of an order out of its book, all at once (M2)."""
    for resting in order.alternatives:
        scope = resting.scope
        scope.own_book().remove(resting)
        _count_below(scope, -1)
        if resting.bid >= scope.price_other:
            scope.reprice(state.now, state.revision)


def _count_below(scope: Node, change: int) -> None:
    node: Node | None = scope
    while node is not None:
        node.resting_below += change
        node = node.parent


# -- leases


def end_lease(state: State, leaf: Node, reason: EndReason, rate: int) -> None:
    lease = leaf.lease
    assert lease is not None, f"{leaf.path} has no lease to end"
    lease.end = state.now
    lease.held = False
    leaf.lease = None
    lease.tenant.loses(leaf.first_leaf)
    lease.tenant.unsettled.append(lease)
    limit = None if lease.limit == NEVER else lease.limit
    state.events.append(
        LeaseEnded(state.now, lease.tenant.name, lease.id, leaf.path, reason, rate, limit)
    )


def _start_lease(state: State, leaf: Node, won: Resting) -> None:
    assert leaf.lease is None, f"{leaf.path} is leased already"
    order = won.order
    tenant = order.tenant
    withdraw(state, order)
    order.close()
    del tenant.orders[order.id]
    tenant.leases_started += 1
    state.fence += 1
    hold = hold_of(leaf) if state.with_controls else 0
    hold_until = state.now + hold if hold else -1
    lease = Lease(
        tenant.leases_started,
        leaf,
        tenant,
        order.id,
        state.fence,
        state.now,
        won.limit,
        hold_until,
    )
    leaf.lease = lease
    tenant.gains(leaf.first_leaf)
    tenant.leases[lease.id] = lease
    tenant.filled[order.id] = lease
    if hold:
        heappush(state.holds, (hold_until, lease.fence, lease))
    until = hold_until if hold else None
    rate = leaf.rate(tenant)
    assert rate <= won.limit, f"a lease of {leaf.path} begins above its limit"
    state.events.append(
        LeaseStarted(state.now, tenant.name, lease.id, leaf.path, order.id, rate, won.limit, until)
    )


def open_leaf(state: State, leaf: Node) -> None:
    """Give a leaf without a lease to its winner; without a winner it is idle (M8)."""
    won = winner_of(leaf)
    if won is not None:
        _start_lease(state, leaf, won)
    leaf.refresh_leaf()


def change_hands(state: State, leaf: Node) -> None:
    """Open a leaf. A lease on it ends first, because a price exceeds the owner's limit; the event
    says which price (M13)."""
    lease = leaf.lease
    if lease is not None:
        rate = leaf.rate(lease.tenant)
        reason = EndReason.FLOOR_RAISED if leaf.highest_floor() >= rate else EndReason.OUTBID
        end_lease(state, leaf, reason, rate)
    open_leaf(state, leaf)


# -- clearing


def is_unstable(leaf: Node) -> bool:
    """Whether one leaf violates M7."""
    lease = leaf.lease
    if lease is None:
        return leaf.online and winner_of(leaf) is not None
    return not lease.held and leaf.rate(lease.tenant) > lease.limit


def clear_order(state: State, order: Order) -> None:
    """After *place* and *amend*: the order takes the best deal it can get (M9)."""
    steps_left = state.sequence + len(state.forest.leaves)
    while order.id in order.tenant.orders:
        leaf = _best_deal(order)
        if leaf is None:
            return
        assert steps_left > 0, (
            "clearing must end within as many steps as there are orders and leaves"
        )
        steps_left -= 1
        change_hands(state, leaf)


def _best_deal(order: Order) -> Node | None:
    """The leaf with the largest surplus that the order can take; on a tie an idle one, then the
    first in path order."""
    best: Node | None = None
    best_surplus = -1
    best_leased = False
    for resting in order.alternatives:
        scope = resting.scope
        ask = scope.lowest_idle_ask()
        if ask <= resting.limit:
            surplus = resting.limit - ask
            if surplus > best_surplus or (
                surplus == best_surplus and (best_leased or _comes_first(scope, best))
            ):
                leaf = scope.first_idle(ask)
                if surplus > best_surplus or best_leased or _comes_first(leaf, best):
                    best, best_surplus, best_leased = leaf, surplus, False
        ask = scope.ask_for(order.tenant)
        if ask < resting.bid:
            surplus = resting.limit - ask
            if surplus > best_surplus or (
                surplus == best_surplus and best_leased and _comes_first(scope, best)
            ):
                leaf = scope.first_leased(ask, order.tenant)
                if surplus > best_surplus or _comes_first(leaf, best):
                    best, best_surplus, best_leased = leaf, surplus, True
    return best


def _comes_first(node: Node, best: Node | None) -> bool:
    """Whether a leaf below `node`, or `node` itself, may come before `best` in path order."""
    return best is None or node.first_leaf < best.first_leaf


def clear_leaves(state: State, leaves: list[Node]) -> None:
    """After any other command: open the unstable ones among `leaves` one by one, lowest ask first,
    idle before leased, then in path order (M9)."""
    asks: list[tuple[int, int, int]] = []
    for leaf in leaves:
        if leaf.lease is None:
            asks.append((leaf.highest_floor(), 0, leaf.first_leaf))
        else:
            asks.append((leaf.lease.limit, 1, leaf.first_leaf))
    asks.sort()
    for _, _, position in asks:
        leaf = state.forest.leaves[position]
        if is_unstable(leaf):
            change_hands(state, leaf)


def leases_below_limit(scope: Node, floor: int) -> list[Node]:
    """The leaves below a scope whose lease can be taken and has a limit below `floor`."""
    found: list[Node] = []
    waiting = [scope]
    while waiting:
        node = waiting.pop()
        if node.lease_ask >= floor:
            continue
        if node.children is None:
            found.append(node)
        else:
            waiting.extend(node.children)
    return found


def idle_within_reach(scope: Node) -> list[Node]:
    """The idle online leaves below a scope that some resting alternative can take.

    Walks down with the highest limit and floor so far, and only into subtrees where a limit reaches
    the lowest ask or where more orders rest.
    """
    limit, floor = (
        (-1, 0)
        if scope.above is None
        else (scope.above.highest_limit(), scope.above.highest_floor())
    )
    found: list[Node] = []
    waiting = [(scope, limit, floor)]
    while waiting:
        node, limit, floor = waiting.pop()
        if node.idle_ask == NEVER:
            continue
        floor = max(floor, node.floor)
        first = node.first_in_line()
        if first is not None:
            limit = max(limit, first.limit)
        if node.children is None:
            if limit >= floor:
                found.append(node)
            continue
        reached = limit >= max(floor, node.idle_ask)
        if reached or node.resting_below > (node.book.count if node.book is not None else 0):
            waiting.extend((child, limit, floor) for child in node.children)
    return found


def end_holds(state: State, until: int) -> None:
    """End the holds that end by `until`, in order of time, and clear at the end of each (M17)."""
    holds = state.holds
    while holds and holds[0][0] <= until:
        at = holds[0][0]
        released: list[Node] = []
        while holds and holds[0][0] == at:
            lease = heappop(holds)[2]
            if lease.end < 0:
                lease.held = False
                lease.leaf.refresh_leaf()
                released.append(lease.leaf)
        if released:
            state.now = at
            state.revision += 1
            clear_leaves(state, released)
