"""Deliver the events of one webhook in order, and retry until they are delivered or become dead
letters."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from laissez.server.gateway import Gateway
from laissez.server.webhooks.cursors import Cursors
from laissez.server.webhooks.endpoints import Endpoint
from laissez.server.webhooks.sender import NotDelivered, Sender
from laissez.server.webhooks.signing import SigningKey
from laissez.units import format_time, parse_time
from laissez.wire.events import Numbered
from laissez.wire.limits import WEBHOOK_BYTES_MAX, WEBHOOK_EVENTS_MAX
from laissez.wire.problems import ProblemError
from laissez.wire.rendering import EVENT_CODES
from laissez.wire.webhooks import DeadLetter, Delivery

SWIFT_S = 1.0  # a receiver that answers within this time is swift
# failures in a row, about a quarter of an hour: warn the operator long before events are given up
WARN_AFTER = 10
GONE = "they left the history of events, and no delivery of them is recorded"
_encode = msgspec.json.Encoder().encode

log = logging.getLogger("laissez.webhooks")


@dataclass
class Tally:
    """Counters since the start of the process, for the metrics."""

    delivered: int = 0  # deliveries, each with one event or more
    failed: int = 0
    given_up: int = 0  # events
    retrying: int = 0  # webhooks whose last attempt failed


class Batch(NamedTuple):
    """The events of one delivery, which moves the cursor to `through`. Empty if a page held no
    event of the wanted types."""

    events: tuple[Numbered, ...]
    through: int


class Deliverer:
    def __init__(
        self,
        gateway: Gateway,
        key: SigningKey,
        sender: Sender,
        cursors: Cursors,
        dead_after_us: int,
        chance: Callable[[], float],
    ) -> None:
        self._gateway = gateway
        self._key = key
        self._sender = sender
        self._cursors = cursors
        self._dead_after_us = dead_after_us
        self._chance = chance
        self.tally = Tally()

    async def serve(self, endpoint: Endpoint) -> bool:
        """Try one delivery; returns whether to go on at once."""
        batch = await self._next(endpoint)
        if batch is None or not batch.events:
            endpoint.succeeded()  # the events of a failed delivery need not be sent any more
            return batch is not None
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            await self._send(endpoint, batch)
        except NotDelivered as failed:
            await self._failed(endpoint, str(failed))
            return False
        endpoint.cursor = replace(endpoint.cursor, delivered=batch.through, through=0)
        endpoint.succeeded()
        endpoint.is_swift = loop.time() - began <= SWIFT_S
        self.tally.delivered += 1
        return True

    async def _next(self, endpoint: Endpoint) -> Batch | None:
        """The next events of the wanted types; None if there are no more events. Skips at most one
        page, so that other webhooks get their turn."""
        holder, types = endpoint.record.holder, endpoint.record.types
        while (cursor := endpoint.cursor).delivered < (latest := self._gateway.latest(holder)):
            gone = self._gateway.event_log.gone_until(holder, latest)
            if cursor.delivered < gone:
                letter = DeadLetter(cursor.delivered + 1, gone, None, GONE, self._now())
                await self._add_letters(endpoint, [letter], gone)
                continue
            # repeat a failed delivery with the same events
            left = cursor.through - cursor.delivered
            most = left if left > 0 else WEBHOOK_EVENTS_MAX
            found = await self._gateway.events_after(holder, cursor.delivered, most)
            wanted = [one for one in found if types is None or _code(one) in types]
            if wanted:
                return _fitting(endpoint.id, wanted, found[-1].n)
            endpoint.cursor = replace(cursor, delivered=found[-1].n, through=0)
            return Batch((), found[-1].n)
        return None

    async def _send(self, endpoint: Endpoint, batch: Batch) -> None:
        endpoint.cursor = replace(endpoint.cursor, through=batch.through)
        body = _encode(Delivery(endpoint.id, batch.events))
        delivery = f"{endpoint.id}-{batch.events[0].n}-{batch.events[-1].n}"
        clock = self._gateway.clock
        try:
            now = clock.now() - clock.behind_us
            headers = self._key.headers(endpoint.record, delivery, body, now)
        except ProblemError:
            raise NotDelivered("the service cannot sign now") from None
        await self._sender.post(endpoint.record.url, headers, body)

    async def _failed(self, endpoint: Endpoint, why: str) -> None:
        endpoint.failed(why, self._gateway.clock.now(), self._chance())
        self.tally.failed += 1
        if endpoint.failures == WARN_AFTER:
            log.warning(
                "a webhook cannot be delivered to",
                extra={"webhook": endpoint.id, "holder": endpoint.record.holder, "reason": why},
            )
        await self._give_up_expired(endpoint)

    async def _give_up_expired(self, endpoint: Endpoint) -> None:
        """Give up all events that waited too long, not only those tried: the receiver is gone."""
        latest = self._gateway.clock.now() - self._dead_after_us
        if endpoint.record.started_at > latest:
            return
        while (batch := await self._next(endpoint)) is not None:
            expired = [one for one in batch.events if parse_time(one.event.at) <= latest]
            is_all = len(expired) == len(batch.events)
            if expired:
                why = f"not delivered in time; at last: {endpoint.last_error}"
                letters = [DeadLetter(one.n, one.n, one, why, self._now()) for one in expired]
                through = batch.through if is_all else expired[-1].n
                await self._add_letters(endpoint, letters, through)
            if not is_all:
                return
        endpoint.succeeded()

    async def _add_letters(
        self, endpoint: Endpoint, letters: list[DeadLetter], through: int
    ) -> None:
        cursor = endpoint.cursor
        rest = cursor.through if cursor.through > through else 0
        passed = replace(cursor, delivered=through, through=rest)
        endpoint.cursor = await self._cursors.add_letters(endpoint.id, passed, letters)
        self.tally.given_up += sum(1 + one.last - one.n for one in letters)
        log.warning(
            "a webhook's events were given up",
            extra={"webhook": endpoint.id, "events": f"{letters[0].n} to {letters[-1].last}"},
        )

    def _now(self) -> str:
        return format_time(self._gateway.clock.now())


def _code(one: Numbered) -> int:
    return EVENT_CODES[str(one.event.__struct_config__.tag)]


def _fitting(webhook: str, wanted: list[Numbered], through: int) -> Batch:
    """As many events as fit into one delivery, and at least one."""
    size = len(_encode(Delivery(webhook, ()))) - 1
    for index, one in enumerate(wanted):
        size += len(_encode(one)) + 1
        if index and size > WEBHOOK_BYTES_MAX:
            return Batch(tuple(wanted[:index]), wanted[index - 1].n)
    return Batch(tuple(wanted), through)
