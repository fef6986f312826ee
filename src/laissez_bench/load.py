"""The load: a process of its own that keeps connections busy and times every answer. Started by
`laissez_bench.service`, which it reports to.

    python -m laissez_bench.load < plan.json > report.json

The protocols are spoken by hand, as plainly as they allow, so that the second core carries the load
and not a client library.
"""

from __future__ import annotations

import asyncio
import base64
import math
import sys
import time
from collections import deque
from itertools import pairwise
from typing import Any, Self, cast

import msgspec

from laissez_bench.cluster import Held
from laissez_bench.cores import cpu_seconds
from laissez_bench.mix import Message, Tenant

BATCH_COMMANDS = 100
READY_WITHIN_S = 10
SLOW_S = 0.25  # a service that keeps up answers sooner, also after a burst


class Plan(msgspec.Struct):
    load: str
    host: str
    port: int
    connections: int
    in_flight: int  # commands per connection that wait for their answers
    seconds: float
    warm_up_s: float
    seed: int
    tenants: list[Held]
    scopes: list[str]
    per_second: float | None = None  # over all connections; None: as fast as answers come
    server: int = 0  # its process


class Quarter(msgspec.Struct):
    """Of the time that was measured."""

    answered: int
    p50_ms: float
    p99_ms: float
    slow: int  # answers that took longer than `SLOW_S`
    server_cpu_s: float


class Report(msgspec.Struct):
    answered: int
    seconds: float
    p50_ms: float
    p99_ms: float
    problems: dict[str, int]
    quarters: list[Quarter]


class Times:
    """How long things took, as a histogram in steps of 1 %: hours of load do not fill the
    memory."""

    STEP = math.log(1.01)

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def add(self, seconds: float) -> None:
        step = round(math.log(max(seconds, 1e-6)) / self.STEP)
        self._counts[step] = self._counts.get(step, 0) + 1

    def __iadd__(self, other: Times) -> Self:
        for step, count in other._counts.items():
            self._counts[step] = self._counts.get(step, 0) + count
        return self

    @property
    def count(self) -> int:
        return sum(self._counts.values())

    def above(self, seconds: float) -> int:
        """How many took longer, give or take a step."""
        most = round(math.log(seconds) / self.STEP)
        return sum(count for step, count in self._counts.items() if step > most)

    def quantile_ms(self, share: float) -> float:
        """0 if there is nothing."""
        left = self.count * share
        for step in sorted(self._counts):
            left -= self._counts[step]
            if left < 0:
                return math.exp(step * self.STEP) * 1000
        return 0.0


class Tally:
    """Latencies of what was both sent and answered after the warm-up."""

    def __init__(self, plan: Plan) -> None:
        self.start = time.perf_counter() + plan.warm_up_s
        self.stop = self.start + plan.seconds
        self.quarters = [Times(), Times(), Times(), Times()]
        self.answered = 0
        self.over = False
        self.problems: dict[str, int] = {}

    def answer(self, sent: float, now: float) -> None:
        if self.start <= now < self.stop:
            self.answered += 1
            if sent >= self.start:
                self.quarters[int(4 * (now - self.start) / (self.stop - self.start))].add(
                    now - sent
                )

    def problem(self, code: str) -> None:
        self.problems[code] = self.problems.get(code, 0) + 1


class Connection(asyncio.Protocol):
    """A connection that sends its next requests whenever answers have come."""

    def __init__(self, plan: Plan, number: int, tenant: Tenant, key: str, tally: Tally) -> None:
        self.plan = plan
        self.number = number
        self.tenant = tenant
        self.key = key
        self.tally = tally
        self.buffer = bytearray()
        self.sent: dict[str, float] = {}
        self.due = 0.0
        self.transport: asyncio.Transport
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self.greeting())

    def connection_lost(self, error: Exception | None) -> None:
        if not self.ready.done():
            self.ready.set_exception(ConnectionError(f"closed before it was ready: {error}"))
        elif not self.tally.over:
            self.tally.problem("connection_lost")

    def greeting(self) -> bytes:
        return b""

    def begin(self) -> None:
        """Send the first requests."""
        raise NotImplementedError


