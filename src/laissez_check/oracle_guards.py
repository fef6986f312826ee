"""Why a command is refused: the table of refusals, row by row. Guards are tried in order; the first
that fails is the reason."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from laissez.market.commands import (
    ALTERNATIVES_MAX,
    DURATION_MAX_US,
    FRACTION_MAX_PPM,
    PRICE_MAX,
    TENANT_NAME_MAX,
    TENANTS_MAX,
    TIME_MAX_US,
    Alternative,
    AmendOrder,
    Band,
    BringOnline,
    CancelOrder,
    CloseBooks,
    Command,
    PlaceOrder,
    Relinquish,
    SetControls,
    SetFloor,
    SetLimit,
    TakeOffline,
)
from laissez.market.reasons import Reason
from laissez_check.oracle_state import State

TENANT_COMMANDS = (PlaceOrder, AmendOrder, CancelOrder, SetLimit, Relinquish)


@dataclass(frozen=True)
class Refusal:
    reason: Reason
    subject: str
    found: int | None = None
    bound: int | None = None


def is_whole(value: object) -> bool:
    """A boolean counts as a number in Python, but not here; nor does a number of more than 62
    bits."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**62


def malformed_field(command: Command) -> str | None:
    """The first field, in the order they are declared, that has the wrong type."""
    for name in command.__struct_fields__:
        wrong = malformed_part(name, getattr(command, name))
        if wrong is not None:
            return wrong
    return None


def malformed_part(name: str, value: object) -> str | None:
    """`name`, or the name of a field inside it, if the value there has the wrong type."""
    if name in ("tenant", "leaf", "node", "scope"):
        return None if isinstance(value, str) else name
    if name in ("order", "lease", "before", "bid", "fraction_ppm", "interval_us"):
        return None if is_whole(value) else name
    if name in ("limit", "price", "hold_us", "flash_us"):
        return None if value is None or is_whole(value) else name
    if name == "budget_spent":
        return None if isinstance(value, bool) else name
    if name in ("rise", "fall"):
        return malformed_band(name, value)
    assert name == "alternatives", name
    return malformed_alternatives(value)


def malformed_band(name: str, value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, Band):
        return name
    return malformed_part("fraction_ppm", value.fraction_ppm) or malformed_part(
        "interval_us", value.interval_us
    )


def malformed_alternatives(value: object) -> str | None:
    if not isinstance(value, tuple):
        return "alternatives"
    for alternative in value:
        if not isinstance(alternative, Alternative):
            return "alternatives"
        if not isinstance(alternative.scope, str):
            return "scope"
        if not is_whole(alternative.bid):
            return "bid"
        if not is_whole(alternative.limit):
            return "limit"
    return None


def refuse_time(state: State, command: Command, at: int) -> Refusal | None:
    """Why the command is refused for its time, which then does not pass. A malformed field comes
    first even here."""
    if not is_whole(at):
        return Refusal(Reason.MALFORMED, "at")
    if state.now <= at <= TIME_MAX_US:
        return None
    wrong = malformed_field(command)
    if wrong is not None:
        return Refusal(Reason.MALFORMED, wrong)
    if at < state.now:
        return Refusal(Reason.TIME_BACKWARDS, "at", at, state.now)
    return Refusal(Reason.TIME_OUT_OF_RANGE, "at", at, TIME_MAX_US)


def refusal(state: State, command: Command) -> Refusal | None:
    """Why the command is refused, its time being in order."""
    wrong = malformed_field(command)
    if wrong is not None:
        return Refusal(Reason.MALFORMED, wrong)
    if isinstance(command, TENANT_COMMANDS) and not is_tenant_name(command.tenant):
        return Refusal(Reason.TENANT_INVALID, command.tenant)
    match command:
        case PlaceOrder():
            return (
                refuse_alternatives(state, command.alternatives)
                or refuse_one_more_order(state, command.tenant)
                or refuse_one_more_tenant(state, command.tenant)
            )
        case AmendOrder():
            return refuse_order(state, command.tenant, command.order) or refuse_alternatives(
                state, command.alternatives
            )
        case CancelOrder():
            return refuse_order(state, command.tenant, command.order)
        case SetLimit():
            return refuse_lease(state, command.tenant, command.lease) or refuse_price(
                state.leases_on_books[command.tenant, command.lease].leaf, command.limit
            )
        case Relinquish():
            return refuse_lease(state, command.tenant, command.lease)
        case SetFloor():
            return refuse_scope(state, command.node) or refuse_price(command.node, command.price)
        case SetControls():
            return refuse_scope(state, command.node) or refuse_controls(command)
        case TakeOffline():
            return refuse_leaf(state, command.leaf) or refuse_offline(state, command.leaf)
        case BringOnline():
            return refuse_leaf(state, command.leaf) or refuse_online(state, command.leaf)
        case CloseBooks():
            return refuse_closing(state, command.before)
        case _:
            return None


