"""Noise: one tenant that asks as fast as it can, in one of several ways, over many connections."""

from __future__ import annotations

import asyncio
import itertools
import math
import re
from asyncio import Transport
from collections.abc import Callable
from typing import Any, cast

import msgspec

from laissez.wire.limits import WEBHOOKS_MAX
from laissez_bench.cluster import Held
from laissez_bench.generator import Load, Plan, whole_body
from laissez_bench.mix import POOL, Pool

HTTP_CONNECTIONS = 64
SESSIONS = 4  # of the eight that a tenant may have
COMMANDS = 100  # in a frame
BATCH = 500
PAGE = 1_000
NOBODY_THERE = "https://127.0.0.1:1/"
WEBHOOK_ID = re.compile(rb'"id":"(whk_[^"]+)"')
ANY_REQUEST = re.compile(r"[A-Z]+ /\S*( .+)?")  # a kind of noise by itself


class Noise:
    """Makes the requests of one noisy tenant."""

    def __init__(self, plan: Plan, kind: str, held: Held) -> None:
        self.kind = kind
        self.key = held.key
        self._seed = plan.seed
        self._alternatives = Pool(plan.scopes, plan.seed).alternatives
        self._numbers = itertools.count()
        self._webhooks: set[str] = set()

    def request(self, method: str, path: str, body: bytes = b"", key: str | None = None) -> bytes:
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer"
            f" {key or self.key}\r\n"
        )
        if method != "GET":
            head += (
                f"Idempotency-Key: n{self._seed}-{next(self._numbers)}\r\nContent-Type:"
                f" application/json\r\nContent-Length: {len(body)}\r\n"
            )
        return head.encode() + b"\r\n" + body

    def order(self) -> bytes:
        alternatives = self._alternatives[next(self._numbers) % POOL]
        return self.request(
            "POST", "/v1/orders", msgspec.json.encode({"alternatives": alternatives})
        )

    def unreadable(self) -> bytes:
        return self.request("POST", "/v1/orders", b'{"alternatives": 7}')

    def wrong_key(self) -> bytes:
        return self.request("GET", "/v1/orders", key=f"{self.key}x")

    def question(self) -> bytes:
        return self.request("GET", "/v1/orders")

    def any_request(self) -> bytes:
        method, path, *body = self.kind.split(" ", 2)
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
            {"type": "place_order", "alternatives": alternatives}
            for alternatives in self._alternatives[:BATCH]
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
        self._answer = b""
        self.transport: Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(Transport, transport)

    def begin(self) -> None:
        self.transport.write(self._make(self._noise))

    def data_received(self, data: bytes) -> None:
        self._answer += data
        if (body := whole_body(self._answer)) is not None:
            self._answer = b""
            self._noise.heard(body)
            self.begin()


async def connect(plan: Plan, kind: str, held: Held) -> list[Any]:
    """All connections, which have begun to ask."""
    loop = asyncio.get_running_loop()
    make, connections, sessions = KINDS.get(kind, (Noise.any_request, HTTP_CONNECTIONS, 0))
    noise = Noise(plan, kind, held)
    loud: list[Any] = []
    for _ in range(connections):
        loud.append(
            (await loop.create_connection(lambda: HttpNoise(noise, make), plan.host, plan.port))[1]
        )
    load = Load(msgspec.structs.replace(plan, connections=sessions, tenants=[held]))
    load.stop = math.inf
    await load.connect()
    for session in load.connections:
        session.begin(COMMANDS)
    for http in loud:
        http.begin()
    return loud + load.connections
