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
    saved: Cursor | None  # the cursor in `beside.db`
    served: int  # its latest turn
    failures: int = 0  # in a row
    last_error: str | None = None
    next_at: int = 0  # no attempt before this time
    is_swift: bool = False  # whether the receiver answered its last delivery at once

    @property
    def id(self) -> str:
        return webhook_name(self.record)

    def succeeded(self) -> None:
        self.failures = 0
        self.last_error = None
        self.next_at = 0

    def failed(self, why: str, now: int, chance: float) -> None:
        """Exponential backoff with jitter."""
        self.is_swift = False
        pause_s = min(BACKOFF_S * 2 ** min(self.failures, 30), BACKOFF_S_MAX)
        self.failures += 1
        self.last_error = why
        self.next_at = now + round(pause_s * (0.5 + chance / 2) * SECOND_US)

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
    def __init__(self, gateway: Gateway, cursors: Cursors, cancel: Callable[[str], None]) -> None:
        """`cancel` stops a delivery under way."""
        self._gateway = gateway
        self._registry = gateway.exchange.webhooks
        self._cursors = cursors
        self._cancel = cancel
        self._stored = self._load()  # of webhooks not in `all` yet
        self._seen = -1  # the last change of the registry that was applied
        self._saved_at = float("-inf")
        self.all: dict[str, Endpoint] = {}
        self.turns = 0  # turns of all webhooks so far

    @property
    def is_behind(self) -> bool:
        return self._seen != self._registry.changes

    def of(self, record: WebhookRecord) -> Endpoint:
        """The endpoint of a webhook. That of a new or restarted one is made, and queues as of
        now."""
        id = webhook_name(record)
        endpoint = self.all.get(id)
        if endpoint is None or endpoint.cursor.starts != record.starts:
            stored = endpoint.cursor if endpoint else self._stored.pop(id, None)
            self._cancel(id)
            cursor = self._cursor(record, stored)
            saved = cursor if cursor is stored else None
            endpoint = self.all[id] = Endpoint(record, cursor, saved, self.turns)
        return endpoint

    def _cursor(self, record: WebhookRecord, stored: Cursor | None) -> Cursor:
        """The stored cursor, unless it is of an earlier start or of another journal."""
        start, latest = (record.starts, record.started_at), self._gateway.latest(record.holder)
        if stored and (stored.starts, stored.started_at) == start and stored.delivered <= latest:
            return stored
        letters, dropped = (stored.letters, stored.dropped) if stored else (0, 0)
        return Cursor(*start, record.after, letters=letters, dropped=dropped)

    async def update(self) -> None:
        """Apply changes of the registry: remove deleted webhooks, add new and restarted ones."""
        while self.is_behind:
            self._seen = self._registry.changes
            live = {webhook_name(record): record for record in self._registry.live.values()}
            deleted = self.all.keys() - live.keys()
            for id in deleted:
                self._cancel(id)  # before its letters are deleted: the delivery could write more
                del self.all[id]
            with suppress(BesideFailed):  # the next start removes them
                await self._cursors.forget(deleted)
            for record in live.values():
                await self._delete_resent_letters(self.of(record))

    async def save(self, now: bool = False) -> None:
        """Save changed cursors, at most every SAVE_EVERY_S unless `now`."""
        time = asyncio.get_running_loop().time()
        if not self.has_unsaved or (not now and time < self._saved_at + SAVE_EVERY_S):
            return
        self._saved_at = time
        unsaved = [one for one in self.all.values() if one.saved is not one.cursor]
        cursors = {one.id: one.cursor for one in unsaved}
        try:
            await self._cursors.save(cursors)
        except BesideFailed as error:
            log.warning("webhook cursors could not be written", extra={"reason": str(error)})
            return
        for one in unsaved:
            one.saved = cursors[one.id]

    @property
    def has_unsaved(self) -> bool:
        return any(one.saved is not one.cursor for one in self.all.values())

    def _load(self) -> dict[str, Cursor]:
        live = [webhook_name(record) for record in self._registry.live.values()]
        try:
            found = self._cursors.load(live)
        except BesideFailed as error:
            log.warning("webhook cursors could not be read", extra={"reason": str(error)})
            found = {}
        if live and not found:
            log.warning(
                "webhook cursors are lost: deliveries start again from each webhook's creation, or"
                " the oldest event that is kept"
            )
        return found

    async def _delete_resent_letters(self, endpoint: Endpoint) -> None:
        """Delete the dead letters of events that a restarted webhook gets again. Letters of events
        no longer in the history stay."""
        cursor, holder = endpoint.cursor, endpoint.record.holder
        if endpoint.saved is None and cursor.letters:
            latest = self._gateway.latest(holder)
            after = max(cursor.delivered, self._gateway.event_log.gone_until(holder, latest))
            with suppress(BesideFailed):
                endpoint.cursor = await self._cursors.delete_letters(endpoint.id, cursor, after)
                endpoint.saved = endpoint.cursor
