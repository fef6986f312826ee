"""Snapshots: the whole state as bytes, and back. The digest is their hash.

A snapshot holds only what commands made. Books, prices, asks and caches are rebuilt from it.
Everything is written in a defined order (by id, name or path), never in that of a hash table, so
equal states give equal bytes under any hash seed.

The checksum detects damage, not forgery.

    magic (8 bytes) | version (2 bytes, big-endian) | sha256 of the body (32 bytes) | MessagePack
"""

from __future__ import annotations

import hashlib
from heapq import heapify

import msgspec

from laissez.market.clearing import rest
from laissez.market.controls import Controls
from laissez.market.errors import SnapshotError
from laissez.market.forest import Forest
from laissez.market.lease import Lease
from laissez.market.node import Node
from laissez.market.order import Order, Resting
from laissez.market.pricelog import PriceLog
from laissez.market.state import State
from laissez.market.tenant import Fee, Tenant
from laissez.market.topology import Topology, TopologyError

MAGIC = b"LAISSEZM"
VERSION = 1
_HEADER = len(MAGIC) + 2 + 32


class _Log(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    times: list[int]
    revisions: list[int]
    prices: list[int]
    by: list[int]  # tenant numbers, 0 for none
    others: list[int]


class _Node(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A node that was ever used; all others are as new."""

    path: str
    floor: int
    online: bool
    floor_log: _Log | None
    log: _Log | None


class _Controls(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    node: str
    set_at: int
    revision: int
    rise_ppm: int
    rise_interval: int
    fall_ppm: int
    fall_interval: int
    hold: int
    flash: int


class _Alternative(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    scope: str
    bid: int
    limit: int
    liable: int
    liable_until: int


class _Order(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    id: int
    tenant: int
    placed_at: int
    sequence: int
    alternatives: list[_Alternative]


class _Lease(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    id: int
    leaf: str
    tenant: int
    order: int
    fence: int
    start: int
    end: int
    limit: int
    start_limit: int
    hold_until: int
    held: bool
    cap_times: list[int] | None
    caps: list[int] | None
    carried: str  # as text: an exact charge outgrows 64 bits
    carried_to: int


class _Fee(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    order: int
    scope: str
    rate: int
    start: int
    end: int


class _Tenant(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Tenants stand in the order of their numbers."""

    name: str
    orders_placed: int
    leases_started: int
    carried: str
    fees: list[_Fee]


class _State(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    leaves: list[str]
    levels: dict[str, list[str]]
    orders_per_tenant_max: int
    now: int
    revision: int
    sequence: int
    fence: int
    closed_before: int
    tenants: list[_Tenant]
    nodes: list[_Node]
    controls: list[_Controls]
    orders: list[_Order]
    leases: list[_Lease]


# -- dump


def dump(state: State) -> bytes:
    body = msgspec.msgpack.encode(_describe(state))
    return MAGIC + VERSION.to_bytes(2, "big") + hashlib.sha256(body).digest() + body


def fingerprint(state: State) -> str:
    return hashlib.sha256(msgspec.msgpack.encode(_describe(state))).hexdigest()


def _describe(state: State) -> _State:
    topology = state.forest.topology
    tenants = sorted(state.tenants.values(), key=lambda tenant: tenant.number)
    return _State(
        leaves=list(topology.leaves),
        levels={
            root: list(topology.level_names(root))
            for root in topology.roots
            if topology.level_names(root)
        },
        orders_per_tenant_max=state.orders_per_tenant_max,
        now=state.now,
        revision=state.revision,
        sequence=state.sequence,
        fence=state.fence,
        closed_before=state.closed_before,
        tenants=[_describe_tenant(tenant) for tenant in tenants],
        nodes=[
            _describe_node(node)
            for path in topology.nodes
            if _is_used(node := state.forest.by_path[path])
        ],
        controls=[
            _describe_controls(node)
            for path in topology.nodes
            if (node := state.forest.by_path[path]).controls is not None
        ],
        orders=[
            _describe_order(tenant.orders[id]) for tenant in tenants for id in sorted(tenant.orders)
        ],
        leases=[
            _describe_lease(tenant.leases[id]) for tenant in tenants for id in sorted(tenant.leases)
        ],
    )


def _is_used(node: Node) -> bool:
    """Whether the node differs from a new one. A log whose only change was undone at once does not
    count."""
    return _has_records(node.log) or _has_records(node.floor_log) or not node.online


def _has_records(log: PriceLog | None) -> bool:
    return log is not None and len(log.times) > 0


def _describe_node(node: Node) -> _Node:
    return _Node(
        node.path, node.floor, node.online, _describe_log(node.floor_log), _describe_log(node.log)
    )


def _describe_log(log: PriceLog | None) -> _Log | None:
    if log is None or not log.times:
        return None
    return _Log(
        log.times,
        log.revisions,
        log.prices,
        [0 if by is None else by.number for by in log.by],
        log.others,
    )


def _describe_controls(node: Node) -> _Controls:
    controls = node.controls
    assert controls is not None
    return _Controls(
        node.path,
        controls.set_at,
        controls.revision,
        controls.rise_ppm,
        controls.rise_interval,
        controls.fall_ppm,
        controls.fall_interval,
        controls.hold,
        controls.flash,
    )


def _describe_order(order: Order) -> _Order:
    resting = [
        _Alternative(one.scope.path, one.bid, one.limit, one.liable, one.liable_until)
        for one in order.alternatives
    ]
    return _Order(order.id, order.tenant.number, order.placed_at, order.sequence, resting)


def _describe_lease(lease: Lease) -> _Lease:
    return _Lease(
        lease.id,
        lease.leaf.path,
        lease.tenant.number,
        lease.order,
        lease.fence,
        lease.start,
        lease.end,
        lease.limit,
        lease.start_limit,
        lease.hold_until,
        lease.held,
        lease.cap_times,
        lease.caps,
        str(lease.carried),
        lease.carried_to,
    )


def _describe_tenant(tenant: Tenant) -> _Tenant:
    fees = [_Fee(fee.order, fee.scope, fee.rate, fee.start, fee.end) for fee in tenant.fees]
    return _Tenant(
        tenant.name, tenant.orders_placed, tenant.leases_started, str(tenant.carried), fees
    )


# -- load


def load(data: bytes) -> State:
    """Rebuild the state. Anything but an intact snapshot of this version raises a `SnapshotError`
    that names the fault."""
    try:
        return _rebuild(msgspec.msgpack.decode(_checked_body(data), type=_State))
    except (msgspec.MsgspecError, TopologyError, LookupError, ValueError) as problem:
        if isinstance(problem, SnapshotError):
            raise
        raise SnapshotError(f"the snapshot does not describe a market: {problem}") from problem


def _checked_body(data: bytes) -> bytes:
    if data[: len(MAGIC)] != MAGIC:
        raise SnapshotError(
            f"expected a market snapshot, which starts with {MAGIC!r}; found {data[: len(MAGIC)]!r}"
        )
    if len(data) < _HEADER:
        raise SnapshotError(
            f"the snapshot is cut off: expected at least {_HEADER} bytes, found {len(data)}"
        )
    version = int.from_bytes(data[len(MAGIC) : len(MAGIC) + 2], "big")
    if version != VERSION:
        raise SnapshotError(
            f"expected snapshot version {VERSION}, found {version}: it was written by another"
            " release"
        )
    body = data[_HEADER:]
    if hashlib.sha256(body).digest() != data[len(MAGIC) + 2 : _HEADER]:
        raise SnapshotError(
            f"the snapshot is damaged: its {len(body)} bytes do not match their checksum"
        )
    return body


def _rebuild(saved: _State) -> State:
    state = State(Forest(Topology.of(saved.leaves, saved.levels)), saved.orders_per_tenant_max)
    state.now = saved.now
    state.revision = saved.revision
    state.sequence = saved.sequence
    state.fence = saved.fence
    state.closed_before = saved.closed_before
    tenants: list[Tenant] = []
    for saved_tenant in saved.tenants:
        tenants.append(_rebuild_tenant(state, saved_tenant))
    for saved_lease in saved.leases:
        _rebuild_lease(state, saved_lease, tenants)
    heapify(state.holds)
    for saved_controls in saved.controls:
        _rebuild_controls(state, saved_controls)
    for saved_node in saved.nodes:
        node = state.forest.by_path[saved_node.path]
        node.floor = saved_node.floor
        node.online = saved_node.online
    for saved_order in saved.orders:
        _rebuild_order(state, saved_order, tenants)
    for order in state.open_orders():
        rest(state, order)
    for saved_node in saved.nodes:
        _rebuild_logs(state.forest.by_path[saved_node.path], saved_node, tenants)
    for root in state.forest.roots:
        _rebuild_asks(root)
    return state


def _rebuild_tenant(state: State, saved: _Tenant) -> Tenant:
    tenant = state.tenant(saved.name)
    tenant.orders_placed = saved.orders_placed
    tenant.leases_started = saved.leases_started
    tenant.carried = int(saved.carried)
    for fee in saved.fees:
        tenant.owes(Fee(fee.order, fee.scope, fee.rate, fee.start, fee.end))
    return tenant


def _numbered(tenants: list[Tenant], number: int) -> Tenant:
    if not 1 <= number <= len(tenants):
        raise SnapshotError(f"the snapshot names tenant {number} of {len(tenants)}")
    return tenants[number - 1]


def _rebuild_lease(state: State, saved: _Lease, tenants: list[Tenant]) -> None:
    leaf = state.forest.by_path[saved.leaf]
    tenant = _numbered(tenants, saved.tenant)
    lease = Lease(
        saved.id,
        leaf,
        tenant,
        saved.order,
        saved.fence,
        saved.start,
        saved.limit,
        saved.hold_until,
    )
    lease.end = saved.end
    lease.start_limit = saved.start_limit
    lease.held = saved.held
    lease.cap_times = saved.cap_times
    lease.caps = saved.caps
    lease.carried = lease.settled = int(saved.carried)
    lease.carried_to = lease.settled_to = saved.carried_to
    tenant.leases[lease.id] = lease
    tenant.filled[lease.order] = lease
    if lease.end < 0:
        leaf.lease = lease
        tenant.gains(leaf.first_leaf)
    else:
        tenant.unsettled.append(lease)
    if lease.held:
        state.holds.append((lease.hold_until, lease.fence, lease))


def _rebuild_controls(state: State, saved: _Controls) -> None:
    node = state.forest.by_path[saved.node]
    controls = Controls(saved.set_at, saved.revision)
    controls.rise_ppm = saved.rise_ppm
    controls.rise_interval = saved.rise_interval
    controls.fall_ppm = saved.fall_ppm
    controls.fall_interval = saved.fall_interval
    controls.hold = saved.hold
    controls.flash = saved.flash
    node.controls = controls
    state.with_controls.append(node)


def _rebuild_order(state: State, saved: _Order, tenants: list[Tenant]) -> None:
    tenant = _numbered(tenants, saved.tenant)
    order = Order(saved.id, tenant, saved.placed_at, saved.sequence)
    order.alternatives = tuple(
        [_rebuild_alternative(state, order, one) for one in saved.alternatives]
    )
    tenant.orders[order.id] = order


def _rebuild_alternative(state: State, order: Order, saved: _Alternative) -> Resting:
    resting = Resting(order, state.forest.by_path[saved.scope], saved.bid, saved.limit)
    resting.liable = saved.liable
    resting.liable_until = saved.liable_until
    return resting


def _rebuild_logs(node: Node, saved: _Node, tenants: list[Tenant]) -> None:
    node.reprice(0, 0)
    node.floor_log = _rebuild_log(saved.floor_log, tenants)
    node.log = _rebuild_log(saved.log, tenants)


def _rebuild_log(saved: _Log | None, tenants: list[Tenant]) -> PriceLog | None:
    if saved is None:
        return None
    log = PriceLog()
    log.times = saved.times
    log.revisions = saved.revisions
    log.prices = saved.prices
    log.by = [None if number == 0 else _numbered(tenants, number) for number in saved.by]
    log.others = saved.others
    log.sum_up_again()
    return log


def _rebuild_asks(node: Node) -> None:
    if node.children is None:
        node.refresh_leaf()
        return
    for child in node.children:
        _rebuild_asks(child)
    node.gather_asks()