class SessionConnection(Connection):
    """A WebSocket session in MessagePack. Frames to the server must be masked; a mask of zeros
    leaves them as they are."""

    encode = msgspec.msgpack.Encoder().encode
    decode = msgspec.msgpack.Decoder().decode

    def greeting(self) -> bytes:
        key = base64.b64encode(b"laissez-bench-ws").decode()
        return (
            f"GET /v1/session HTTP/1.1\r\nHost: {self.plan.host}\r\nUpgrade:"
            " websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key:"
            f" {key}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol:"
            f" laissez.v1.msgpack\r\nAuthorization: Bearer {self.key}\r\n\r\n"
        ).encode()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if not self.ready.done():
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            status = bytes(self.buffer[:12])
            del self.buffer[: end + 4]
            if status != b"HTTP/1.1 101":
                self.ready.set_exception(ConnectionError(f"the server answered {status!r}"))
                return
            self.ready.set_result(None)
            self._write({"type": "hello"})
        answered = 0
        while (frame := self._frame()) is not None:
            read = self.decode(frame)
            for message in read if type(read) is list else (read,):
                answered += self._heard(message)
        if answered:
            self._ask_again(answered)

    def begin(self) -> None:
        """With a given rate, the connections begin one after the other, so that they do not all ask
        at the same instants."""
        wait = (
            0.0
            if self.plan.per_second is None
            else self.number * self.plan.in_flight / self.plan.per_second
        )
        self.due = time.perf_counter() + wait
        asyncio.get_running_loop().call_later(wait, self._ask, self.plan.in_flight)

    def _ask_again(self, count: int) -> None:
        """At once, or when the connection's share of the rate allows it."""
        if self.plan.per_second is None:
            self._ask(count)
            return
        now = time.perf_counter()
        self.due = max(self.due + count * self.plan.connections / self.plan.per_second, now)
        asyncio.get_running_loop().call_later(self.due - now, self._ask, count)

    def _ask(self, count: int) -> None:
        now = time.perf_counter()
        if now >= self.tally.stop or self.transport.is_closing():
            return
        messages = [self.tenant.next() for _ in range(count)]
        for message in messages:
            self.sent[message["id"]] = now
        self._write(messages if count > 1 else messages[0])

    def _heard(self, message: Message) -> int:
        kind = message["type"]
        if kind == "event":
            self.tenant.heard(message["told"]["event"])
            return 0
        sent = self.sent.pop(message.get("id", ""), None)
        if sent is None:
            return 0
        self.tally.answer(sent, time.perf_counter())
        if kind == "refused":
            self.tally.problem(message["code"])
        for told in message.get("events", ()):
            self.tenant.heard(told["event"])
        return 1

    def _write(self, message: object) -> None:
        payload = self.encode(message)
        size = len(payload)
        if size < 126:
            header = bytes((0x82, 0x80 | size))
        else:
            header = (
                bytes((0x82, 0xFE)) + size.to_bytes(2, "big")
                if size < 65536
                else bytes((0x82, 0xFF)) + size.to_bytes(8, "big")
            )
        self.transport.write(header + b"\0\0\0\0" + payload)

    def _frame(self) -> bytes | None:
        """The payload of the next whole data frame; pings are answered on the way."""
        while len(self.buffer) >= 2:
            opcode, size = self.buffer[0] & 0x0F, self.buffer[1]
            start = 2
            if size == 126:
                size, start = int.from_bytes(self.buffer[2:4], "big"), 4
            elif size == 127:
                size, start = int.from_bytes(self.buffer[2:10], "big"), 10
            if len(self.buffer) < start + size:
                return None
            payload = bytes(self.buffer[start : start + size])
            del self.buffer[: start + size]
            if opcode == 0x9:
                self.transport.write(bytes((0x8A, 0x80 | size)) + b"\0\0\0\0" + payload)
            elif opcode in (0x1, 0x2):
                return payload
        return None


PATHS = {
    "place_order": ("POST", "/v1/orders"),
    "amend_order": ("PUT", "/v1/orders/{order}"),
    "cancel_order": ("DELETE", "/v1/orders/{order}"),
    "set_limit": ("PATCH", "/v1/leases/{lease}"),
    "quote": ("GET", "/v1/prices?scope={scope}"),
}
IN_PATH = frozenset({"type", "id", "order", "lease", "scope"})


