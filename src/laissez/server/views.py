"""The exchange as its callers see it: pure functions from its state, or from the outcome of a
command, to what the wire carries.

The market's own time is that of its latest command. Nothing moves between two commands except that
charges go on, at constant rates, until the next hold ends; so what is asked about a later moment is
worked out here, exactly, without a command that says that time has passed.
"""

from __future__ import annotations

from collections.abc import Iterator

from laissez.market.answers import LeaseView, OrderView
from laissez.market.errors import UnknownScope
from laissez.market.money import dollars
from laissez.market.reasons import Reason
from laissez.server.accounts import Account, KeyRecord
from laissez.server.commands import OPERATOR
from laissez.server.exchange import Exchange
from laissez.server.telling import in_force, optional_price, optional_time, price
from laissez.wire.ids import instance_of_order
from laissez.wire.problems import ProblemError
from laissez.wire.times import format_time
from laissez.wire.views import Instance, Key, Lease, Order, Quote, Tenant

SHOWN_MAX = 200  # characters of a caller's text that a problem repeats


# -- time


def reached(exchange: Exchange, at: int | None) -> int:
    """Until when charges are known: `at`, unless a hold that the market has not ended yet ends
    before it. None is the market's own time."""
    market = exchange.market
    if at is None or at <= market.now:
        return market.now
    deadline = market.next_deadline()
    return at if deadline is None else max(market.now, min(at, deadline))


# -- orders


def order_views(exchange: Exchange, account: Account, named: bool = False) -> Iterator[Order]:
    """The open orders of a tenant, oldest first; `named` adds whose they are, for the operator.
    Each is put into words when it is asked for."""
    return (_order(account, view, named) for view in exchange.market.orders(account.name))


def order_view(
    exchange: Exchange, account: Account, name: str, named: bool = False
) -> Order | None:
    record = account.orders.get(name)
    view = None if record is None else exchange.market.order(account.name, record.number)
    return None if view is None else _order(account, view, named)


def _order(account: Account, view: OrderView, named: bool) -> Order:
    name = account.order_names[view.order]
    return Order(
        name,
        format_time(account.orders[name].placed_at),
        in_force(view.alternatives),
        account.name if named else None,
    )


# -- leases


def lease_views(
    exchange: Exchange, account: Account, at: int | None = None, named: bool = False
) -> Iterator[Lease]:
    """The leases of a tenant that last, oldest first, with what they cost until `at` (until the
    market's own time if None)."""
    passed = reached(exchange, at) - exchange.market.now
    return (
        _lease(exchange, account, view, passed, named)
        for view in exchange.market.leases(account.name)
    )


def lease_view(
    exchange: Exchange, account: Account, name: str, at: int | None = None, named: bool = False
) -> Lease | None:
    record = account.live_lease(name)
    view = None if record is None else exchange.market.lease(account.name, record.number)
    if view is None:
        return None
    return _lease(exchange, account, view, reached(exchange, at) - exchange.market.now, named)


def _lease(
    exchange: Exchange, account: Account, view: LeaseView, passed: int, named: bool
) -> Lease:
    """As it is so many microseconds after the market's own time."""
    return Lease(
        account.lease_names[view.lease],
        view.leaf,
        account.order_names[view.order],
        format_time(view.start),
        price(view.rate),
        price(view.charged),
        optional_price(view.limit),
        optional_time(view.hold_until),
        dollars(exchange.market.charge(account.name, view.lease) + view.charged * passed),
        account.name if named else None,
    )


# -- instances


def instance_views(exchange: Exchange, account: Account, named: bool = False) -> Iterator[Instance]:
    """Pending and running ones, oldest request first. Each is put into words when it is asked
    for."""
    market, names = exchange.market, account.order_names
    found: list[OrderView | LeaseView] = [
        *market.orders(account.name),
        *market.leases(account.name),
    ]
    found.sort(key=lambda view: own_number(names[view.order]))
    return (
        (
            _pending(account, view, named)
            if isinstance(view, OrderView)
            else _running(account, view, named)
        )
        for view in found
    )


def instance_view(
    exchange: Exchange, account: Account, order: str, named: bool = False
) -> Instance | None:
    """The instance of an order; one that stopped as long as the books know it."""
    lease = lease_of_order(exchange, account, order)
    if lease is None:
        known = account.orders.get(order)
        waits = None if known is None else exchange.market.order(account.name, known.number)
        return None if waits is None else _pending(account, waits, named)
    record = account.leases[lease]
    if record.ended_at is None:
        view = exchange.market.lease(account.name, record.number)
        assert view is not None
        return _running(account, view, named)
    tenant = account.name if named else None
    return Instance(
        instance_of_order(order),
        "stopped",
        record.leaf,
        record.leaf,
        lease,
        None,
        None,
        format_time(record.ended_at),
        tenant,
    )


def lease_of_order(exchange: Exchange, account: Account, order: str) -> str | None:
    """The lease that an order won, if the books know one."""
    record = account.orders.get(order)
    number = None if record is None else exchange.market.lease_won(account.name, record.number)
    return None if number is None else account.lease_names[number]


def _pending(account: Account, view: OrderView, named: bool) -> Instance:
    name, wanted = account.order_names[view.order], view.alternatives[0]
    placed_at, tenant = format_time(account.orders[name].placed_at), account.name if named else None
    return Instance(
        instance_of_order(name),
        "pending",
        wanted.scope,
        None,
        None,
        None,
        price(wanted.limit),
        placed_at,
        tenant,
    )


def _running(account: Account, view: LeaseView, named: bool) -> Instance:
    return Instance(
        instance_of_order(account.order_names[view.order]),
        "running",
        view.leaf,
        view.leaf,
        account.lease_names[view.lease],
        price(view.rate),
        optional_price(view.limit),
        format_time(view.start),
        account.name if named else None,
    )


def own_number(id: str) -> int:
    """The number that a tenant's own id of an order, a lease or an instance ends with: they grow
    with age."""
    return int(id[12:])  # a prefix of four characters, a tag of eight


# -- prices


def quote_view(exchange: Exchange, holder: str | None, scope: str, at: int) -> Quote:
    """What wins a leaf of the scope now. Outside the asker's pricing domain answers exactly like a
    scope that does not exist."""
    try:
        quoted = exchange.market.quote(None if holder == OPERATOR else holder, scope)
    except UnknownScope:
        raise scope_unknown(scope) from None
    return Quote(scope, optional_price(quoted), format_time(at))


def scope_unknown(scope: str) -> ProblemError:
    return ProblemError(
        Reason.SCOPE_UNKNOWN,
        f"there is no scope {scope[:SHOWN_MAX]!r} in your pricing domain: expected a root, or a"
        " node above a leaf you hold",
    )


# -- tenants and keys


def tenant_view(exchange: Exchange, account: Account) -> Tenant:
    live = sum(
        key.holder == account.name and key.revoked_at is None for key in exchange.keys.values()
    )
    return Tenant(
        account.name,
        format_time(account.created_at),
        account.caps,
        account.open_orders,
        account.held,
        live,
    )


def key_view(record: KeyRecord) -> Key:
    return Key(
        record.id,
        record.holder,
        record.name,
        record.scopes,
        format_time(record.issued_at),
        optional_time(record.revoked_at),
    )


def keys_of(exchange: Exchange, holder: str) -> Iterator[KeyRecord]:
    """Oldest first."""
    return (record for record in exchange.keys.values() if record.holder == holder)
