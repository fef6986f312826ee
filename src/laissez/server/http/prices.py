"""Prices: what it takes to win a leaf now, for one scope or for every scope that the asker may
see."""

from __future__ import annotations

from collections.abc import Sequence

from laissez.exchange.commands import OPERATOR
from laissez.server.http.call import Answer, Call
from laissez.server.http.paging import Cursor, cursor_of, page, paths_after
from laissez.server.views import quote_view
from laissez.wire.problems import Code, ProblemError


def quotes(call: Call) -> Answer:
    exchange, holder, now = call.gateway.exchange, call.principal.holder, call.gateway.clock.now()
    scope = call.query.get("scope")
    if scope is not None:
        if len(call.query) > 1:
            raise ProblemError(
                Code.BAD_REQUEST,
                "scope: expected alone; limit and cursor go with the list of all prices",
            )
        return Answer(quote_view(exchange, holder, scope, now))
    domain: Sequence[str] = (
        exchange.market.topology.nodes
        if holder == OPERATOR
        else exchange.market.pricing_domain(holder)
    )
    found = (
        quote_view(exchange, holder, path, now)
        for path in paths_after(domain, cursor_of(call, "prices"))
    )
    return Answer(page(call, "prices", found, lambda quote: Cursor(quote.scope)))
