"""Guards: the reasons to refuse a command, checked in the order that the specification gives. No
command takes effect before its last guard has passed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from laissez.market.commands import (
    ALTERNATIVES_MAX,
    DURATION_MAX_US,
    FRACTION_MAX_PPM,
    PRICE_MAX,
    SHOWN_MAX,
    TENANT_NAME_MAX,
    TENANTS_MAX,
    AdvanceTime,
    Alternative,
    AmendOrder,
    Band,
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
from laissez.market.events import Refused
from laissez.market.reasons import Reason

if TYPE_CHECKING:
    from laissez.market.state import State

OPERATOR: Final = "operator"


def refuse(
    state: State,
    sender: Any,
    reason: Reason,
    subject: str,
    found: int | None = None,
    bound: int | None = None,
) -> Refused:
    """Repeats what the sender gave only as far as it can be shown."""
    return Refused(
        state.now,
        sender if _is_tenant_name(sender) else None,
        reason,
        _shown(subject),
        found,
        bound,
    )


def _shown(text: str) -> str:
    return text[:SHOWN_MAX].encode("utf-8", "replace").decode()


def _is_tenant_name(name: Any) -> bool:
    if type(name) is not str or not name or len(name) > TENANT_NAME_MAX or name == OPERATOR:
        return False
    for character in name:
        code = ord(character)
        # control characters and surrogates
        if code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000:
            return False
    return True


def _why_not_tenant(state: State, name: str) -> Refused | None:
    if name in state.tenants or _is_tenant_name(name):
        return None
    return refuse(state, name, Reason.TENANT_INVALID, name)


def why_not_place(state: State, command: PlaceOrder) -> Refused | None:
    refused = _why_not_tenant(state, command.tenant)
    if refused is None:
        refused = _why_not_alternatives(state, command.tenant, command.alternatives)
    if refused is not None:
        return refused
    tenant = state.tenants.get(command.tenant)
    open_orders = 0 if tenant is None else len(tenant.orders)
    if open_orders >= state.orders_per_tenant_max:
        return refuse(
            state,
            command.tenant,
            Reason.TOO_MANY_ORDERS,
            command.tenant,
            open_orders,
            state.orders_per_tenant_max,
        )
    if tenant is None and len(state.tenants) >= TENANTS_MAX:
        return refuse(
            state,
            command.tenant,
            Reason.TOO_MANY_TENANTS,
            command.tenant,
            len(state.tenants),
            TENANTS_MAX,
        )
    return None


def why_not_amend(state: State, command: AmendOrder) -> Refused | None:
    refused = _why_not_order(state, command.tenant, command.order)
    if refused is not None:
        return refused
    return _why_not_alternatives(state, command.tenant, command.alternatives)


def why_not_cancel(state: State, command: CancelOrder) -> Refused | None:
    return _why_not_order(state, command.tenant, command.order)


def _why_not_order(state: State, name: str, id: int) -> Refused | None:
    """Order numbers are the tenant's own, so it cannot even name another tenant's order (M12)."""
    tenant = state.tenants.get(name)
    if tenant is None:
        refused = _why_not_tenant(state, name)
        return (
            refused if refused is not None else refuse(state, name, Reason.NOT_YOUR_ORDER, str(id))
        )
    if id in tenant.orders:
        return None
    lease = tenant.filled.get(id)
    if lease is not None:
        return refuse(state, name, Reason.ALREADY_FILLED, lease.leaf.path)
    return refuse(state, name, Reason.NOT_YOUR_ORDER, str(id))


def _why_not_alternatives(
    state: State, name: str, alternatives: tuple[Alternative, ...]
) -> Refused | None:
    count = len(alternatives)
    if count == 0 or count > ALTERNATIVES_MAX:
        return refuse(
            state, name, Reason.ALTERNATIVES_COUNT, "alternatives", count, ALTERNATIVES_MAX
        )
    seen: list[str] = []
    for alternative in alternatives:
        scope = alternative.scope
        if scope not in state.forest.by_path:
            return refuse(state, name, Reason.SCOPE_UNKNOWN, scope)
        if scope in seen:
            return refuse(state, name, Reason.SCOPE_REPEATED, scope)
        seen.append(scope)
        bid = alternative.bid
        limit = alternative.limit
        if bid < 0 or bid > PRICE_MAX:
            return refuse(state, name, Reason.PRICE_OUT_OF_RANGE, scope, bid, PRICE_MAX)
        if limit < 0 or limit > PRICE_MAX:
            return refuse(state, name, Reason.PRICE_OUT_OF_RANGE, scope, limit, PRICE_MAX)
        if limit < bid:
            return refuse(state, name, Reason.LIMIT_BELOW_BID, scope, limit, bid)
    return None


def why_not_relinquish(state: State, command: Relinquish) -> Refused | None:
    return _why_not_lease(state, command.tenant, command.lease)


def _why_not_lease(state: State, name: str, id: int) -> Refused | None:
    """A lease that has ended and one that never existed get the same answer."""
    tenant = state.tenants.get(name)
    if tenant is not None and tenant.live_lease(id) is not None:
        return None
    refused = _why_not_tenant(state, name)
    return refused if refused is not None else refuse(state, name, Reason.NOT_YOUR_LEASE, str(id))


def why_not_limit(state: State, command: SetLimit) -> Refused | None:
    refused = _why_not_lease(state, command.tenant, command.lease)
    if refused is not None:
        return refused
    limit = command.limit
    if limit is not None and (limit < 0 or limit > PRICE_MAX):
        leaf = state.tenants[command.tenant].leases[command.lease].leaf
        return refuse(state, command.tenant, Reason.PRICE_OUT_OF_RANGE, leaf.path, limit, PRICE_MAX)
    return None


def why_not_floor(state: State, command: SetFloor) -> Refused | None:
    if command.node not in state.forest.by_path:
        return refuse(state, None, Reason.SCOPE_UNKNOWN, command.node)
    price = command.price
    if price is not None and (price < 0 or price > PRICE_MAX):
        return refuse(state, None, Reason.PRICE_OUT_OF_RANGE, command.node, price, PRICE_MAX)
    return None


def why_not_controls(state: State, command: SetControls) -> Refused | None:
    if command.node not in state.forest.by_path:
        return refuse(state, None, Reason.SCOPE_UNKNOWN, command.node)
    refused = _why_not_band(state, "rise", command.rise)
    if refused is None:
        refused = _why_not_band(state, "fall", command.fall)
    if refused is None:
        refused = _why_not_duration(state, "hold_us", command.hold_us)
    if refused is None:
        refused = _why_not_duration(state, "flash_us", command.flash_us)
    return refused


def _why_not_band(state: State, kind: str, band: Band | None) -> Refused | None:
    if band is None:
        return None
    if band.fraction_ppm < 0 or band.fraction_ppm > FRACTION_MAX_PPM:
        return refuse(
            state, None, Reason.CONTROLS_INVALID, kind, band.fraction_ppm, FRACTION_MAX_PPM
        )
    return _why_not_duration(state, kind, band.interval_us)


def _why_not_duration(state: State, kind: str, duration: int | None) -> Refused | None:
    if duration is not None and (duration < 1 or duration > DURATION_MAX_US):
        return refuse(state, None, Reason.CONTROLS_INVALID, kind, duration, DURATION_MAX_US)
    return None


def why_not_offline(state: State, command: TakeOffline) -> Refused | None:
    return _why_not_switch(state, command.leaf, False)


def why_not_online(state: State, command: BringOnline) -> Refused | None:
    return _why_not_switch(state, command.leaf, True)


def _why_not_switch(state: State, leaf: str, to_online: bool) -> Refused | None:
    node = state.forest.by_path.get(leaf)
    if node is None:
        return refuse(state, None, Reason.SCOPE_UNKNOWN, leaf)
    if not node.is_leaf():
        return refuse(state, None, Reason.NOT_A_LEAF, leaf)
    if node.online == to_online:
        return refuse(
            state, None, Reason.ALREADY_ONLINE if to_online else Reason.ALREADY_OFFLINE, leaf
        )
    return None


def never_refused(_state: State, _command: AdvanceTime) -> Refused | None:
    return None


def why_not_close(state: State, command: CloseBooks) -> Refused | None:
    if command.before > state.now:
        return refuse(state, None, Reason.BOOKS_CLOSED, "before", command.before, state.now)
    if command.before < state.closed_before:
        return refuse(
            state, None, Reason.BOOKS_CLOSED, "before", command.before, state.closed_before
        )
    return None
