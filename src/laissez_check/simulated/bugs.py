"""Bugs put into the service on purpose, to see that worlds find them. Each is a realistic
mistake."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from msgspec.structs import replace

from laissez import market_form
from laissez.exchange.commands import SERVICE, Request
from laissez.exchange.events import Applied, Document, Event
from laissez.exchange.exchange import Exchange
from laissez.journal import Entry, recovery, wal
from laissez.journal.format import SEQ_MAX
from laissez.market import EndReason, LeaseEnded, Market, Relinquish
from laissez.market.answers import LeaseView
from laissez.server import data_folder, maintenance
from laissez.server.clock import Clock
from laissez.server.event_log import EventLog
from laissez.server.gateway import Gateway
from laissez.server.http.endpoint import Call
from laissez.server.http.endpoint import Endpoint as HttpEndpoint
from laissez.server.webhooks.delivery import Batch, Deliverer
from laissez.server.webhooks.endpoints import Endpoint
from laissez.wire.rendering import render_for
from laissez.wire.session import QuoteReply
from laissez_check.patches import Patch, bugs_among, replaced
from laissez_check.simulated.storing import LoopCommit, LoopCopy


def acknowledged_before_commit() -> list[Patch]:
    """A command counts as durable when it is handed to the journal."""
    put = LoopCommit.put

    def put_and_report(self: LoopCommit, entry: Entry, documents: Sequence[Document] = ()) -> int:
        seq = put(self, entry, documents)
        self._on_durable(seq)
        return seq

    return [(LoopCommit, "put", put_and_report)]


def event_before_commit() -> list[Patch]:
    """Followers are told at once."""
    apply, tell = Gateway._apply, Gateway._tell

    def apply_and_tell(self: Gateway, request: Request, at: int, origin: Any) -> Applied:
        applied = apply(self, request, at, origin)
        for holder, event in render_for(applied, self.following()):
            tell(self, self._followers[holder], event, origin)
        return applied

    return [(Gateway, "_apply", apply_and_tell), *events_not_pushed()]


def ids_forgotten_at_start() -> list[Patch]:
    """A start does not learn which idempotency keys were used."""
    fill = data_folder._fill

    def fill_and_forget(opened: Any, *more: Any) -> None:
        fill(opened, *more)
        opened.event_log._by_key.clear()

    return [(data_folder, "_fill", fill_and_forget)]


def body_not_compared() -> list[Patch]:
    """A repeated id gets its first answer, whatever the request."""
    return [(Gateway, "_first_time", lambda self, seq, request: self._entered(seq)[1])]


def last_group_left_out() -> list[Patch]:
    """A start does not replay the end of the journal."""
    recover, replay = recovery.recover, recovery.replay

    def recover_less(journal: Any, **more: Any) -> Any:
        def replay_less(machine: Any, group: Any, after: int = 0, until: int = SEQ_MAX) -> None:
            if group.last < journal.last or journal.last < 20:
                replay(machine, group, after, until)

        recovery.replay = replay_less
        try:
            return recover(journal, **more)
        finally:
            recovery.replay = replay

    return [(data_folder, "recover", recover_less)]


def entries_not_synced() -> list[Patch]:
    """An entry is acknowledged when it is written, and the disk has not been asked to keep it."""
    opened = wal.open_for_writing

    def hasty(*values: Any) -> sqlite3.Connection:
        connection = opened(*values)
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    return [(wal, "open_for_writing", hasty)]


def found_entries_not_synced() -> list[Patch]:
    """A start tells of entries that may still be in the system's memory alone."""
    return [(wal, "make_durable", lambda connection, folder: None)]


def snapshot_of_later() -> list[Patch]:
    """A snapshot holds the state at its end, and claims that of its beginning."""

    def begin(
        self: Any, hold: Callable[[], bytes], store: Callable[[bytes, bytes], None], draw: Any
    ) -> None:
        self._store, self._draw, self._head = lambda body, head: store(hold(), head), draw, b""
        self._body = b""

    return [(LoopCopy, "__init__", begin)]


def clock_may_fall() -> list[Patch]:
    """A start trusts the wall clock."""
    begin = Clock.__init__

    def begin_now(self: Any, not_before: int, *more: Any, **named: Any) -> None:
        begin(self, 0, *more, **named)

    return [(Clock, "__init__", begin_now)]


def resumed_after_next() -> list[Patch]:
    """A resumed stream misses one event."""
    events_after = Gateway.events_after

    async def after_next(self: Gateway, holder: str, n: int, most: int | None = None) -> Any:
        return (await events_after(self, holder, n, most))[1 if n else 0 :]

    return [(Gateway, "events_after", after_next)]


