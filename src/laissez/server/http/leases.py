"""Leases: list, set the limit, give up, and what they were charged."""

from __future__ import annotations

from laissez.exchange.events import Applied
from laissez.market.answers import LeaseView
from laissez.market.commands import Relinquish, SetLimit
from laissez.market.reasons import Reason
from laissez.server import views
from laissez.server.http.call import Answer, Call
from laissez.server.http.paging import of_accounts
from laissez.server.price_history import in_words, price_pieces
from laissez.wire import events as told
from laissez.wire.decoding import read_lease, read_price
from laissez.wire.ids import LEASE, number_of, tag_of
from laissez.wire.problems import ProblemError
from laissez.wire.rendering import rendered
from laissez.wire.texts import no_lease
from laissez.wire.views import LeaseDone, PriceHistory


def set_limit(call: Call) -> Answer:
    holder, limit = call.principal.holder, call.body.limit
    lease = read_lease(holder, call.path["id"])
    price = None if limit is None else read_price(limit, "limit")
    return _done(call, call.enter(SetLimit(holder, lease, price)))


def relinquish(call: Call) -> Answer:
    holder = call.principal.holder
    return _done(call, call.enter(Relinquish(holder, read_lease(holder, call.path["id"]))))


def _done(call: Call, applied: Applied) -> Answer:
    events = rendered(applied, call.principal.holder)
    id, state = call.path["id"], "held"
    limit: str | None = None
    for one in events:
        event = one.event
        if (type(event) is told.LimitSet or type(event) is told.LeaseEnded) and event.lease == id:
            limit = event.limit
            state = "ended" if type(event) is told.LeaseEnded else state
    return Answer(LeaseDone(id, state, limit, events))


def listed(call: Call) -> Answer:
    named = call.principal.is_operator
    exchange, now = call.gateway.exchange, call.gateway.end_holds()
    return Answer(
        of_accounts(
            call,
            "leases",
            lambda account: views.lease_views(exchange, account, now, named),
            lambda lease: lease.id,
            lambda lease: lease.tenant,
        )
    )


def shown(call: Call) -> Answer:
    name = call.path["id"]
    found = _lease(call, name)
    view = (
        None
        if found is None
        else views.lease_view(
            call.gateway.exchange, found, call.gateway.end_holds(), call.principal.is_operator
        )
    )
    if view is None:
        raise unknown(name)
    return Answer(view)


def prices(call: Call) -> Answer:
    name = call.path["id"]
    lease = _lease(call, name)
    if lease is None:
        raise unknown(name)
    call.admit_items(0)
    pieces = price_pieces(call.gateway.exchange, lease, call.gateway.end_holds())
    call.owe_items(len(pieces))
    return Answer(PriceHistory(name, lease.leaf, in_words(pieces)))


def _lease(call: Call, id: str) -> LeaseView | None:
    """A lease, live or ended, that the caller may ask about."""
    for account in call.accounts():
        number = number_of(LEASE, tag_of(account.name), id)
        if number is not None:
            return call.gateway.exchange.market.lease(account.name, number)
    return None


def unknown(lease: str) -> ProblemError:
    return ProblemError(Reason.NOT_YOUR_LEASE, no_lease(lease))
