"""Noise: one tenant that asks as fast as it can, in one of several ways, over many connections.
Started by `laissez_bench.open_load`.

    python -m laissez_bench.noise < plan.json

It says "ready" once all connections are open, and goes on until it is ended.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import sys
from collections.abc import Callable
from typing import Any, cast

import msgspec

from laissez.wire.limits import WEBHOOKS_MAX
from laissez_bench.cluster import Held
from laissez_bench.cores import give_way
from laissez_bench.load import Plan, SessionConnection, Tally
from laissez_bench.mix import Tenant

HTTP_CONNECTIONS = 64
SESSIONS = 4  # of the eight that a tenant may have
COMMANDS = 100  # in a frame
BATCH = 500
PAGE = 1_000
NOBODY_THERE = "https://127.0.0.1:1/"
WEBHOOK_ID = re.compile(rb'"id":"(whk_[^"]+)"')
ANY_REQUEST = re.compile(r"[A-Z]+ /\S*( .+)?")  # a kind of noise by itself


class NoisePlan(msgspec.Struct):
    kind: str
    host: str
    port: int
    held: Held
    scopes: list[str]
    seed: int


class Noise:
    """Makes the requests of one noisy tenant."""

    def __init__(self, plan: NoisePlan) -> None:
        self.plan = plan
        self.tenant = Tenant(0, plan.held, plan.scopes, plan.seed)
        self._numbers = itertools.count()
        self._webhooks: set[str] = set()

    def request(self, method: str, path: str, body: bytes = b"", key: str | None = None) -> bytes:
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer"
            f" {key or self.plan.held.key}\r\n"
        )
        if method != "GET":
            head += (
                f"Idempotency-Key: n{self.plan.seed}-{next(self._numbers)}\r\nContent-Type:"
                f" application/json\r\nContent-Length: {len(body)}\r\n"
            )
        return head.encode() + b"\r\n" + body

    def order(self) -> bytes:
        return self.request(
            "POST", "/v1/orders", msgspec.json.encode({"alternatives": self.tenant._alternatives()})
        )

    def unreadable(self) -> bytes:
        return self.request("POST", "/v1/orders", b'{"alternatives": 7}')

    def wrong_key(self) -> bytes:
        return self.request("GET", "/v1/orders", key=f"{self.plan.held.key}x")

    def question(self) -> bytes:
        return self.request("GET", "/v1/orders")

    def any_request(self) -> bytes:
        method, path, *body = self.plan.kind.split(" ", 2)
        return self.request(method, path, "".join(body).encode())

    def events(self) -> bytes:
        return self.request("GET", f"/v1/events?after=0&limit={PAGE}")

    def bill(self) -> bytes:
        return self.request("GET", "/v1/bills")

    def redelivery(self) -> bytes:
        """Of a webhook that wants nothing of what there is: to find that out, the server reads all
        of it, each time from the beginning."""
        number = next(self._numbers)
        if not number:
            return self.request("GET", "/v1/webhooks")  # of an earlier noise
        if len(self._webhooks) < WEBHOOKS_MAX:
            return self.request(
                "POST",
                "/v1/webhooks",
                msgspec.json.encode({"url": NOBODY_THERE, "types": ["budget.warning"], "after": 0}),
            )
        return self.request(
            "POST",
            f"/v1/webhooks/{sorted(self._webhooks)[number % WEBHOOKS_MAX]}/redeliver",
            b'{"after": 0}',
        )

    def heard(self, answer: bytes) -> None:
        self._webhooks |= {found.decode() for found in WEBHOOK_ID.findall(answer)}

    def batch(self) -> bytes:
        commands = [
            {"type": "place_order", "alternatives": self.tenant._alternatives()}
            for _ in range(BATCH)
        ]
        return self.request("POST", "/v1/batch", msgspec.json.encode({"commands": commands}))


# kind: what its connections ask for over HTTP, how many there are, how many sessions there are
# beside them
KINDS: dict[str, tuple[Callable[[Noise], bytes], int, int]] = {
    "commands": (Noise.order, HTTP_CONNECTIONS, SESSIONS),
    "unreadable": (Noise.unreadable, HTTP_CONNECTIONS, 0),
    "keys": (Noise.wrong_key, HTTP_CONNECTIONS, 0),
    "questions": (Noise.question, HTTP_CONNECTIONS, SESSIONS),
    "events": (Noise.events, HTTP_CONNECTIONS, 0),
    "bills": (Noise.bill, HTTP_CONNECTIONS, 0),
    "batches": (Noise.batch, 8, 0),
    "webhooks": (Noise.redelivery, 8, 0),
}


class HttpNoise(asyncio.Protocol):
    def __init__(self, noise: Noise, make: Callable[[Noise], bytes]) -> None:
        self._noise = noise
        self._make = make
        self._buffer = bytearray()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def begin(self) -> None:
        self.transport.write(self._make(self._noise))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end >= 0:
            size = int(
                bytes(self._buffer[:end])
                .lower()
                .split(b"content-length:", 1)[1]
                .split(b"\r\n", 1)[0]
            )
            if len(self._buffer) >= end + 4 + size:
                self._noise.heard(bytes(self._buffer[end + 4 : end + 4 + size]))
                del self._buffer[: end + 4 + size]
                self.begin()


class SessionNoise(SessionConnection):
    """Sends the next frame when the last has been answered."""

    waits_for = ""

    def begin(self) -> None:
        messages = [self.tenant.next() for _ in range(COMMANDS)]
        self.waits_for = messages[-1]["id"]
        self._write(messages)

    def _heard(self, message: dict[str, Any]) -> int:
        if self.waits_for and message.get("id") == self.waits_for:
            self.begin()
        return 0


async def connect(plan: NoisePlan) -> list[Any]:
    """All connections, which have yet to begin."""
    loop = asyncio.get_running_loop()
    make, connections, sessions = KINDS.get(plan.kind, (Noise.any_request, HTTP_CONNECTIONS, 0))
    noise = Noise(plan)
    loud: list[Any] = []
    for _ in range(connections):
        loud.append(
            (await loop.create_connection(lambda: HttpNoise(noise, make), plan.host, plan.port))[1]
        )
    common = Plan(
        "session",
        plan.host,
        plan.port,
        sessions,
        COMMANDS,
        0,
        0,
        plan.seed,
        [plan.held],
        plan.scopes,
    )
    for number in range(sessions):
        tenant = Tenant(number + 1, plan.held, plan.scopes, plan.seed)
        session = (
            await loop.create_connection(
                lambda t=tenant: SessionNoise(common, 0, t, plan.held.key, Tally(common)),  # type: ignore[misc]
                plan.host,
                plan.port,
            )
        )[1]
        await session.ready
        loud.append(session)
    return loud


async def make_noise(plan: NoisePlan) -> None:
    loud = await connect(plan)
    print("ready", flush=True)
    for connection in loud:
        connection.begin()
    await asyncio.Event().wait()


def main() -> None:
    import uvloop

    # what the others notice is to be the server's doing, not that two loads share a core
    give_way()
    uvloop.run(make_noise(msgspec.json.decode(sys.stdin.buffer.read(), type=NoisePlan)))


if __name__ == "__main__":
    main()
