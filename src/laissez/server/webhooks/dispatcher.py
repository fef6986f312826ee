"""The fair queue of deliveries: at most one at a time per webhook, a few per holder, and
`deliveries_max` in all.

A slow or dead receiver holds one slot for a few seconds and then backs off. Swift receivers, which
answered their last delivery at once, go before slow and new ones and have reserved slots, so that
dead receivers never delay them. Among equals the holder with the fewest deliveries under way is
next, then the webhook that has waited longest.

Reading, signing and sending take time of the shared event loop. So a tenant's deliveries have a
rate limit, and a tenant over its limit takes no slot.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from laissez.exchange.commands import OPERATOR
from laissez.exchange.webhooks import WebhookRecord
from laissez.server.beside import Beside, BesideFailed
from laissez.server.gateway import Gateway
from laissez.server.rate_limits import Pace
from laissez.server.settings import Webhooks as WebhookSettings
from laissez.server.webhooks.addresses import Guard, NotAllowed, not_allowed, read_url
from laissez.server.webhooks.cursors import Cursors
from laissez.server.webhooks.delivery import Deliverer
from laissez.server.webhooks.endpoints import BACKOFF_S_MAX, SAVE_EVERY_S, Endpoint, Endpoints
from laissez.server.webhooks.sender import Sender
from laissez.server.webhooks.signing import FILE, SigningKey
from laissez.units import HOUR_US, SECOND_US
from laissez.wire.ids import webhook_name
from laissez.wire.limits import WEBHOOK_DELIVERIES_BURST, WEBHOOK_DELIVERIES_PER_SECOND
from laissez.wire.problems import Code, ProblemError
from laissez.wire.webhooks import DeadLetter, Webhook

PER_HOLDER_MAX = 4  # deliveries of one holder under way; the last slot is for a swift receiver
PER_TURN_MAX = 10  # deliveries to one webhook in a row
SWIFT_PART = 4  # one slot in this many is for swift receivers only
LOOKUPS_PER_DELIVERY = 4  # a lookup may outlast its delivery
GATHER_S = 0.05  # events within this time share one delivery

log = logging.getLogger("laissez.webhooks")


class Webhooks:
    """Runs in its gateway's event loop. Without a folder and a database, its state is in memory
    only."""

    def __init__(
        self,
        gateway: Gateway,
        settings: WebhookSettings,
        folder: Path | None = None,
        beside: Beside | None = None,
        chance: Callable[[], float] = random.random,
        gather_s: float = GATHER_S,
    ) -> None:
        self._gateway = gateway
        self._settings = settings
        self._gather_s = gather_s
        self._slow_max = max(1, settings.deliveries_max - settings.deliveries_max // SWIFT_PART)
        self.guard = Guard(settings.allow_addresses)  # of new webhooks
        lookups_max = LOOKUPS_PER_DELIVERY * settings.deliveries_max
        self.sender = Sender(Guard(settings.allow_addresses, lookups_max), settings)
        self.key = SigningKey(None if folder is None else folder / FILE, gateway.identity)
        self._cursors = Cursors(Beside(None, gateway.identity) if beside is None else beside)
        self._endpoints = Endpoints(gateway, self._cursors, self._cancel)
        self._deliverer = Deliverer(
            gateway, self.key, self.sender, self._cursors, _dead_after_us(gateway, settings), chance
        )
        self.tally = self._deliverer.tally
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._paces: dict[str, Pace] = {}  # of tenants that have, or had, webhooks
        self._woken = asyncio.Event()
        self._looking: set[str] = set()  # holders with a lookup under way

    # -- requests

    def view(self, record: WebhookRecord) -> Webhook:
        return self._endpoints.of(record).view()

    async def letters(self, record: WebhookRecord) -> list[DeadLetter]:
        try:
            return await self._cursors.letters(webhook_name(record))
        except BesideFailed:
            raise ProblemError(
                Code.OVERLOADED, "dead letters cannot be read now: try again later", 10
            ) from None

    async def check(self, holder: str, url: str) -> None:
        """Raise unless a webhook may have this URL."""
        if not self._settings.enabled:
            raise not_allowed("webhooks are switched off on this server")
        target = read_url(url, self._settings.allow_http)
        if holder in self._looking:
            raise ProblemError(
                Code.RATE_LIMITED,
                "the host of another webhook of yours is being looked up: try again in a moment",
                1,
            )
        self._looking.add(holder)
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                await self.guard.addresses(target.host)
        except (NotAllowed, TimeoutError):
            raise not_allowed(f"url: {NotAllowed()}") from None
        finally:
            self._looking.discard(holder)

    # -- deliveries

    async def run(self) -> None:
        if not self._settings.enabled:
            return
        if self._gateway.exchange.webhooks.live and not self.key.exists:
            log.error(
                "the key that signs webhooks is gone: receivers turn deliveries away until each"
                " secret is rotated"
            )
        self._gateway.on_news = self._news
        try:
            while True:
                await self._endpoints.update()
                self.tally.retrying = sum(one.failures > 0 for one in self._endpoints.all.values())
                await self._endpoints.save()
                self._start_due()
                await self._wait()
        finally:
            self._gateway.on_news = None
            await self._stop()

    def _news(self) -> None:
        """Called after every commit, so it must be cheap without webhooks."""
        if self._endpoints.all or self._endpoints.is_behind:
            self._woken.set()

    def _cancel(self, id: str) -> None:
        if id in self._under_way:
            self._under_way.pop(id).cancel()

    async def _wait(self) -> None:
        """Wait for new events or until an endpoint is due; then a little longer, so that events of
        the same moment share a delivery."""
        now = self._gateway.clock.now()
        # an endpoint that is already due waits for a slot
        due = [at for one in self._waiting() if (at := self._due_at(one, now)) > now]
        pauses = [(min(due) - now) / SECOND_US] if due else []
        if self._endpoints.has_unsaved:
            pauses.append(SAVE_EVERY_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(min(pauses, default=None)):
                await self._woken.wait()
        await asyncio.sleep(self._gather_s)
        self._woken.clear()

    def _waiting(self) -> Iterator[Endpoint]:
        """The endpoints with undelivered events and no delivery under way."""
        for id, endpoint in self._endpoints.all.items():
            if id not in self._under_way and self._is_behind(endpoint):
                yield endpoint

    def _is_behind(self, endpoint: Endpoint) -> bool:
        return endpoint.cursor.delivered < self._gateway.latest(endpoint.record.holder)

    def _due_at(self, endpoint: Endpoint, now: int) -> int:
        """When to try again: after the backoff, and then when its tenant is below its rate
        limit."""
        if endpoint.next_at > now:
            return endpoint.next_at
        return now + self._rest_us(endpoint.record.holder, now)

    def _start_due(self) -> None:
        """Start due deliveries as far as there are slots."""
        if self._gateway.failure is not None or self._gateway.stopping or self._endpoints.is_behind:
            return
        under_way = [self._endpoints.all[id] for id in self._under_way]
        busy = Counter(endpoint.record.holder for endpoint in under_way)
        free = self._settings.deliveries_max - len(under_way)
        free_for_slow = self._slow_max - sum(not endpoint.is_swift for endpoint in under_way)
        if free <= 0:
            return
        now = self._gateway.clock.now()
        due = [endpoint for endpoint in self._waiting() if self._due_at(endpoint, now) <= now]
        due.sort(key=lambda one: (not one.is_swift, busy[one.record.holder], one.served))
        for endpoint in due:
            holder, is_slow = endpoint.record.holder, not endpoint.is_swift
            if free <= 0 or (is_slow and free_for_slow <= 0):
                return
            if busy[holder] + is_slow < PER_HOLDER_MAX:
                self._start(endpoint)
                busy[holder] += 1
                free -= 1
                free_for_slow -= is_slow

    def _start(self, endpoint: Endpoint) -> None:
        self._endpoints.turns += 1
        endpoint.served = self._endpoints.turns
        self._under_way[endpoint.id] = asyncio.create_task(self._serve(endpoint))

    async def _serve(self, endpoint: Endpoint) -> None:
        """One turn of a webhook: up to PER_TURN_MAX deliveries."""
        id, holder = endpoint.id, endpoint.record.holder
        try:
            for _ in range(PER_TURN_MAX):
                goes_on = await self._deliverer.serve(endpoint)
                rests = self._rest_us(holder, self._gateway.clock.now(), deliveries=1) > 0
                if rests or not goes_on or not self._is_behind(endpoint):
                    break
        except ProblemError:
            pass  # the journal has failed, so nothing more is sent
        except BesideFailed as error:
            log.warning(
                "dead letters could not be written", extra={"webhook": id, "reason": str(error)}
            )
            self._postpone(endpoint)
        except Exception:
            log.exception("bug in the delivery to a webhook", extra={"webhook": id})
            self._postpone(endpoint)
        finally:
            if self._under_way.get(id) is asyncio.current_task():
                del self._under_way[id]
            self._woken.set()

    def _postpone(self, endpoint: Endpoint) -> None:
        """Back off after an error of the server, not of the receiver."""
        why = endpoint.last_error or "the service could not send it"
        endpoint.failed(why, self._gateway.clock.now(), 1.0)

    def _rest_us(self, holder: str, now: int, deliveries: int = 0) -> int:
        """Count deliveries against the tenant's rate limit; returns how long to make no more. The
        operator has no limit."""
        if holder == OPERATOR:
            return 0
        burst = WEBHOOK_DELIVERIES_BURST
        pace = self._paces.get(holder) or self._paces.setdefault(holder, Pace(burst, now))
        rest_s = pace.take(deliveries, WEBHOOK_DELIVERIES_PER_SECOND, burst, now)
        return round(rest_s * SECOND_US)

    async def _stop(self) -> None:
        """Cancel deliveries under way; they are sent again after the next start."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._endpoints.save(now=True)


def _dead_after_us(gateway: Gateway, settings: WebhookSettings) -> int:
    """Events are given up by the last attempt that can still read them in the history, and not
    before half of that."""
    history_us = round(gateway.limits.history_hours * HOUR_US)
    pause_us = round((BACKOFF_S_MAX + settings.timeout_s) * SECOND_US)
    readable_us = max(history_us - pause_us, history_us // 2)
    return min(round(settings.dead_after_hours * HOUR_US), readable_us)
