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
from laissez_bench.mix import POOL, Held, Pool, Tenant

HTTP_CONNECTIONS = 64
SESSIONS = 4  # of the eight that a tenant may have
COMMANDS = 100  # in a frame
BATCH = 500
WEBHOOK_ID = re.compile(r'"id":"(whk_[^"]+)"')
_seeds = itertools.count(1)
ANY_REQUEST = re.compile(r"[A-Z]+ /\S*( .+)?")  # a kind of noise by itself


class Noise:
    """The requests of one noisy tenant, as texts like `POST /v1/orders {...}`."""

    def __init__(self, kind: str, held: Held, pool: Pool, seed: int) -> None:
        self.held = held
        self.key = f"{held.key}x" if kind == "keys" else held.key
        self.kind = kind
        self.pool = pool
        self.seed = seed
        self.numbers = itertools.count()
        self.webhooks: list[str] = []

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
    def __init__(self, load: Load, noise: Noise) -> None:
        super().__init__(load, Tenant(0, noise.held, load.pool, noise.seed))
        self._noise = noise
        self._request = KINDS.get(noise.kind, (noise.kind, 0, 0))[0]

    def send(self, due: float) -> None:
        noise, request = self._noise, self._request
        number = next(noise.numbers)
        text = request if isinstance(request, str) else request(noise, number)
        method, path, *body = text.split(" ", 2)
        key = "" if method == "GET" else f"Idempotency-Key: n{noise.seed}-{number}\r\n"
        line = f"{method} {path}"
        self.transport.write(http_request(line, noise.key, key, "".join(body).encode()))

    def heard(self, body: bytes, is_problem: bool) -> None:
        self._noise.heard(body)


async def make_noise(plan: Plan, kind: str, held: Held) -> Load:
    """Begin the noise. It ends when the load is closed."""
    _, connections, sessions = KINDS.get(kind, (kind, HTTP_CONNECTIONS, 0))
    # ids made from an earlier noise's seed would be repeats, which the server only looks up
    seed = plan.seed + next(_seeds)
    load = Load(msgspec.structs.replace(plan, connections=sessions, tenants=[held], seed=seed))
    load.stop = math.inf
    await load.connect()
    make = partial(NoisyConnection, load, Noise(kind, held, load.pool, seed))
    for _ in range(connections):
        load.connections.append(await connect(plan.host, plan.port, make))
    for connection in load.connections:
        connection.begin(COMMANDS)
    return load
