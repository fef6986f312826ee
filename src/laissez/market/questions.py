"""Read-only questions. They may cache how far a charge is computed, but change no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from laissez.market.answers import (
    Bill,
    ControlsView,
    FeeLine,
    FloorView,
    LeaseLine,
    LeaseView,
    OrderView,
    PriceSegment,
    RateSegment,
    TenantCounts,
)
from laissez.market.backwards import newest_pieces
from laissez.market.charges import charge_between, charge_of_ended, charge_until
from laissez.market.commands import Alternative, Band
from laissez.market.errors import (
    BooksAreClosed,
    EmptyPeriod,
    TimeNotReached,
    UnknownLease,
    UnknownNode,
    UnknownScope,
)
from laissez.market.field_types import is_whole
from laissez.market.node import NEVER

if TYPE_CHECKING:
    from laissez.market.controls import Controls
    from laissez.market.lease import Lease
    from laissez.market.node import Node
    from laissez.market.order import Order
    from laissez.market.state import State
    from laissez.market.tenant import Tenant

# Changes of price that one question reads, because most of them may lie below a rate that never
# changes: per segment of a lease's history, and for one history of a standing rate.
CHANGES_PER_SEGMENT: Final = 4
CHANGES_MAX: Final = 30_000


def find_node(state: State, path: str) -> Node:
    node = state.forest.by_path.get(path)
    if node is None:
        raise UnknownNode(path, "node")
    return node


def find_leaf(state: State, path: str) -> Node:
    node = state.forest.by_path.get(path)
    if node is None or not node.is_leaf():
        raise UnknownNode(path, "leaf")
    return node


def quote(state: State, name: str | None, path: str) -> int | None:
    """The quote (M11) for the operator (`None`), or within a tenant's pricing domain (M12)."""
    scope = state.forest.by_path.get(path)
    if scope is None:
        raise UnknownScope(path)
    tenant: Tenant | None = None
    if name is not None:
        tenant = state.tenants.get(name)
        if scope.above is not None and (
            tenant is None or not tenant.owns_between(scope.first_leaf, scope.last_leaf)
        ):
            raise UnknownScope(path)
    price = min(scope.lowest_idle_ask(), scope.ask_for(tenant) + 1)
    return price if price < NEVER else None


def pricing_domain(state: State, name: str) -> tuple[str, ...]:
    """Every node whose quotes a tenant may see (M12), in path order."""
    inside: dict[str, None] = {}
    for root in state.forest.roots:
        inside[root.path] = None
    tenant = state.tenants.get(name)
    for position in tenant.holding if tenant is not None else ():
        node: Node | None = state.forest.leaves[position]
        while node is not None and node.path not in inside:
            inside[node.path] = None
            node = node.above
    return tuple(sorted(inside, key=_path_order))


def _path_order(path: str) -> list[str]:
    return path.split("/")


def orders(state: State, name: str | None) -> tuple[OrderView, ...]:
    if name is None:
        return tuple([_order_view(order) for order in state.open_orders()])
    tenant = state.tenants.get(name)
    return (
        tuple([_order_view(order) for order in tenant.orders.values()])
        if tenant is not None
        else ()
    )


def order(state: State, name: str, id: int) -> OrderView | None:
    tenant = state.tenants.get(name)
    found = tenant.orders.get(id) if tenant is not None else None
    return None if found is None else _order_view(found)


def lease_won(state: State, name: str, order: int) -> int | None:
    tenant = state.tenants.get(name)
    lease = tenant.filled.get(order) if tenant is not None else None
    return None if lease is None else lease.id


def counts(state: State, name: str) -> TenantCounts:
    tenant = state.tenants.get(name)
    if tenant is None:
        return TenantCounts(0, 0, 0, 0)
    return TenantCounts(
        tenant.orders_placed, len(tenant.orders), tenant.leases_started, len(tenant.holding)
    )


def _order_view(order: Order) -> OrderView:
    alternatives = [
        Alternative(resting.scope.path, resting.bid, resting.limit)
        for resting in order.alternatives
    ]
    return OrderView(
        order.id, order.tenant.name, order.placed_at, order.sequence, tuple(alternatives)
    )


def leases(state: State, name: str | None) -> tuple[LeaseView, ...]:
    live: list[Lease] = []
    if name is None:
        live = [leaf.lease for leaf in state.forest.leaves if leaf.lease is not None]
    else:
        tenant = state.tenants.get(name)
        for position in tenant.holding if tenant is not None else ():
            lease = state.forest.leaves[position].lease
            assert lease is not None
            live.append(lease)
    return tuple([lease_view(lease) for lease in sorted(live, key=_fence)])


def _fence(lease: Lease) -> int:
    return lease.fence


def lease(state: State, name: str, id: int) -> LeaseView | None:
    found = _find_lease(state, name, id)
    return None if found is None else lease_view(found)


def lease_view(lease: Lease) -> LeaseView:
    rate = lease.leaf.rate(lease.tenant) if lease.end < 0 else 0
    return LeaseView(
        lease.id,
        lease.tenant.name,
        lease.leaf.path,
        lease.order,
        lease.fence,
        lease.start,
        lease.end if lease.end >= 0 else None,
        None if lease.limit == NEVER else lease.limit,
        lease.hold_until if lease.hold_until >= 0 else None,
        rate,
        min(rate, lease.cap()),
    )


def floors(state: State) -> tuple[FloorView, ...]:
    return tuple(
        [
            FloorView(node.path, node.floor, node.highest_floor())
            for node in state.forest.by_path.values()
            if node.floor > 0
        ]
    )


