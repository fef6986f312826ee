"""The command `laissez` with faults put in on purpose, to show that checks of a real server notice
them: `LAISSEZ_FAULTS=NAME,... python -m laissez_check.faulty_server serve ...`.

Each fault is a realistic mistake, and none hides another.
"""

from __future__ import annotations

import logging
import os
import runpy
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace
from prometheus_client.core import GaugeMetricFamily, Metric

from laissez.exchange.commands import Command
from laissez.exchange.events import Applied
from laissez.exchange.exchange import Exchange
from laissez.journal import Document, GroupCommit
from laissez.journal import Entry as Stored
from laissez.market.reasons import Reason
from laissez.server.auth import Principal
from laissez.server.gateway import Gateway
from laissez.server.http import app, endpoint, webhooks
from laissez.server.http.messages import Request
from laissez.server.metrics import Metrics
from laissez.server.retention import Snapshotter
from laissez.wire.decoding import COMMANDS
from laissez.wire.ids import ORDER, number_of, tag_of
from laissez.wire.problems import ProblemError
from laissez.wire.rendering import price
from laissez.wire.requests import AmendOrder, CancelOrder
from laissez_check.patches import Patch, apply, bugs_among
from laissez_check.simulated.bugs import ids_forgotten_at_start, last_group_left_out
from laissez_check.started_server import Entry

VARIABLE = "LAISSEZ_FAULTS"
SNAPSHOT_AFTER_COMMANDS = 150
STORING_TAKES_S = 0.02


def snapshot_after_commands() -> list[Patch]:
    """No fault: snapshots are taken so often, as no setting allows, that kills meet them."""

    def is_due(self: Any) -> bool:
        return bool(self._gateway.position - self._last >= SNAPSHOT_AFTER_COMMANDS)

    return [(Snapshotter, "_is_due", is_due)]


def acknowledged_too_early() -> list[Patch]:
    """Commands are reported durable when they are handed over, and stored a little later."""
    put, store = GroupCommit.put, GroupCommit._store_group

    def put_and_report(self: GroupCommit, entry: Stored, documents: Sequence[Document] = ()) -> int:
        seq = put(self, entry, documents)
        self._on_durable(seq)
        return seq

    def store_late(self: GroupCommit) -> object:
        time.sleep(STORING_TAKES_S)
        return store(self)

    return [(GroupCommit, "put", put_and_report), (GroupCommit, "_store_group", store_late)]


def operator_operation_is_open_to_tenants() -> list[Patch]:
    operations = tuple(
        replace(one, scopes=("read",)) if one.name == "getMarket" else one
        for one in app.OPERATIONS  # type: ignore[attr-defined]
    )
    return [(app, "OPERATIONS", operations)]


def foreign_orders_are_refused_with_their_price() -> list[Patch]:
    """An order that never existed is refused in other words."""
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

    for kind in (AmendOrder, CancelOrder):
        COMMANDS[kind] = told(COMMANDS[kind])
    return [(Gateway, "__init__", note)]


def headers_are_logged() -> list[Patch]:
    authenticated = endpoint.authenticated

    def logged(site: app.Site, request: Request, changes: bool) -> Principal | None:
        logging.getLogger("laissez.http").debug("a request: %s", request.headers)
        return authenticated(site, request, changes)

    return [(endpoint, "authenticated", logged)]


def commands_are_logged() -> list[Patch]:
    enter = endpoint.Call.enter

    def logged(self: endpoint.Call, command: Command, body: bytes = b"") -> Applied:
        logging.getLogger("laissez.gateway").debug("applied: %s", command)
        return enter(self, command, body)

    return [(endpoint.Call, "enter", logged)]


def limits_are_a_metric() -> list[Patch]:
    collect = Metrics.collect

    def collected(self: Metrics) -> Iterable[Metric]:
        yield from collect(self)
        market = self._gateway.exchange.market
        family = GaugeMetricFamily("laissez_limits", "The limit of each lease.", labels=("leaf",))
        for leaf in market.topology.leaves:
            lease = market.lease_on(leaf)
            family.add_metric((leaf,), (lease.limit if lease is not None else None) or 0)
        yield family

    return [(Metrics, "collect", collected)]


def history_needs_no_scope() -> list[Patch]:
    return [(webhooks, "check_may_look_back", lambda principal, asked_by: None)]


FAULTS = bugs_among(globals())
CRASH_FAULTS = (acknowledged_too_early, ids_forgotten_at_start, last_group_left_out)
ACCESS_FAULTS = tuple(
    fault for fault in FAULTS.values() if fault not in (*CRASH_FAULTS, snapshot_after_commands)
)


def entry_with(*faults: Callable[[], list[Patch]]) -> Entry:
    """Start a server with these faults."""
    names = ",".join(fault.__name__ for fault in faults)
    return Entry(("-m", "laissez_check.faulty_server"), {VARIABLE: names})


if __name__ == "__main__":
    for name in os.environ[VARIABLE].split(","):
        apply(FAULTS[name]())
    sys.argv[0] = "laissez"
    runpy.run_module("laissez.cli", run_name="__main__")