def is_tenant_name(name: str) -> bool:
    characters_are_fine = all(
        unicodedata.category(character) not in ("Cc", "Cs") for character in name
    )
    return 0 < len(name) <= TENANT_NAME_MAX and name != "operator" and characters_are_fine


def refuse_alternatives(state: State, alternatives: tuple[Alternative, ...]) -> Refusal | None:
    if not 1 <= len(alternatives) <= ALTERNATIVES_MAX:
        return Refusal(
            Reason.ALTERNATIVES_COUNT, "alternatives", len(alternatives), ALTERNATIVES_MAX
        )
    scopes_before: list[str] = []
    for alternative in alternatives:
        why = refuse_alternative(state, alternative, scopes_before)
        if why is not None:
            return why
        scopes_before.append(alternative.scope)
    return None


def refuse_alternative(
    state: State, alternative: Alternative, scopes_before: list[str]
) -> Refusal | None:
    scope, bid, limit = alternative.scope, alternative.bid, alternative.limit
    if why := refuse_scope(state, scope):
        return why
    if scope in scopes_before:
        return Refusal(Reason.SCOPE_REPEATED, scope)
    if why := refuse_price(scope, bid) or refuse_price(scope, limit):
        return why
    if limit < bid:
        return Refusal(Reason.LIMIT_BELOW_BID, scope, limit, bid)
    return None


def refuse_one_more_order(state: State, tenant: str) -> Refusal | None:
    count = sum(order.tenant == tenant for order in state.open_orders.values())
    if count >= state.orders_per_tenant_max:
        return Refusal(Reason.TOO_MANY_ORDERS, tenant, count, state.orders_per_tenant_max)
    return None


def refuse_one_more_tenant(state: State, tenant: str) -> Refusal | None:
    count = len(state.tenants_seen)
    if tenant not in state.tenants_seen and count >= TENANTS_MAX:
        return Refusal(Reason.TOO_MANY_TENANTS, tenant, count, TENANTS_MAX)
    return None


def refuse_order(state: State, tenant: str, order_id: int) -> Refusal | None:
    if (tenant, order_id) in state.open_orders:
        return None
    for lease in state.leases_on_books.values():
        if lease.order == order_id and lease.tenant == tenant:
            return Refusal(Reason.ALREADY_FILLED, lease.leaf)
    return Refusal(Reason.NOT_YOUR_ORDER, str(order_id))


def refuse_lease(state: State, tenant: str, lease_id: int) -> Refusal | None:
    lease = state.leases_on_books.get((tenant, lease_id))
    return (
        None
        if lease is not None and lease.end is None
        else Refusal(Reason.NOT_YOUR_LEASE, str(lease_id))
    )


def refuse_price(subject: str, price: int | None) -> Refusal | None:
    return (
        None
        if price is None or 0 <= price <= PRICE_MAX
        else Refusal(Reason.PRICE_OUT_OF_RANGE, subject, price, PRICE_MAX)
    )


def refuse_scope(state: State, node: str) -> Refusal | None:
    return None if node in state.topology.path else Refusal(Reason.SCOPE_UNKNOWN, node)


def refuse_leaf(state: State, node: str) -> Refusal | None:
    return refuse_scope(state, node) or (
        None if node in state.lease_at else Refusal(Reason.NOT_A_LEAF, node)
    )


def refuse_offline(state: State, leaf: str) -> Refusal | None:
    return Refusal(Reason.ALREADY_OFFLINE, leaf) if leaf in state.offline else None


def refuse_online(state: State, leaf: str) -> Refusal | None:
    return None if leaf in state.offline else Refusal(Reason.ALREADY_ONLINE, leaf)


def refuse_controls(command: SetControls) -> Refusal | None:
    for name, band in (("rise", command.rise), ("fall", command.fall)):
        if band is None:
            continue
        if not 0 <= band.fraction_ppm <= FRACTION_MAX_PPM:
            return Refusal(Reason.CONTROLS_INVALID, name, band.fraction_ppm, FRACTION_MAX_PPM)
        if not 1 <= band.interval_us <= DURATION_MAX_US:
            return Refusal(Reason.CONTROLS_INVALID, name, band.interval_us, DURATION_MAX_US)
    for name, duration_us in (("hold_us", command.hold_us), ("flash_us", command.flash_us)):
        if duration_us is not None and not 1 <= duration_us <= DURATION_MAX_US:
            return Refusal(Reason.CONTROLS_INVALID, name, duration_us, DURATION_MAX_US)
    return None


def refuse_closing(state: State, before: int) -> Refusal | None:
    if before > state.now:
        return Refusal(Reason.BOOKS_CLOSED, "before", before, state.now)
    if before < state.closed_before:
        return Refusal(Reason.BOOKS_CLOSED, "before", before, state.closed_before)
    return None
