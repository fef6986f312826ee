"""The state of deliveries to each webhook: cursor, failures and next attempt. It follows the
registry of webhooks; the cursors are saved in `beside.db`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

import msgspec

from laissez.exchange.webhooks import WebhookRecord
from laissez.server.beside import BesideFailed
from laissez.server.gateway import Gateway
from laissez.server.webhooks.cursors import Cursor, Cursors
from laissez.units import SECOND_US, format_time
from laissez.wire.ids import webhook_name
from laissez.wire.rendering import optional_time, types_text
from laissez.wire.webhooks import Webhook

BACKOFF_S = 1.0
BACKOFF_S_MAX = 900.0
SAVE_EVERY_S = 1.0  # the shortest interval between saves of cursors

log = logging.getLogger("laissez.webhooks")


class Endpoint(msgspec.Struct):
    record: WebhookRecord
    cursor: Cursor
    failures: int = 0  # in a row
    last_error: str | None = None
    next_at: int = 0  # no attempt before this time
    dies_at: int | None = None  # when the first event of a delivery that failed is given up
    served: int = 0  # its latest turn
    is_swift: bool = False  # whether the receiver answered its last delivery at once

    @property
    def id(self) -> str:
        return webhook_name(self.record)

    def succeeded(self) -> None:
        self.failures = 0
        self.last_error = None
        self.next_at = 0
        self.dies_at = None

    def failed(self, why: str, now: int, chance: float) -> None:
        """Exponential backoff with jitter."""
        self.is_swift = False
        pause_s = min(BACKOFF_S * 2 ** min(self.failures, 30), BACKOFF_S_MAX)
        self.failures += 1
        self.last_error = why
        self.next_at = now + round(pause_s * (0.5 + chance / 2) * SECOND_US)

    def postponed(self, now: int) -> None:
        """Back off after an error of the server, not of the receiver."""
        self.dies_at = None
        self.failed(self.last_error or "the service could not send it", now, 1.0)

    def wakes_at(self) -> int:
        """The time of the next attempt, or when the oldest event expires."""
        return self.next_at if self.dies_at is None else min(self.next_at, self.dies_at)

    def view(self) -> Webhook:
        return Webhook(
            self.id,
            self.record.url,
            types_text(self.record.types),
            format_time(self.record.created_at),
            "retrying" if self.failures else "active",
            self.cursor.delivered,
            self.failures,
            self.last_error,
            optional_time(self.next_at if self.failures else None),
            self.cursor.letters,
            self.cursor.dropped,
        )


class Endpoints:
    def __init__(self, gateway: Gateway, cursors: Cursors) -> None:
        self._gateway = gateway
        self._registry = gateway.exchange.webhooks
        self._cursors = cursors
        # stored cursors of webhooks not in `all` yet; None: not loaded
        self._loaded: dict[str, Cursor] | None = None
        self._is_lost = False  # the cursors of live webhooks are missing
        self._seen = -1  # the last change of the registry that was applied
        self._saved_at = float("-inf")
        self.all: dict[str, Endpoint] = {}
        self.unsaved: set[str] = set()  # ids of webhooks whose cursor changed

    @property
    def is_behind(self) -> bool:
        return self._seen != self._registry.changes

    def of(self, record: WebhookRecord) -> Endpoint:
        """The endpoint of a webhook, which may not be in `all` yet."""
        endpoint = self.all.get(webhook_name(record))
        if endpoint is not None and endpoint.cursor.starts == record.starts:
            return endpoint
        return Endpoint(record, self._cursor(record, None if endpoint is None else endpoint.cursor))

    async def update(self, turn: int, cancel: Callable[[str], None]) -> None:
        """Apply changes of the registry: remove deleted webhooks, add new and restarted ones, which
        queue as of `turn`. `cancel` stops a delivery under way."""
        self._seen = self._registry.changes
        live = {webhook_name(record): record for record in self._registry.live.values()}
        over = [
            id
            for id, endpoint in self.all.items()
            if id not in live or endpoint.cursor.starts != live[id].starts
        ]
        before = {id: self.all.pop(id).cursor for id in over}
        for id in over:
            cancel(id)  # before its letters are deleted: the delivery could write more
        with suppress(BesideFailed):  # the next start removes them
            await self._cursors.forget([id for id in over if id not in live])
        for record in list(self._registry.live.values()):  # which may have changed meanwhile
            if (id := webhook_name(record)) not in self.all:
                endpoint = Endpoint(record, self._cursor(record, before.get(id)), served=turn)
                self.all[id] = endpoint
                self.unsaved.add(id)
                await self._delete_resent_letters(endpoint)
        self._loaded, self._is_lost = {}, False

    async def save(self, now: bool = False) -> None:
        """Save changed cursors, at most every SAVE_EVERY_S unless `now`."""
        loop = asyncio.get_running_loop()
        if not self.unsaved or (not now and loop.time() < self._saved_at + SAVE_EVERY_S):
            return
        saved, self.unsaved = self.unsaved & self.all.keys(), set()
        self._saved_at = loop.time()
        try:
            await self._cursors.save({id: self.all[id].cursor for id in saved})
        except asyncio.CancelledError:
            self.unsaved |= saved  # the result of the write is unknown
            raise
        except BesideFailed as error:
            self.unsaved |= saved
            log.warning("webhook cursors could not be written", extra={"reason": str(error)})

    def _cursor(self, record: WebhookRecord, before: Cursor | None) -> Cursor:
        """The cursor to resume from; `before` is that of a webhook that was restarted."""
        if self._loaded is None:
            self._loaded = self._load()
        found = self._loaded.get(webhook_name(record)) if before is None else before
        if (
            found is not None
            and (found.starts, found.started_at) == (record.starts, record.started_at)
            and found.delivered <= self._gateway.latest(record.holder)
        ):
            return found
        after = record.after
        if self._is_lost or (found is not None and found.starts >= record.starts):
            # events no longer in the history may have been delivered or not
            after = max(after, self._gone_until(record.holder))
        letters, dropped = (0, 0) if found is None else (found.letters, found.dropped)
        return Cursor(record.starts, record.started_at, after, 0, letters, dropped)

    def _gone_until(self, holder: str) -> int:
        return self._gateway.event_log.gone_until(holder, self._gateway.latest(holder))

    def _load(self) -> dict[str, Cursor]:
        try:
            found = self._cursors.load([webhook_name(one) for one in self._registry.live.values()])
        except BesideFailed as error:
            log.warning("webhook cursors could not be read", extra={"reason": str(error)})
            found = {}
        self._is_lost = bool(self._registry.live) and not found
        if self._is_lost:
            log.warning(
                "webhook cursors are lost: deliveries start again from each webhook's creation, or"
                " the oldest event that is kept"
            )
        return found

    async def _delete_resent_letters(self, endpoint: Endpoint) -> None:
        """Delete the dead letters of events that a restarted webhook gets again. Letters of events
        no longer in the history stay."""
        cursor, record = endpoint.cursor, endpoint.record
        if cursor.letters and cursor.delivered == record.after:
            after = max(cursor.delivered, self._gone_until(record.holder))
            with suppress(BesideFailed):
                endpoint.cursor = await self._cursors.delete_letters(endpoint.id, cursor, after)
