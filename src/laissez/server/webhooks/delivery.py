"""What is sent next, and what becomes of it: events in order, the same ones again until they are
delivered or given up."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from laissez.server.gateway import Gateway
from laissez.server.webhooks.cursors import Cursors
from laissez.server.webhooks.endpoints import Endpoint
from laissez.server.webhooks.sender import NotDelivered, Sender
from laissez.server.webhooks.signing import SigningKey
from laissez.server.webhooks.tally import Tally
from laissez.units import SECOND_US, format_time, parse_time
from laissez.wire.events import Numbered
from laissez.wire.ids import webhook_name
from laissez.wire.limits import WEBHOOK_BYTES_MAX, WEBHOOK_EVENTS_MAX
from laissez.wire.rendering import EVENT_CODES
from laissez.wire.webhooks import DeadLetter, Delivery

SWIFT_S = 1.0  # a receiver that takes a delivery within it is swift
# what is given up one by one is gathered, and written together
GIVE_UP_EVERY_US = 30 * SECOND_US
# failures in a row, about a quarter of an hour: the operator hears of it long before anything is
# given up
TOLD_AFTER = 10
GONE = "they left the history of events before they could be delivered"
_encode = msgspec.json.Encoder().encode

log = logging.getLogger("laissez.webhooks")


class Batch(msgspec.Struct, frozen=True):
    """Events to deliver; with them everything up to number `through` is done. Without any, it was
    passed over: nothing of it is wanted."""

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
        """Give up what is due, or try to deliver what is next; says whether to go on with it at
        once."""
        now = self._gateway.clock.now()
        if endpoint.failures and now < endpoint.next_at:
            await self._give_up_what_is_due(endpoint)
            return False
        batch = await self._next(endpoint)
        if batch is None or not batch.events:
            endpoint.succeeded()  # what had failed, if anything, is not to be delivered any more
            return batch is not None
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            await self._send(endpoint, batch)
        except NotDelivered as failed:
            await self._failed(endpoint, str(failed))
            return False
        self._delivered(endpoint, batch)
        endpoint.is_swift = loop.time() - began <= SWIFT_S
        return True

    # -- what is next

    async def _next(self, endpoint: Endpoint) -> Batch | None:
        """The next events that are wanted; where none of a page are, it is passed over, and that is
        all: others have their turn."""
        holder = endpoint.record.holder
        while (cursor := endpoint.cursor).delivered < (latest := self._gateway.latest(holder)):
            gone = self._gateway.event_log.gone_until(holder, latest)
            if cursor.delivered < gone:
                await self._bury(
                    endpoint,
                    [DeadLetter(cursor.delivered + 1, gone, None, GONE, self._now())],
                    gone,
                )
                continue
            most = (
                cursor.through - cursor.delivered
                if cursor.through > cursor.delivered
                else WEBHOOK_EVENTS_MAX
            )
            found = await self._gateway.events_after(holder, cursor.delivered, most)
            wanted = [
                one
                for one in found
                if endpoint.record.types is None
                or EVENT_CODES[str(one.event.__struct_config__.tag)] in endpoint.record.types
            ]
            if wanted:
                return _cut(webhook_name(endpoint.record), wanted, found[-1].n)
            cursor.delivered, cursor.through = found[-1].n, 0
            return Batch((), cursor.delivered)
        return None

    async def _send(self, endpoint: Endpoint, batch: Batch) -> None:
        record = endpoint.record
        endpoint.cursor.through = batch.through
        body = _encode(Delivery(webhook_name(record), batch.events))
        delivery = f"{webhook_name(record)}-{batch.events[0].n}-{batch.events[-1].n}"
        clock = self._gateway.clock
        try:
            headers = self._key.headers(record, delivery, body, clock.now() - clock.behind_us)
        except OSError as error:
            log.error(
                "the key that signs webhooks can be neither read nor written",
                extra={"reason": error.strerror},
            )
            raise NotDelivered("the service cannot sign now") from None
        await self._sender.post(record.url, headers, body)

    def _delivered(self, endpoint: Endpoint, batch: Batch) -> None:
        endpoint.cursor.delivered, endpoint.cursor.through = batch.through, 0
        endpoint.succeeded()
        self.tally.delivered += 1

    # -- what is given up

    async def _failed(self, endpoint: Endpoint, why: str) -> None:
        endpoint.failed(why, self._gateway.clock.now(), self._chance())
        self.tally.failed += 1
        if endpoint.failures == TOLD_AFTER:
            log.warning(
                "a webhook cannot be delivered to",
                extra={
                    "webhook": webhook_name(endpoint.record),
                    "holder": endpoint.record.holder,
                    "reason": why,
                },
            )
        await self._give_up_what_is_due(endpoint)

    async def _give_up_what_is_due(self, endpoint: Endpoint) -> None:
        """Everything that has waited for too long, not only what was tried: the receiver is not
        there."""
        not_before = 0
        while (batch := await self._next(endpoint)) is not None:
            now = self._gateway.clock.now()
            due = [one for one in batch.events if self._dies_at(endpoint, one) <= now]
            if due:
                why = f"not delivered in time; at last: {endpoint.last_error}"
                letters = [DeadLetter(one.n, one.n, one, why, self._now()) for one in due]
                await self._bury(
                    endpoint, letters, due[-1].n if len(due) < len(batch.events) else batch.through
                )
                not_before = now + GIVE_UP_EVERY_US
            if len(due) < len(batch.events):
                endpoint.dies_at = max(self._dies_at(endpoint, batch.events[len(due)]), not_before)
                return
        endpoint.succeeded()

    async def _bury(self, endpoint: Endpoint, letters: list[DeadLetter], through: int) -> None:
        cursor = endpoint.cursor
        rest = cursor.through if cursor.through > through else 0
        passed = replace(cursor, delivered=through, through=rest)
        endpoint.cursor = await self._cursors.bury(webhook_name(endpoint.record), passed, letters)
        self.tally.given_up += sum(1 + one.last - one.n for one in letters)
        log.warning(
            "a webhook's events were given up",
            extra={
                "webhook": webhook_name(endpoint.record),
                "events": f"{letters[0].n} to {letters[-1].last}",
            },
        )

    def _dies_at(self, endpoint: Endpoint, one: Numbered) -> int:
        return max(parse_time(one.event.at), endpoint.record.started_at) + self._dead_after_us

    def _now(self) -> str:
        return format_time(self._gateway.clock.now())


def _cut(webhook: str, wanted: list[Numbered], through: int) -> Batch:
    """As many as fit into one delivery, and always one."""
    size = len(_encode(Delivery(webhook, ()))) - 1
    for index, one in enumerate(wanted):
        size += len(_encode(one)) + 1
        if index and size > WEBHOOK_BYTES_MAX:
            return Batch(tuple(wanted[:index]), wanted[index - 1].n)
    return Batch(tuple(wanted), through)