def cursor_before_delivery() -> list[Patch]:
    """A webhook's events count as delivered before they are sent."""
    send = Deliverer._send

    async def count_and_send(self: Deliverer, endpoint: Endpoint, batch: Batch) -> None:
        endpoint.cursor = replace(endpoint.cursor, delivered=batch.through)
        await send(self, endpoint, batch)

    return [(Deliverer, "_send", count_and_send)]


def ids_of_everybody() -> list[Patch]:
    """Idempotency keys are shared by all holders."""
    return [
        (
            EventLog,
            "find",
            lambda self, holder, id: next(
                (keys[id] for keys in self._by_key.values() if id in keys), None
            ),
        )
    ]


def orders_outlive_sessions() -> list[Patch]:
    """Orders of lost sessions stay, after a start and after a stop."""
    return [(maintenance, "cancel_orphans", lambda gateway, at: 0)]


def revoked_still_heard() -> list[Patch]:
    """Sessions of a revoked key continue."""
    return [(Gateway, "_cut_off", lambda self, key: None)]


def events_not_pushed() -> list[Patch]:
    """Followers get events only when they reconnect."""
    return [(Gateway, "_tell", lambda self, followers, event, origin: None)]


def holds_end_when_asked() -> list[Patch]:
    """Holds and budgets end only at the next request."""

    async def wait(gateway: Gateway) -> None:
        pass

    return [(maintenance, "end_holds", wait)]


def quote_before_commit() -> list[Patch]:
    """A quote in a session is sent before the state behind it is durable."""
    when_durable = Gateway.when_durable

    def deliver_quotes_at_once(self: Gateway, deliver: Any, message: Any, *lose: Any) -> None:
        if isinstance(message, QuoteReply):
            deliver(message)
        else:
            when_durable(self, deliver, message, *lose)

    return [(Gateway, "when_durable", deliver_quotes_at_once)]


def answers_500_once() -> list[Patch]:
    """The first request under an id fails before anything is done."""
    carry_out, met = HttpEndpoint._carry_out, set[str]()

    def carry_out_the_second_time(self: HttpEndpoint, call: Call) -> Any:
        if call.key and call.key not in met:
            met.add(call.key)
            raise RuntimeError("a bug on purpose")
        return carry_out(self, call)

    return [(HttpEndpoint, "_carry_out", carry_out_the_second_time)]


# -- bugs of the market
#
# The compiled market calls its own functions directly, so a bug cannot be put inside. It is made
# where the service calls the exchange: after each command, the leases that a market with the bug
# would have ended as well are ended, and told as it would tell them.


def lost_at_the_limit() -> list[Patch]:
    """>= for >: a lease is lost as soon as its rate reaches its limit."""
    return _also_lost(
        lambda lease, now: (
            lease.rate == lease.limit and (lease.hold_until is None or lease.hold_until <= now)
        )
    )


def hold_ignored() -> list[Patch]:
    """A lease is lost for price though it is held."""
    return _also_lost(lambda lease, now: lease.limit is not None and lease.rate > lease.limit)


def _also_lost(is_lost: Callable[[LeaseView, int], bool]) -> list[Patch]:
    apply = Exchange.apply

    def apply_and_lose(self: Exchange, at: int, request: Request) -> Applied:
        applied, market = apply(self, at, request), self.market
        if applied.refusal is not None:
            return applied
        for before in market.leases():
            lease = market.lease(before.tenant, before.lease)
            if lease is not None and lease.end is None and is_lost(lease, market.now):
                gives_up = Relinquish(lease.tenant, lease.lease)
                more = Request(lease.tenant, SERVICE, "", b"", gives_up)
                applied = _joined(market, applied, apply(self, market.now, more))
        return applied

    return [(Exchange, "apply", apply_and_lose)]


def _joined(market: Market, first: Applied, then: Applied) -> Applied:
    events = [_for_price(market, event) for event in then.events]
    return replace(
        first,
        events=(*first.events, *events),
        tenants=(*first.tenants, *then.tenants),
        numbers=(*first.numbers, *then.numbers),
    )


def _for_price(market: Market, event: Event) -> Event:
    if not isinstance(event, LeaseEnded):
        return event
    return replace(
        event,
        reason=EndReason.FLOOR_RAISED
        if market.floor(event.leaf) >= event.rate
        else EndReason.OUTBID,
    )


BUGS = {name.replace("_", "-"): bug for name, bug in bugs_among(globals()).items()}


def planted(bug: str | None) -> AbstractContextManager[None]:
    """The code with a bug in it, for a while. Compiled functions cannot be replaced."""
    assert bug is None or market_form() == "interpreted", "set LAISSEZ_MARKET=interpreted"
    return replaced(BUGS[bug]() if bug else [])
