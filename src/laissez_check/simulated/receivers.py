"""A receiver of a tenant's webhook: it fails, stalls and hangs up, and checks that no event is left
out, foreign or forged."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random
from typing import Any

from laissez.client.errors import LaissezError
from laissez.client.webhooks import verify
from laissez_check.clients.answers import plain
from laissez_check.clients.holder import Holder
from laissez_check.clients.ledger import Json, Ledger
from laissez_check.finding import Finding
from laissez_check.simulated.network import Network

PORT = 9001
ANY_TIME_S = 1e12  # wall clocks jump here
OUTCOMES = (200, 200, 200, 204, 500, 503, None, 0)  # None: says nothing; 0: hangs up


class Receiver:
    def __init__(self, network: Network, ledger: Ledger, draw: Random) -> None:
        self._network = network
        self._ledger = ledger
        self._draw = draw
        self.holder = ""
        self.webhook = ""
        self._secrets: list[str] = []
        self.is_calm = False
        self.last = 0  # all events up to this one were taken
        self.deliveries = 0
        network.listen(PORT, lambda: _Taking(self))

    async def subscribe(self, holder: Holder) -> None:
        """Try to make a webhook and learn its secret. A repeated answer does not have the
        secret."""
        self.holder = holder.name
        with suppress(LaissezError):
            if not self.webhook:
                made = await holder.rest.create_webhook(
                    f"http://127.0.0.1:{PORT}/events",
                    after=0,
                    idempotency_key=f"hook-{holder.name}",
                )
                self.webhook = made.id
                self._secrets += [made.secret] if made.secret else []
            if not self._secrets:
                rotated = await holder.rest.rotate_webhook_secret(self.webhook)
                self._secrets += [rotated.secret] if rotated.secret else []

    @property
    def is_subscribed(self) -> bool:
        return bool(self.webhook and self._secrets)

    def take(self, headers: dict[str, str], body: bytes) -> int | None:
        """Check a delivery. Returns the status, 0 to hang up, or None to stall."""
        status = 200 if self.is_calm else self._draw.choice(OUTCOMES)
        if not self._secrets:
            return 503
        try:
            delivery = verify(self._secrets, headers, body, tolerance_s=ANY_TIME_S, now=0)
        except LaissezError as error:
            self._ledger.breaks(f"W1: a delivery to {self.holder} is not genuine: {error}")
            return 400
        self.deliveries += 1
        events: list[Json] = plain(delivery.events)
        if delivery.webhook != self.webhook or events[0]["n"] > self.last + 1:
            self._ledger.breaks(
                f"W2: {self.holder} took events up to {self.last}, and is sent those from"
                f" {events[0]['n']} of {delivery.webhook}"
            )
        for before, one in zip([None, *events], events, strict=False):
            if before is not None and one["n"] != before["n"] + 1:
                self._ledger.breaks(
                    f"W2: a delivery to {self.holder} tells event {one['n']} after {before['n']}"
                )
            self._ledger.saw(self.holder, one, "a delivery")
        if status in (200, 204):
            self.last = max(self.last, events[-1]["n"])
        return status

    async def catch_up(self, latest: int, within_s: float) -> None:
        """Without faults, everything is delivered."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while self.last < latest:
                    await asyncio.sleep(0.25)
        if self.last < latest:
            raise Finding(
                f"W3: {latest} events of {self.holder} were to be delivered, and {self.last} were,"
                f" within {within_s} seconds without faults"
            )


class _Taking(asyncio.Protocol):
    """One request on one connection."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._come = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._come += data
        head, ended, body = self._come.partition(b"\r\n\r\n")
        if not ended:
            return
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
        if len(body) < int(headers["Content-Length"]):
            return
        status = self._receiver.take(headers, body)
        if status == 0:
            self._transport.abort()
        elif status is not None:
            self._transport.write(f"HTTP/1.1 {status} so\r\nContent-Length: 0\r\n\r\n".encode())
            self._transport.close()
