"""The table of refusals, row by row: the first guard that fails is the reason."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from laissez.market import commands
from laissez.market.commands import (
    ALTERNATIVES_MAX,
    DURATION_MAX_US,
    FRACTION_MAX_PPM,
    PRICE_MAX,
    TENANT_NAME_MAX,
    TENANTS_MAX,
    TIME_MAX_US,
    Alternative,
    Band,
    Command,
)
from laissez.market.reasons import Reason
from laissez_check.oracle_state import State

NAMES = ("tenant", "leaf", "node", "scope")
NUMBERS = ("order", "lease", "before", "bid", "fraction_ppm", "interval_us")
NUMBERS_OR_NONE = ("limit", "price", "hold_us", "flash_us")


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


def malformed_field(part: Command | Alternative | Band) -> str | None:
    """The first field, in the order they are declared, that has the wrong type; inside an
    alternative or a band it is the field there."""
    for name in part.__struct_fields__:
        value = getattr(part, name)
        if name in ("rise", "fall") and isinstance(value, Band):
            wrong = malformed_field(value)
        elif name == "alternatives" and isinstance(value, tuple):
            wrong = next(filter(None, map(malformed_alternative, value)), None)
        else:
            wrong = None if has_right_type(name, value) else name
        if wrong is not None:
            return wrong
    return None


def malformed_alternative(value: object) -> str | None:
    if not isinstance(value, Alternative):
        return "alternatives"
    return malformed_field(value) or ("limit" if value.limit is None else None)


def has_right_type(name: str, value: object) -> bool:
    if name in NAMES:
        return isinstance(value, str)
    if name in NUMBERS:
        return is_whole(value)
    if name in NUMBERS_OR_NONE:
        return value is None or is_whole(value)
    if name == "budget_spent":
        return isinstance(value, bool)
    assert name in ("rise", "fall", "alternatives"), name
    return value is None and name != "alternatives"


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
    if isinstance(command, commands.TenantCommand) and not is_tenant_name(command.tenant):
        return Refusal(Reason.TENANT_INVALID, command.tenant)
    match command:
        case commands.PlaceOrder(tenant, alternatives):
            return (
                refuse_alternatives(state, alternatives)
                or refuse_one_more_order(state, tenant)
                or refuse_one_more_tenant(state, tenant)
            )
        case commands.AmendOrder(tenant, order, alternatives):
            return refuse_order(state, tenant, order) or refuse_alternatives(state, alternatives)
        case commands.CancelOrder(tenant, order):
            return refuse_order(state, tenant, order)
        case commands.SetLimit(tenant, lease, limit):
            return refuse_lease(state, tenant, lease) or refuse_price(
                state.leases_on_books[tenant, lease].leaf, limit
            )
        case commands.Relinquish(tenant, lease):
            return refuse_lease(state, tenant, lease)
        case commands.SetFloor(node, price):
            return refuse_scope(state, node) or refuse_price(node, price)
        case commands.SetControls(node):
            return refuse_scope(state, node) or refuse_controls(command)
        case commands.TakeOffline(leaf):
            return refuse_leaf(state, leaf) or (
                Refusal(Reason.ALREADY_OFFLINE, leaf) if leaf in state.offline else None
            )
        case commands.BringOnline(leaf):
            return refuse_leaf(state, leaf) or (
                None if leaf in state.offline else Refusal(Reason.ALREADY_ONLINE, leaf)
            )
        case commands.CloseBooks(before):
            return refuse_closing(state, before)
    return None


def is_tenant_name(name: str) -> bool:
    has_control_characters = any(unicodedata.category(one) in ("Cc", "Cs") for one in name)
    return 0 < len(name) <= TENANT_NAME_MAX and name != "operator" and not has_control_characters


def refuse_alternatives(state: State, alternatives: tuple[Alternative, ...]) -> Refusal | None:
    count = len(alternatives)
    if not 1 <= count <= ALTERNATIVES_MAX:
        return Refusal(Reason.ALTERNATIVES_COUNT, "alternatives", count, ALTERNATIVES_MAX)
    scopes_before: list[str] = []
    for alternative in alternatives:
        scope, bid, limit = alternative.scope, alternative.bid, alternative.limit
        if why := refuse_scope(state, scope):
            return why
        if scope in scopes_before:
            return Refusal(Reason.SCOPE_REPEATED, scope)
        if why := refuse_price(scope, bid) or refuse_price(scope, limit):
            return why
        if limit < bid:
            return Refusal(Reason.LIMIT_BELOW_BID, scope, limit, bid)
        scopes_before.append(scope)
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
    if lease is None or lease.end is not None:
        return Refusal(Reason.NOT_YOUR_LEASE, str(lease_id))
    return None


def refuse_price(subject: str, price: int | None) -> Refusal | None:
    if price is None or 0 <= price <= PRICE_MAX:
        return None
    return Refusal(Reason.PRICE_OUT_OF_RANGE, subject, price, PRICE_MAX)


def refuse_scope(state: State, node: str) -> Refusal | None:
    return None if node in state.topology.path else Refusal(Reason.SCOPE_UNKNOWN, node)


def refuse_leaf(state: State, node: str) -> Refusal | None:
    unknown = refuse_scope(state, node)
    return unknown or (None if node in state.lease_at else Refusal(Reason.NOT_A_LEAF, node))


def refuse_controls(command: commands.SetControls) -> Refusal | None:
    settings: list[tuple[str, int | None, int, int]] = []  # name, value, its bounds
    for name, band in (("rise", command.rise), ("fall", command.fall)):
        if band is not None:
            settings.append((name, band.fraction_ppm, 0, FRACTION_MAX_PPM))
            settings.append((name, band.interval_us, 1, DURATION_MAX_US))
    settings.append(("hold_us", command.hold_us, 1, DURATION_MAX_US))
    settings.append(("flash_us", command.flash_us, 1, DURATION_MAX_US))
    for name, value, least, most in settings:
        if value is not None and not least <= value <= most:
            return Refusal(Reason.CONTROLS_INVALID, name, value, most)
    return None


def refuse_closing(state: State, before: int) -> Refusal | None:
    if before > state.now:
        return Refusal(Reason.BOOKS_CLOSED, "before", before, state.now)
    if before < state.closed_before:
        return Refusal(Reason.BOOKS_CLOSED, "before", before, state.closed_before)
    return None
