"""Views of the exchange: pure functions from its state to the responses of the API.

The market's own time is that of its latest command. Between two commands only charges continue, at
constant rates, until the next hold ends. So these functions compute the exact state at a later
moment without a command.
"""

from __future__ import annotations

from collections.abc import Iterator

from laissez.exchange.accounts import Account
from laissez.exchange.commands import OPERATOR
from laissez.exchange.exchange import Exchange
from laissez.exchange.keys import KeyRecord
from laissez.market.answers import LeaseView, OrderView
from laissez.market.answers import PriceSegment as Piece
from laissez.market.errors import UnknownScope
from laissez.market.reasons import Reason
from laissez.units import dollars, format_time
from laissez.wire.ids import ORDER, instance_of_order, lease_id, number_of, order_id, tag_of
from laissez.wire.limits import PRICE_PIECES_MAX
from laissez.wire.problems import ProblemError
from laissez.wire.rendering import (
    alternatives_text,
    caps_text,
    optional_price,
    optional_time,
    price,
)
from laissez.wire.views import Instance, Key, Lease, Order, PriceSegment, Quote, Tenant

SHOWN_MAX = 200  # characters of a caller's text that an error repeats


# -- time


def reached(exchange: Exchange, at: int | None) -> int:
    """The latest time up to `at` for which charges are known: a hold may end earlier. None is the
    market's own time."""
    market = exchange.market
    if at is None or at <= market.now:
        return market.now
    deadline = market.next_deadline()
    return at if deadline is None else max(market.now, min(at, deadline))


# -- orders


def order_views(exchange: Exchange, account: Account, named: bool = False) -> Iterator[Order]:
    """The open orders of a tenant, oldest first, rendered one by one as they are needed. `named`
    adds the tenant's name, for the operator."""
    return (_order(account, view, named) for view in exchange.market.orders(account.name))


def order_view(exchange: Exchange, account: Account, id: str, named: bool = False) -> Order | None:
    number = number_of(ORDER, tag_of(account.name), id)
    view = None if number is None else exchange.market.order(account.name, number)
    return None if view is None else _order(account, view, named)


def _order(account: Account, view: OrderView, named: bool) -> Order:
    return Order(
        order_id(tag_of(account.name), view.order),
        format_time(view.placed_at),
        alternatives_text(view.alternatives),
        account.name if named else None,
    )


# -- leases


def lease_views(
    exchange: Exchange, account: Account, at: int | None = None, named: bool = False
) -> Iterator[Lease]:
    """The live leases of a tenant, oldest first, with their cost until `at` (the market's own time
    if None)."""
    passed = reached(exchange, at) - exchange.market.now
    return (_lease(exchange, view, passed, named) for view in exchange.market.leases(account.name))


def lease_view(
    exchange: Exchange, lease: LeaseView, at: int | None = None, named: bool = False
) -> Lease | None:
    """The present state of a lease that was found earlier; None if it has ended since."""
    view = exchange.market.lease(lease.tenant, lease.lease)
    if view is None or view.end is not None:
        return None
    return _lease(exchange, view, reached(exchange, at) - exchange.market.now, named)


def _lease(exchange: Exchange, view: LeaseView, passed: int, named: bool) -> Lease:
    """The state of a lease `passed` microseconds after the market's own time."""
    tag = tag_of(view.tenant)
    return Lease(
        lease_id(tag, view.lease),
        view.leaf,
        order_id(tag, view.order),
        format_time(view.start),
        price(view.rate),
        price(view.charged),
        optional_price(view.limit),
        optional_time(view.hold_until),
        dollars(exchange.market.charge(view.tenant, view.lease) + view.charged * passed),
        view.tenant if named else None,
    )


def price_pieces(exchange: Exchange, lease: LeaseView, at: int) -> list[Piece]:
    """The charges of a lease until `at`: the newest pieces, and everything before them as one piece
    without a rate. The rate is constant after the market's latest command."""
    market, until = exchange.market, reached(exchange, at)
    pieces = list(market.price_history(lease.tenant, lease.lease, PRICE_PIECES_MAX - 1))
    if lease.end is None and until > market.now:
        start, charge = market.now, lease.charged * (until - market.now)
        if pieces and pieces[-1].rate == lease.charged:
            last = pieces.pop()
            start, charge = last.start, last.charge + charge
        pieces.append(Piece(start, until, lease.charged, charge))
    return pieces


def price_segment(piece: Piece) -> PriceSegment:
    start, end = format_time(piece.start), format_time(piece.end)
    return PriceSegment(start, end, optional_price(piece.rate), dollars(piece.charge))


# -- instances


def instance_views(exchange: Exchange, account: Account, named: bool = False) -> Iterator[Instance]:
    """Pending and running instances, oldest request first, rendered one by one as they are
    needed."""
    market = exchange.market
    found: list[OrderView | LeaseView] = [
        *market.orders(account.name),
        *market.leases(account.name),
    ]
    found.sort(key=lambda view: view.order)
    return (
        _pending(view, named) if isinstance(view, OrderView) else _won(view, named)
        for view in found
    )


def instance_view(
    exchange: Exchange, account: Account, order: int, named: bool = False
) -> Instance | None:
    """The instance of an order. A stopped one is known until the books close."""
    lease = lease_of_order(exchange, account, order)
    if lease is not None:
        return _won(lease, named)
    waits = exchange.market.order(account.name, order)
    return None if waits is None else _pending(waits, named)


def lease_of_order(exchange: Exchange, account: Account, order: int) -> LeaseView | None:
    """The lease that an order won, if the open books have one."""
    number = exchange.market.lease_won(account.name, order)
    return None if number is None else exchange.market.lease(account.name, number)


def _pending(view: OrderView, named: bool) -> Instance:
    wanted = view.alternatives[0]
    return Instance(
        instance_of_order(order_id(tag_of(view.tenant), view.order)),
        "pending",
        wanted.scope,
        None,
        None,
        None,
        price(wanted.limit),
        format_time(view.placed_at),
        view.tenant if named else None,
    )


def _won(view: LeaseView, named: bool) -> Instance:
    """An instance that has a lease: running, or stopped when the lease ended."""
    tag, runs = tag_of(view.tenant), view.end is None
    return Instance(
        instance_of_order(order_id(tag, view.order)),
        "running" if runs else "stopped",
        view.leaf,
        view.leaf,
        lease_id(tag, view.lease),
        price(view.rate) if runs else None,
        optional_price(view.limit) if runs else None,
        format_time(view.start if view.end is None else view.end),
        view.tenant if named else None,
    )


def own_number(id: str) -> int:
    """The number in the id of an order, lease or instance. A tenant's newer ones have higher
    numbers."""
    return int(id[12:])  # after a prefix of four characters and a tag of eight


# -- prices


def quote_view(exchange: Exchange, holder: str | None, scope: str, at: int) -> Quote:
    """The lowest price that wins a leaf of the scope now. A scope outside the holder's pricing
    domain gets the same answer as one that does not exist."""
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
    counts = exchange.market.counts(account.name)
    live = sum(
        key.holder == account.name and key.revoked_at is None for key in exchange.keys.values()
    )
    return Tenant(
        account.name,
        format_time(account.created_at),
        caps_text(account.caps),
        counts.orders_open,
        counts.leases_live,
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
    """The keys of a holder, oldest first."""
    return (record for record in exchange.keys.values() if record.holder == holder)
