"""Why a command is not allowed: every guard, in the order the specification gives, and no effect before the last one has passed.

The first functions look at the shape of a command. Python checks no types at run time, and a float that slipped into a price would stay there; so the
fields are looked at as what they are, not as what they are declared to be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from laissez.market.commands import (
    ALTERNATIVES_MAX,
    DURATION_MAX_US,
    FRACTION_MAX_PPM,
    NAME_MAX,
    PRICE_MAX,
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


# -- shape: the name of the first field with the wrong type, or "" if all is well


def misshapen_place(command: Any) -> str:
    if type(command.tenant) is not str:
        return "tenant"
    return _misshapen_alternatives(command.alternatives)


def misshapen_amend(command: Any) -> str:
    if type(command.tenant) is not str:
        return "tenant"
    if type(command.order) is not int:
        return "order"
    return _misshapen_alternatives(command.alternatives)


def _misshapen_alternatives(alternatives: Any) -> str:
    if type(alternatives) is not tuple:
        return "alternatives"
    for alternative in alternatives:
        if not _is_a(alternative, Alternative):
            return "alternatives"
        if type(alternative.scope) is not str:
            return "scope"
        if type(alternative.bid) is not int:
            return "bid"
        if type(alternative.limit) is not int:
            return "limit"
    return ""


def misshapen_cancel(command: Any) -> str:
    if type(command.tenant) is not str:
        return "tenant"
    return "" if type(command.order) is int else "order"


def misshapen_limit(command: Any) -> str:
    if type(command.tenant) is not str:
        return "tenant"
    if type(command.leaf) is not str:
        return "leaf"
    return "" if _is_number_or_none(command.limit) else "limit"


def misshapen_relinquish(command: Any) -> str:
    if type(command.tenant) is not str:
        return "tenant"
    if type(command.leaf) is not str:
        return "leaf"
    return "" if type(command.budget_spent) is bool else "budget_spent"


def misshapen_floor(command: Any) -> str:
    if type(command.node) is not str:
        return "node"
    return "" if _is_number_or_none(command.price) else "price"


def misshapen_controls(command: Any) -> str:
    if type(command.node) is not str:
        return "node"
    field = _misshapen_band("rise", command.rise) or _misshapen_band("fall", command.fall)
    if field:
        return field
    if not _is_number_or_none(command.hold_us):
        return "hold_us"
    return "" if _is_number_or_none(command.flash_us) else "flash_us"


def _misshapen_band(field: str, band: Any) -> str:
    if band is None:
        return ""
    if not _is_a(band, Band):
        return field
    if type(band.fraction_ppm) is not int:
        return "fraction_ppm"
    return "" if type(band.interval_us) is int else "interval_us"


def misshapen_switch(command: Any) -> str:
    return "" if type(command.leaf) is str else "leaf"


def misshapen_close(command: Any) -> str:
    return "" if type(command.before) is int else "before"


def misshapen_nothing(_: Any) -> str:
    return ""


def _is_a(value: Any, kind: type) -> bool:
    """Exactly this type. A function of its own so that the type checker, and with it the compiler, goes on taking the fields for anything."""
    return type(value) is kind


def _is_number_or_none(value: Any) -> bool:
    return value is None or type(value) is int


# -- rules


def _no(state: State, tenant: str | None, reason: Reason, subject: str, found: int | None = None, bound: int | None = None) -> Refused:
    return Refused(state.now, tenant, reason, subject, found, bound)


def _why_not_tenant(state: State, name: str) -> Refused | None:
    if name in state.tenants:
        return None
    if not name or len(name) > NAME_MAX or name == OPERATOR or not name.isprintable():
        return _no(state, name, Reason.TENANT_INVALID, name[:NAME_MAX])
    return None


def why_not_place(state: State, command: PlaceOrder) -> Refused | None:
    refused = _why_not_tenant(state, command.tenant)
    if refused is None:
        refused = _why_not_alternatives(state, command.tenant, command.alternatives)
    if refused is not None:
        return refused
    tenant = state.tenants.get(command.tenant)
    open_orders = 0 if tenant is None else len(tenant.orders)
    if open_orders >= state.orders_per_tenant_max:
        return _no(state, command.tenant, Reason.TOO_MANY_ORDERS, command.tenant, open_orders, state.orders_per_tenant_max)
    return None


def why_not_amend(state: State, command: AmendOrder) -> Refused | None:
    refused = _why_not_order(state, command.tenant, command.order)
    if refused is not None:
        return refused
    return _why_not_alternatives(state, command.tenant, command.alternatives)


def why_not_cancel(state: State, command: CancelOrder) -> Refused | None:
    return _why_not_order(state, command.tenant, command.order)


def _why_not_order(state: State, name: str, id: int) -> Refused | None:
    """Another tenant's order and one that never was answer alike (M12)."""
    tenant = state.tenants.get(name)
    if tenant is None:
        refused = _why_not_tenant(state, name)
        return refused if refused is not None else _no(state, name, Reason.NOT_YOUR_ORDER, str(id))
    if id in tenant.orders:
        return None
    for lease in reversed(tenant.leases):  # who comes too late mostly comes just too late
        if lease.order == id:
            return _no(state, name, Reason.ALREADY_FILLED, lease.leaf.path)
    return _no(state, name, Reason.NOT_YOUR_ORDER, str(id))


