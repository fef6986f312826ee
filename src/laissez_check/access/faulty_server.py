"""A server that tells or allows too much on purpose, to show that `laissez check access` notices:
`python -m laissez_check.access.faulty_server ...`.

Each fault is one that a real mistake could make, and none hides another.
"""

from __future__ import annotations

import logging
import runpy
import sys
from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace
from prometheus_client.core import GaugeMetricFamily, Metric

from laissez.exchange.commands import Command
from laissez.exchange.events import Applied
from laissez.exchange.exchange import Exchange
from laissez.market.reasons import Reason
from laissez.server.auth import Principal
from laissez.server.gateway import Gateway
from laissez.server.http import app, endpoint, webhooks
from laissez.server.http.messages import Request
from laissez.server.metrics import Metrics
from laissez.wire.decoding import COMMANDS
from laissez.wire.ids import ORDER, number_of, tag_of
from laissez.wire.problems import ProblemError
from laissez.wire.rendering import price
from laissez.wire.requests import AmendOrder, CancelOrder
from laissez_check.started_server import Entry

ENTRY = Entry(("-m", "laissez_check.access.faulty_server"))


def operator_operation_is_open_to_tenants() -> None:
    app.OPERATIONS = tuple(  # type: ignore[attr-defined]
        replace(one, scopes=("read",)) if one.name == "getMarket" else one
        for one in app.OPERATIONS  # type: ignore[attr-defined]
    )


def foreign_orders_are_refused_with_their_price() -> None:
    """An order that never was is refused in other words."""
    begin = Gateway.__init__
    served: list[Exchange] = []

    def note(self: Gateway, exchange: Exchange, *more: Any, **named: Any) -> None:
        served.append(exchange)
        begin(self, exchange, *more, **named)

    def tell(holder: str, id: str) -> None:
        for name in served[-1].accounts:
            number = number_of(ORDER, tag_of(name), id)
            order = None if number is None else served[-1].market.order(name, number)
            if order is not None and name != holder:
                limits = [price(one.limit) for one in order.alternatives]
                words = f"the order {id!r} is not yours: somebody asks at {limits}"
                raise ProblemError(Reason.NOT_YOUR_ORDER, words)

    def told(read: Callable[[str, Any], Command]) -> Callable[[str, Any], Command]:
        def read_and_tell(holder: str, asked: AmendOrder | CancelOrder) -> Command:
            tell(holder, asked.order)
            return read(holder, asked)

        return read_and_tell

    Gateway.__init__ = note  # type: ignore[method-assign]
    for kind in (AmendOrder, CancelOrder):
        COMMANDS[kind] = told(COMMANDS[kind])


def headers_are_logged() -> None:
    authenticated = endpoint.authenticated

    def logged(site: app.Site, request: Request, changes: bool) -> Principal | None:
        logging.getLogger("laissez.http").debug("a request: %s", request.headers)
        return authenticated(site, request, changes)

    endpoint.authenticated = logged


def commands_are_logged() -> None:
    enter = endpoint.Call.enter

    def logged(self: endpoint.Call, command: Command, body: bytes = b"") -> Applied:
        logging.getLogger("laissez.gateway").debug("applied: %s", command)
        return enter(self, command, body)

    endpoint.Call.enter = logged  # type: ignore[method-assign]


def limits_are_a_metric() -> None:
    collect = Metrics.collect

    def collected(self: Metrics) -> Iterable[Metric]:
        yield from collect(self)
        market = self._gateway.exchange.market
        family = GaugeMetricFamily("laissez_limits", "The limit of each lease.", labels=("leaf",))
        for leaf in market.topology.leaves:
            lease = market.lease_on(leaf)
            family.add_metric((leaf,), (lease.limit if lease is not None else None) or 0)
        yield family

    Metrics.collect = collected  # type: ignore[method-assign]


def history_needs_no_scope() -> None:
    webhooks.check_may_look_back = lambda principal, asked_by: None  # type: ignore[attr-defined]


FAULTS = (
    operator_operation_is_open_to_tenants,
    foreign_orders_are_refused_with_their_price,
    headers_are_logged,
    commands_are_logged,
    limits_are_a_metric,
    history_needs_no_scope,
)

if __name__ == "__main__":
    for fault in FAULTS:
        fault()
    sys.argv[0] = "laissez"
    runpy.run_module("laissez.cli", run_name="__main__")