class RestConnection(Connection):
    """HTTP/1.1 with one request under way: the next is sent when the answer has come."""

    encode = msgspec.json.Encoder().encode
    decode = msgspec.json.Decoder().decode

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.ready.set_result(None)
        self.began: deque[tuple[float, int]] = deque()

    def begin(self) -> None:
        self._ask()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while True:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = bytes(self.buffer[:end]).lower()
            size = int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
            if len(self.buffer) < end + 4 + size:
                return
            body = bytes(self.buffer[end + 4 : end + 4 + size])
            del self.buffer[: end + 4 + size]
            self._heard(int(head[9:12]), self.decode(body))
            self._ask()

    def _ask(self) -> None:
        now = time.perf_counter()
        if now < self.tally.stop:
            self._write_message(self.tenant.next(), now)

    def _write_message(self, message: Message, now: float) -> None:
        method, path = PATHS[message["type"]]
        body = {name: value for name, value in message.items() if name not in IN_PATH}
        self._write(
            method,
            path.format(**message),
            b"" if method in ("GET", "DELETE") else self.encode(body),
            message["id"],
            now,
            1,
        )

    def _write(
        self, method: str, path: str, body: bytes, id: str, now: float, commands: int
    ) -> None:
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self.plan.host}\r\nAuthorization: Bearer"
            f" {self.key}\r\n"
        )
        if method != "GET":
            head += f"Idempotency-Key: {id}\r\n"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        self.began.append((now, commands))
        self.transport.write(head.encode() + b"\r\n" + body)

    def _heard(self, status: int, answer: Any) -> None:
        began, commands = self.began.popleft()
        now = time.perf_counter()
        for _ in range(commands):
            self.tally.answer(began, now)
        if status >= 400:
            self.tally.problem(answer["code"])
        for told in answer.get("events", ()):
            self.tenant.heard(told["event"])


class BatchConnection(RestConnection):
    """The same with 100 commands in a request; quotes are left out, because a batch holds commands
    alone."""

    def _ask(self) -> None:
        now = time.perf_counter()
        if now < self.tally.stop:
            messages = [
                message
                for message in (self.tenant.next() for _ in range(BATCH_COMMANDS * 5 // 4))
                if message["type"] != "quote"
            ]
            commands = messages[:BATCH_COMMANDS]
            body = self.encode({"commands": commands})
            self._write("POST", "/v1/batch", body, commands[0]["id"], now, len(commands))

    def _heard(self, status: int, answer: Any) -> None:
        for result in answer.get("results", ()):
            if result.get("code"):
                self.tally.problem(result["code"])
            for told in result.get("events", ()):
                self.tenant.heard(told["event"])
        super()._heard(status, {} if status < 400 else answer)


KINDS: dict[str, type[Connection]] = {
    "session": SessionConnection,
    "connections": SessionConnection,
    "rest": RestConnection,
    "batch": BatchConnection,
}


async def run(plan: Plan) -> Report:
    loop = asyncio.get_running_loop()
    tally = Tally(plan)
    kind = KINDS[plan.load]
    opened: list[Connection] = []
    for number in range(plan.connections):
        held = plan.tenants[number % len(plan.tenants)]
        tenant = Tenant(number, held, plan.scopes, plan.seed)
        _, connection = await loop.create_connection(
            lambda n=number, t=tenant, h=held: kind(plan, n, t, h.key, tally),  # type: ignore[misc]
            plan.host,
            plan.port,
        )
        async with asyncio.timeout(READY_WITHIN_S):
            await connection.ready
        opened.append(connection)
    started = time.perf_counter()
    tally.start, tally.stop = started + plan.warm_up_s, started + plan.warm_up_s + plan.seconds
    for connection in opened:
        connection.begin()
    used = await _quarters_passed(plan, tally)
    tally.over = True
    for connection in opened:
        connection.transport.close()
    times = Times()
    for quarter in tally.quarters:
        times += quarter
    quarters = [_quarter(*one) for one in zip(tally.quarters, used, strict=True)]
    return Report(
        tally.answered,
        plan.seconds,
        times.quantile_ms(0.5),
        times.quantile_ms(0.99),
        tally.problems,
        quarters,
    )


async def _quarters_passed(plan: Plan, tally: Tally) -> list[float]:
    """Wait until the end; says what the server used of a processor in each quarter."""
    used = []
    for quarter in range(5):
        await asyncio.sleep(tally.start + quarter * plan.seconds / 4 - time.perf_counter())
        used.append(cpu_seconds(plan.server))
    return [after - before for before, after in pairwise(used)]


def _quarter(times: Times, used: float) -> Quarter:
    return Quarter(
        times.count,
        round(times.quantile_ms(0.5), 2),
        round(times.quantile_ms(0.99), 2),
        times.above(SLOW_S),
        round(used, 2),
    )


def main() -> None:
    import uvloop

    plan = msgspec.json.decode(sys.stdin.buffer.read(), type=Plan)
    sys.stdout.buffer.write(msgspec.json.encode(uvloop.run(run(plan))))


if __name__ == "__main__":
    main()
