"""Leases: list, set the limit, give up, and what they were charged."""

from __future__ import annotations

from laissez.market.reasons import Reason
from laissez.server import views
from laissez.server.accounts import Account
from laissez.server.commands import Relinquish, SetLimit
from laissez.server.http.call import Answer, Call
from laissez.server.http.paging import of_accounts
from laissez.server.outcomes import Applied, numbered
from laissez.server.price_history import in_words, price_pieces
from laissez.server.reading import read_name, read_price
from laissez.wire import events as told
from laissez.wire.problems import ProblemError
from laissez.wire.views import LeaseDone, PriceHistory


def set_limit(call: Call) -> Answer:
    limit = call.body.limit
    lease = read_name(call.path["id"], "id")
    return _done(
        call, call.enter(SetLimit(lease, None if limit is None else read_price(limit, "limit")))
    )


def relinquish(call: Call) -> Answer:
    return _done(call, call.enter(Relinquish(read_name(call.path["id"], "id"))))


def _done(call: Call, applied: Applied) -> Answer:
    events = numbered(applied.outcome, call.principal.holder)
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
    exchange, now = call.desk.exchange, call.desk.end_holds()
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
    account = _account(call, name)
    view = (
        None
        if account is None
        else views.lease_view(
            call.desk.exchange, account, name, call.desk.end_holds(), call.principal.is_operator
        )
    )
    if view is None:
        raise unknown(name)
    return Answer(view)


def prices(call: Call) -> Answer:
    name = call.path["id"]
    account = _account(call, name)
    if account is None:
        raise unknown(name)
    call.admit_items(0)
    lease = account.leases[name]
    pieces = price_pieces(call.desk.exchange, account.name, lease, call.desk.end_holds())
    call.owe_items(len(pieces))
    return Answer(PriceHistory(name, lease.leaf, in_words(pieces)))


def _account(call: Call, lease: str) -> Account | None:
    return next((account for account in call.accounts() if lease in account.leases), None)


def unknown(lease: str) -> ProblemError:
    return ProblemError(Reason.NOT_YOUR_LEASE, f"you hold no lease {lease!r}")