def _why_not_alternatives(state: State, name: str, alternatives: tuple[Alternative, ...]) -> Refused | None:
    count = len(alternatives)
    if count == 0 or count > ALTERNATIVES_MAX:
        return _no(state, name, Reason.ALTERNATIVES_COUNT, "alternatives", count, ALTERNATIVES_MAX)
    seen: list[str] = []
    for alternative in alternatives:
        scope = alternative.scope
        if scope not in state.forest.by_path:
            return _no(state, name, Reason.SCOPE_UNKNOWN, scope)
        if scope in seen:
            return _no(state, name, Reason.SCOPE_REPEATED, scope)
        seen.append(scope)
        bid = alternative.bid
        limit = alternative.limit
        if bid < 0 or bid > PRICE_MAX:
            return _no(state, name, Reason.PRICE_OUT_OF_RANGE, scope, bid, PRICE_MAX)
        if limit < 0 or limit > PRICE_MAX:
            return _no(state, name, Reason.PRICE_OUT_OF_RANGE, scope, limit, PRICE_MAX)
        if limit < bid:
            return _no(state, name, Reason.LIMIT_BELOW_BID, scope, limit, bid)
    return None


def why_not_relinquish(state: State, command: Relinquish) -> Refused | None:
    return _why_not_lease(state, command.tenant, command.leaf)


def _why_not_lease(state: State, name: str, leaf: str) -> Refused | None:
    """A leaf that is another's, idle, or not there at all answers alike (M12)."""
    node = state.forest.by_path.get(leaf)
    if node is not None and node.lease is not None and node.lease.tenant.name == name:
        return None
    refused = _why_not_tenant(state, name)
    return refused if refused is not None else _no(state, name, Reason.NOT_YOUR_LEASE, leaf)


def why_not_limit(state: State, command: SetLimit) -> Refused | None:
    refused = _why_not_lease(state, command.tenant, command.leaf)
    if refused is not None:
        return refused
    limit = command.limit
    if limit is not None and (limit < 0 or limit > PRICE_MAX):
        return _no(state, command.tenant, Reason.PRICE_OUT_OF_RANGE, command.leaf, limit, PRICE_MAX)
    return None


def why_not_floor(state: State, command: SetFloor) -> Refused | None:
    if command.node not in state.forest.by_path:
        return _no(state, None, Reason.SCOPE_UNKNOWN, command.node)
    price = command.price
    if price is not None and (price < 0 or price > PRICE_MAX):
        return _no(state, None, Reason.PRICE_OUT_OF_RANGE, command.node, price, PRICE_MAX)
    return None


def why_not_controls(state: State, command: SetControls) -> Refused | None:
    if command.node not in state.forest.by_path:
        return _no(state, None, Reason.SCOPE_UNKNOWN, command.node)
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
        return _no(state, None, Reason.CONTROLS_INVALID, kind, band.fraction_ppm, FRACTION_MAX_PPM)
    return _why_not_duration(state, kind, band.interval_us)


def _why_not_duration(state: State, kind: str, duration: int | None) -> Refused | None:
    if duration is not None and (duration < 1 or duration > DURATION_MAX_US):
        return _no(state, None, Reason.CONTROLS_INVALID, kind, duration, DURATION_MAX_US)
    return None


def why_not_offline(state: State, command: TakeOffline) -> Refused | None:
    return _why_not_switch(state, command.leaf, False)


def why_not_online(state: State, command: BringOnline) -> Refused | None:
    return _why_not_switch(state, command.leaf, True)


def _why_not_switch(state: State, leaf: str, to_online: bool) -> Refused | None:
    node = state.forest.by_path.get(leaf)
    if node is None:
        return _no(state, None, Reason.SCOPE_UNKNOWN, leaf)
    if not node.is_leaf():
        return _no(state, None, Reason.NOT_A_LEAF, leaf)
    if node.online == to_online:
        return _no(state, None, Reason.ALREADY_ONLINE if to_online else Reason.ALREADY_OFFLINE, leaf)
    return None


def never_refused(_state: State, _command: AdvanceTime) -> Refused | None:
    return None


def why_not_close(state: State, command: CloseBooks) -> Refused | None:
    if command.before > state.now:
        return _no(state, None, Reason.BOOKS_CLOSED, "before", command.before, state.now)
    if command.before < state.closed_before:
        return _no(state, None, Reason.BOOKS_CLOSED, "before", command.before, state.closed_before)
    return None
