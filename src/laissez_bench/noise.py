"""Noise: one tenant that sends requests of one kind as fast as it can, over many connections."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from functools import partial

import msgspec

from laissez.exchange.webhooks import WEBHOOKS_MAX
from laissez_bench.generator import Load, Plan, Rest, connect, http_request
from laissez_bench.mix import POOL, Held, Tenant

HTTP_CONNECTIONS = 64
SESSIONS = 4  # of the eight that a tenant may have
COMMANDS = 100  # in a frame
BATCH = 500
WEBHOOK_ID = re.compile(r'"id":"(whk_[^"]+)"')
_seeds = itertools.count(1)
ANY_REQUEST = re.compile(r"[A-Z]+ /\S*( .+)?")  # a kind of noise by itself


class Noise(Load):
    """The load of one noisy tenant. Its requests are texts like `POST /v1/orders {...}`, but those
    of its sessions. The noise ends when the load is closed."""

    def __init__(self, plan: Plan, kind: str, held: Held) -> None:
        self.request, self.http_connections, sessions = KINDS.get(kind, (kind, HTTP_CONNECTIONS, 0))
        # ids made from an earlier noise's seed would be repeats, which the server only looks up
        seed = plan.seed + next(_seeds)
        own = msgspec.structs.replace(plan, connections=sessions, tenants=[held], seed=seed)
        super().__init__(own)
        self.stop = math.inf
        self.key = f"{held.key}x" if kind == "keys" else held.key
        self.numbers = itertools.count()
        self.webhooks: list[str] = []

    async def begin(self) -> None:
        await self.connect()
        for _ in range(self.http_connections):
            make = partial(NoisyConnection, self)
            self.connections.append(await connect(self.plan.host, self.plan.port, make))
        for connection in self.connections:
            connection.begin(COMMANDS)

    def order(self, number: int) -> str:
        return f"POST /v1/orders {_json(alternatives=self.pool.alternatives[number % POOL])}"

    def batch(self, number: int) -> str:
        drawn = self.pool.alternatives[:BATCH]
        orders = [{"type": "place_order", "alternatives": one} for one in drawn]
        return f"POST /v1/batch {_json(commands=orders)}"

    def redelivery(self, number: int) -> str:
        """A redelivery to a webhook that wants no event there is: each time, the server reads all
        events to find none."""
        if not number:
            return "GET /v1/webhooks"  # of an earlier noise
        if len(self.webhooks) < WEBHOOKS_MAX:
            webhook = _json(url="https://127.0.0.1:1/", types=["budget.warning"], after=0)
            return f"POST /v1/webhooks {webhook}"
        id = self.webhooks[number % WEBHOOKS_MAX]
        return f'POST /v1/webhooks/{id}/redeliver {{"after": 0}}'

    def heard(self, answer: bytes) -> None:
        found = WEBHOOK_ID.findall(answer.decode())
        self.webhooks += [id for id in found if id not in self.webhooks]


def _json(**fields: object) -> str:
    return msgspec.json.encode(fields).decode()


# kind: the request, its HTTP connections, and sessions beside them that send commands
KINDS: dict[str, tuple[str | Callable[[Noise, int], str], int, int]] = {
    "commands": (Noise.order, HTTP_CONNECTIONS, SESSIONS),
    "unreadable": ('POST /v1/orders {"alternatives": 7}', HTTP_CONNECTIONS, 0),
    "keys": ("GET /v1/orders", HTTP_CONNECTIONS, 0),
    "questions": ("GET /v1/orders", HTTP_CONNECTIONS, SESSIONS),
    "events": ("GET /v1/events?after=0&limit=1000", HTTP_CONNECTIONS, 0),
    "bills": ("GET /v1/bills", HTTP_CONNECTIONS, 0),
    "batches": (Noise.batch, 8, 0),
    "webhooks": (Noise.redelivery, 8, 0),
}


class NoisyConnection(Rest):
    def __init__(self, noise: Noise) -> None:
        super().__init__(noise, Tenant(0, noise.plan.tenants[0], noise.pool, noise.plan.seed))
        self._noise = noise

    def send(self, due: float) -> None:
        noise, number = self._noise, next(self._noise.numbers)
        text = noise.request if isinstance(noise.request, str) else noise.request(noise, number)
        method, path, *body = text.split(" ", 2)
        key = "" if method == "GET" else f"Idempotency-Key: n{noise.plan.seed}-{number}\r\n"
        request = http_request(f"{method} {path}", noise.key, key, "".join(body).encode())
        self.transport.write(request)

    def heard(self, body: bytes, is_problem: bool) -> None:
        self._noise.heard(body)