def controls(state: State) -> tuple[ControlsView, ...]:
    return tuple(
        [
            controls_view(node.path, node.controls)
            for node in state.forest.by_path.values()
            if node.controls is not None
        ]
    )


def controls_view(path: str, controls: Controls) -> ControlsView:
    rise = Band(controls.rise_ppm, controls.rise_interval) if controls.rise_interval else None
    fall = Band(controls.fall_ppm, controls.fall_interval) if controls.fall_interval else None
    return ControlsView(path, rise, fall, controls.hold or None, controls.flash or None)


def fees(state: State, name: str) -> tuple[FeeLine, ...]:
    """Fees in full: also the part that is yet to accrue, and a fee that begins at this instant,
    which no bill shows."""
    tenant = state.tenants.get(name)
    if tenant is None:
        return ()
    return tuple(
        [
            FeeLine(
                fee.order, fee.scope, fee.rate, fee.start, fee.end, fee.charge(fee.start, fee.end)
            )
            for fee in tenant.fees
        ]
    )


def bill(state: State, name: str, since: Any, until: Any) -> Bill:
    """A tenant's charges for a period, or for everything until now."""
    if (since is not None and not is_whole(since)) or (until is not None and not is_whole(until)):
        raise TypeError(
            f"expected whole microseconds for the period of a bill, found {since!r} and {until!r}"
        )
    start: int = 0 if since is None else since
    end: int = state.now if until is None else until
    if start < 0:
        raise EmptyPeriod(start, end)
    if end > state.now:
        raise TimeNotReached(end, state.now)
    if start > end:
        raise EmptyPeriod(start, end)
    if start < state.closed_before and (since is not None or end < state.closed_before):
        raise BooksAreClosed(start if since is not None else end, state.closed_before)
    tenant = state.tenants.get(name)
    if tenant is None:
        return Bill(name, start, end, (), (), 0, 0)
    charge_of_ended(tenant)
    lease_lines = [
        _lease_line(lease, start, end)
        for lease in tenant.leases.values()
        if lease.start < end and (lease.end < 0 or lease.end > start)
    ]
    fee_lines = [
        FeeLine(fee.order, fee.scope, fee.rate, fee.start, fee.end, fee.charge(start, end))
        for fee in tenant.fees
        if fee.start < end and fee.end > start
    ]
    carried = tenant.carried if since is None else 0
    total = carried
    for lease_line in lease_lines:
        total += lease_line.charge
    for fee_line in fee_lines:
        total += fee_line.charge
    return Bill(name, start, end, tuple(lease_lines), tuple(fee_lines), carried, total)


def bill_lines(state: State, name: str) -> int:
    tenant = state.tenants.get(name)
    return 0 if tenant is None else len(tenant.leases) + len(tenant.fees)


def _lease_line(lease: Lease, since: int, until: int) -> LeaseLine:
    charge = charge_between(lease, since, until)
    return LeaseLine(
        lease.id, lease.leaf.path, lease.start, lease.end if lease.end >= 0 else None, charge
    )


def settle(state: State, name: str, id: int) -> None:
    lease = _find_lease(state, name, id)
    if lease is not None:
        charge_until(lease, state.now)


def to_settle(state: State, name: str) -> tuple[int, ...]:
    tenant = state.tenants.get(name)
    if tenant is None:
        return ()
    found = [lease.id for lease in tenant.unsettled]
    for position in tenant.holding:
        lease = state.forest.leaves[position].lease
        assert lease is not None
        found.append(lease.id)
    return tuple(found)


def charge(state: State, name: str, id: int) -> int:
    return charge_until(_on_the_books(state, name, id), state.now)


def _find_lease(state: State, name: str, id: int) -> Lease | None:
    tenant = state.tenants.get(name)
    return None if tenant is None else tenant.leases.get(id)


def _on_the_books(state: State, name: str, id: int) -> Lease:
    lease = _find_lease(state, name, id)
    if lease is None:
        raise UnknownLease(name, id)
    return lease


def revenue(state: State) -> int:
    """The charges of all tenants, added up over leases and not over bills, so that the two can be
    compared."""
    total = 0
    for tenant in state.tenants.values():
        total += tenant.carried
        for lease in tenant.leases.values():
            total += charge_until(lease, state.now)
        for fee in tenant.fees:
            total += fee.charge(0, state.now)
    return total


def price_history(state: State, name: str, id: int, segments_max: int) -> tuple[PriceSegment, ...]:
    """The rates that a lease was charged from its start to its end or now: the newest pieces, and
    one without a rate for all before them."""
    lease = _on_the_books(state, name, id)
    until = lease.last_moment(state.now)
    pieces = newest_pieces(
        lease.leaf, lease, lease.carried_to, until, segments_max, segments_max * CHANGES_PER_SEGMENT
    )
    newest = [PriceSegment(start, end, rate, (end - start) * rate) for start, end, rate in pieces]
    begin = newest[0].start if newest else until
    if begin == lease.start:
        return tuple(newest)
    before = charge_until(lease, until)
    for segment in newest:
        before -= segment.charge
    return (PriceSegment(lease.start, begin, None, before), *newest)


def standing_rates(
    state: State, path: str, since: int, segments_max: int
) -> tuple[RateSegment, ...]:
    """The newest `segments_max` pieces of constant standing rate within `[since, now)`, oldest
    first. They begin later than `since` if there are more, if the books are closed, or if very many
    changes did not show."""
    begin = max(since, state.closed_before)
    pieces = newest_pieces(
        find_node(state, path), None, begin, state.now, segments_max, CHANGES_MAX
    )
    return tuple([RateSegment(start, end, rate) for start, end, rate in pieces])
