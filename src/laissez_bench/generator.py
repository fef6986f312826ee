"""The load generator: a process that keeps connections busy and times every answer.

    python -m laissez_bench.generator

It reads a plan and then phases, a line of JSON each, and prints a line of JSON for each of them. In
a closed loop a connection asks again when it is answered; in an open loop requests are due at
random instants, answered or not. Latency counts from the instant at which a request was due, so
that a server that stalls is charged for everybody who would have asked meanwhile (no coordinated
omission).

The protocols are spoken by hand, with messages built beforehand, because the generator takes its
processor time from the server's machine.
"""

from __future__ import annotations

import asyncio
import base64
import gc
import math
import random
import sys
import time
from asyncio import Protocol, Transport
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

import msgspec

from laissez_bench.cluster import Held
from laissez_bench.cores import CpuTime, cpu_time
from laissez_bench.mix import QUOTED, Codec, Drawn, Event, Pool, Tenant

BATCH_COMMANDS = 100
FRAME_COMMANDS = 10  # of a session in an open loop
READY_WITHIN_S = 10
DRAIN_S = 5.0  # for late answers; a request without one by then counts with the time it waited
POLL_S = 0.005
SHED = frozenset({"overloaded", "rate_limited"})
WATCHED = ("/v1/events", "/v1/levels")  # the operator's event stream and an open console
PATHS = {
    "place_order": ("POST", "/v1/orders"),
    "amend_order": ("PUT", "/v1/orders/{}"),
    "cancel_order": ("DELETE", "/v1/orders/{}"),
    "set_limit": ("PATCH", "/v1/leases/{}"),
    "quote": ("GET", f"/v1/prices?scope={QUOTED}"),
}


class Plan(msgspec.Struct):
    load: str
    host: str
    port: int
    connections: int
    seed: int
    tenants: list[Held]
    scopes: list[str]
    server: int = 0  # its process, whose processor time is read
    operator_key: str = ""  # who watches, if anybody


class Phase(msgspec.Struct):
    """Without a rate the loop is closed: `in_flight` commands on each of the first `connections`.
    Batches count as one there."""

    seconds: float
    warm_up_s: float = 0.0
    per_second: float | None = None
    in_flight: int = 1
    connections: int = 1 << 30
    commands_max: int = 1 << 62


class Times(msgspec.Struct):
    """A histogram in steps of 1 %, so that hours of load do not fill the memory."""

    counts: dict[int, int] = msgspec.field(default_factory=dict)

    def add(self, seconds: float, count: int = 1) -> None:
        step = round(math.log(seconds if seconds > 1e-6 else 1e-6) * 100.5)
        self.counts[step] = self.counts.get(step, 0) + count

    def merge(self, other: Times) -> None:
        for step, count in other.counts.items():
            self.counts[step] = self.counts.get(step, 0) + count

    @property
    def count(self) -> int:
        return sum(self.counts.values())

    def above(self, seconds: float) -> int:
        most = round(math.log(seconds) * 100.5)
        return sum(count for step, count in self.counts.items() if step > most)

    def quantile_ms(self, share: float) -> float:
        """0 if there is nothing."""
        left = self.count * share
        for step in sorted(self.counts):
            left -= self.counts[step]
            if left < 0:
                return round(math.exp(step / 100.5) * 1000, 3)
        return 0.0


class Counted(msgspec.Struct):
    """What a phase came to. Latencies are of requests due in the measured time; `answered` counts
    the answers that came in it, whenever their requests were sent."""

    seconds: float = 0.0
    answered: int = 0
    offered: int = 0
    unanswered: int = 0
    admitted: Times = msgspec.field(default_factory=Times)
    refused: Times = msgspec.field(default_factory=Times)
    late: Times = msgspec.field(default_factory=Times)  # the generator behind its own schedule
    problems: dict[str, int] = msgspec.field(default_factory=dict)
    pause_s: float = 0.0  # the longest without any answer while commands were in flight
    generator_cpu_s: float = 0.0
    server_main_s: float = 0.0
    server_others_s: float = 0.0

    @property
    def per_second(self) -> float:
        return self.answered / self.seconds if self.seconds else 0.0

    @property
    def server_cpu_s(self) -> float:
        return self.server_main_s + self.server_others_s

    def merge(self, other: Counted) -> None:
        for name in self.__struct_fields__:
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, Times):
                mine.merge(theirs)
            elif isinstance(mine, dict):
                for code, count in theirs.items():
                    mine[code] = mine.get(code, 0) + count
            elif name == "pause_s":
                self.pause_s = max(mine, theirs)
            else:
                setattr(self, name, mine + theirs)


class Told(msgspec.Struct, gc=False):
    event: Event


class Answer(msgspec.Struct, gc=False):
    """As much of an answer as matters here; the rest is skipped, which is cheap."""

    id: str = ""
    code: str | None = None
    events: list[Told] = []
    told: Told | None = None
    results: list[Answer] = []


class Load:
    """All connections, and the phase under way."""

    def __init__(self, plan: Plan, server_cpu: Callable[[], CpuTime] | None = None) -> None:
        self.plan = plan
        self.codec = Codec(Pool(plan.scopes, plan.seed), plan.load in SESSIONS)
        self.phase = Phase(0)
        self.counted = Counted()
        self.start = self.stop = 0.0
        self.in_flight = self.sent = 0
        self.last_answer = 0.0
        self.over = False
        # connections that carry one request at a time: the idle, and requests that wait for one
        self.idle: deque[Rest] = deque()
        self.due: deque[float] = deque()
        self.connections: list[Any] = []
        self.watchers: list[Watcher] = []
        self._server_cpu = server_cpu or (lambda: cpu_time(plan.server))

    async def connect(self) -> None:
        plan = self.plan
        for number in range(plan.connections):
            held = plan.tenants[number % len(plan.tenants)]
            tenant = Tenant(number, held, plan.seed, plan.load != "batch")
            await self._connect(self.connections, partial(KINDS[plan.load], self, tenant))
        for path in WATCHED if plan.operator_key else ():
            await self._connect(self.watchers, partial(Watcher, self, path))

    async def _connect(self, opened: list[Any], make: Callable[[], Any]) -> None:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(make, self.plan.host, self.plan.port)
        async with asyncio.timeout(READY_WITHIN_S):
            await connection.ready
        opened.append(connection)

    async def run(self, phase: Phase) -> Counted:
        self.phase, self.counted = phase, Counted(phase.seconds)
        self.sent = 0
        self.last_answer = began = time.perf_counter()
        self.start, self.stop = began + phase.warm_up_s, began + phase.warm_up_s + phase.seconds
        reading = asyncio.create_task(self._read_processor_time())
        if phase.per_second is None:
            for connection in self.connections[: phase.connections]:
                connection.begin(phase.in_flight)
        else:
            await self._drive(phase.per_second, began)
        while not reading.done() and (self.sent < phase.commands_max or self.in_flight):
            await asyncio.wait((reading,), timeout=POLL_S)
        reading.cancel()
        await self._drain()
        return self.counted

    def close(self) -> None:
        self.over = True
        for connection in (*self.connections, *self.watchers):
            connection.transport.close()

    async def _drive(self, per_second: float, due: float) -> None:
        """Ask at random instants, each time on the next connection."""
        draw = random.Random(self.plan.seed)
        requests_per_second = per_second / KINDS[self.plan.load].commands
        turn, opened = 0, self.connections
        while due < self.stop:
            now = time.perf_counter()
            while due <= now and due < self.stop:
                opened[turn % len(opened)].ask(due)
                turn += 1
                due += draw.expovariate(requests_per_second)
            await asyncio.sleep(max(0.0, due - now))

    async def _read_processor_time(self) -> None:
        await asyncio.sleep(self.start - time.perf_counter())
        server, own = self._server_cpu(), time.process_time()
        await asyncio.sleep(self.stop - time.perf_counter())
        after, counted = self._server_cpu(), self.counted
        counted.generator_cpu_s = time.process_time() - own
        counted.server_main_s = after.main - server.main
        counted.server_others_s = after.others - server.others

    async def _drain(self) -> None:
        until = time.perf_counter() + DRAIN_S
        while self.in_flight > 0 and time.perf_counter() < until:
            await asyncio.sleep(POLL_S)
        now = time.perf_counter()
        never_sent = [(due, KINDS[self.plan.load].commands) for due in self.due]
        self.due.clear()
        for due, commands in never_sent:
            self.asked(due, commands)
        for waiting in (never_sent, *(connection.waiting() for connection in self.connections)):
            for due, commands in waiting:
                if self.start <= due < self.stop:
                    self.counted.unanswered += commands
                    self.counted.admitted.add(now - due, commands)
        self.in_flight = 0

    def may_ask(self, now: float) -> bool:
        return (
            self.phase.per_second is None
            and now < self.stop
            and self.sent < self.phase.commands_max
        )

    def asked(self, due: float, commands: int) -> None:
        now = time.perf_counter()
        if not self.in_flight:
            self.last_answer = now
        self.sent += commands
        self.in_flight += commands
        if self.start <= due < self.stop:
            self.counted.offered += commands
            self.counted.late.add(now - due, commands)

    def answered(self, due: float, now: float, code: str | None, commands: int = 1) -> None:
        counted = self.counted
        self.in_flight -= commands
        if self.start <= now < self.stop:
            counted.answered += commands
            if now - self.last_answer > counted.pause_s and self.last_answer >= self.start:
                counted.pause_s = now - self.last_answer
        self.last_answer = now
        if code is not None:
            self.problem(code)
        if self.start <= due < self.stop:
            (counted.refused if code in SHED else counted.admitted).add(now - due, commands)

    def problem(self, code: str) -> None:
        self.counted.problems[code] = self.counted.problems.get(code, 0) + 1


class Connection(Protocol):
    transport: Transport
    commands = 1  # of a request in an open loop

    def __init__(self, load: Load, tenant: Tenant) -> None:
        self.load = load
        self.tenant = tenant
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._rest = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = cast(Transport, transport)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.ready.done():
            self.ready.set_exception(ConnectionError(f"closed before it was ready: {error}"))
        elif not self.load.over:
            self.load.problem("connection_lost")

    def _is_open(self, data: bytes, status: bytes) -> bool:
        """Take the head of the first answer."""
        if self.ready.done():
            return True
        if b"\r\n\r\n" not in data:
            return False
        if not data.startswith(b"HTTP/1.1 " + status):
            self.ready.set_exception(ConnectionError(f"the server answered {data[:300]!r}"))
            return False
        self.ready.set_result(None)
        return True


class Watcher(Connection):
    """Follows a stream of server-sent events, and throws away what it reads."""

    def __init__(self, load: Load, path: str) -> None:
        super().__init__(load, cast(Tenant, None))
        self.bytes = 0
        self._path = path

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        plan = self.load.plan
        head = f"GET {self._path} HTTP/1.1\r\nHost: {plan.host}\r\nAuthorization: Bearer "
        self.transport.write(
            f"{head}{plan.operator_key}\r\nAccept: text/event-stream\r\n\r\n".encode()
        )

    def data_received(self, data: bytes) -> None:
        self.bytes += len(data)
        if not self.ready.done():
            self._rest += data
            self._is_open(self._rest, b"200")


class Session(Connection):
    """A WebSocket session in MessagePack. A client must mask its frames; a mask of zeros leaves
    them as they are."""

    commands = FRAME_COMMANDS
    decode = staticmethod(msgspec.msgpack.Decoder(Answer | list[Answer]).decode)

    def __init__(self, load: Load, tenant: Tenant) -> None:
        super().__init__(load, tenant)
        self._due: dict[str, float] = {}

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        key = base64.b64encode(b"laissez-bench-ws").decode()
        self.transport.write(
            (
                f"GET /v1/session HTTP/1.1\r\nHost: {self.load.plan.host}\r\nUpgrade: websocket\r\n"
                f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Protocol: laissez.v1.msgpack\r\n"
                f"Authorization: Bearer {self.tenant.key}\r\n\r\n"
            ).encode()
        )

    def data_received(self, data: bytes) -> None:
        if self._rest:
            data = self._rest + data
        if not self.ready.done():
            self._rest = data
            if not self._is_open(data, b"101"):
                return
            data = data[data.index(b"\r\n\r\n") + 4 :]
            self._write(b"\x81\xa4type\xa5hello")
        now = time.perf_counter()
        answered = 0
        for opcode, payload in self._frames(data):
            if opcode == 0x2:
                answered += self._heard(payload, now)
            elif opcode == 0x9:
                self.transport.write(bytes((0x8A, 0x80 | len(payload), 0, 0, 0, 0)) + payload)
        if answered and self.load.may_ask(now):
            self._ask(now, answered)

    def _frames(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """The whole frames; the rest is kept."""
        begin = 0
        while len(data) - begin >= 2:
            size, start = data[begin + 1], begin + 2
            if size == 126:
                size, start = int.from_bytes(data[start : start + 2], "big"), start + 2
            elif size == 127:
                size, start = int.from_bytes(data[start : start + 8], "big"), start + 8
            if len(data) < start + size:
                break
            yield data[begin] & 0x0F, data[start : start + size]
            begin = start + size
        self._rest = data[begin:]

    def begin(self, in_flight: int) -> None:
        self._ask(time.perf_counter(), in_flight)

    def ask(self, due: float) -> None:
        self._ask(due, FRAME_COMMANDS)

    def waiting(self) -> list[tuple[float, int]]:
        """The requests without an answer, which are given up."""
        waiting = [(due, 1) for due in self._due.values()]
        self._due.clear()
        return waiting

    def _ask(self, due: float, count: int) -> None:
        if self.transport.is_closing():
            return
        codec, drawn = self.load.codec, [self.tenant.next() for _ in range(count)]
        for one in drawn:
            self._due[one.id] = due
        self.load.asked(due, count)
        self._write(codec.array([codec.message(one) for one in drawn]))

    def _heard(self, payload: bytes, now: float) -> int:
        read = self.decode(payload)
        answered = 0
        for answer in read if type(read) is list else (read,):
            if answer.told is not None:
                self.tenant.heard(answer.told.event)
                continue
            due = self._due.pop(answer.id, None)
            if due is None:
                continue
            answered += 1
            self.load.answered(due, now, answer.code)
            for told in answer.events:
                self.tenant.heard(told.event)
        return answered

    def _write(self, payload: bytes) -> None:
        size = len(payload)
        if size < 126:
            header = bytes((0x82, 0x80 | size))
        elif size < 65_536:
            header = bytes((0x82, 0xFE)) + size.to_bytes(2, "big")
        else:
            header = bytes((0x82, 0xFF)) + size.to_bytes(8, "big")
        self.transport.write(header + b"\0\0\0\0" + payload)


def whole_body(answer: bytes) -> bytes | None:
    """The body of the only answer that is due, once all of it has arrived."""
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        return None
    size = int(head.lower().split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
    return body if len(body) >= size else None


class Rest(Connection):
    """HTTP/1.1 with one request in flight. In an open loop a request that finds every connection
    busy waits, and its time runs."""

    decode = staticmethod(msgspec.json.Decoder(Answer).decode)

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._head = (
            f" HTTP/1.1\r\nHost: {self.load.plan.host}\r\nAuthorization: Bearer"
            f" {self.tenant.key}\r\n"
        ).encode()
        self._sent: tuple[float, int] | None = None
        self.load.idle.append(self)
        self.ready.set_result(None)

    def begin(self, in_flight: int) -> None:
        if self in self.load.idle:  # not one that waits for an answer of the last phase
            self.load.idle.remove(self)
            self.send(time.perf_counter())

    def ask(self, due: float) -> None:
        if self.load.idle:
            self.load.idle.popleft().send(due)
        else:
            self.load.due.append(due)

    def waiting(self) -> list[tuple[float, int]]:
        if self._sent is None:
            return []
        (due, commands), self._sent = self._sent, (self._sent[0], 0)
        return [(due, commands)] if commands else []

    def send(self, due: float) -> None:
        one = self.tenant.next()
        method, path = PATHS[one.kind]
        self._send(due, f"{method} {path.format(one.subject)}", [one], self.load.codec.body(one))

    def _send(self, due: float, line: str, drawn: list[Drawn], body: bytes) -> None:
        parts = [line.encode(), self._head]
        if not line.startswith("GET"):
            parts.append(f"Idempotency-Key: {drawn[0].id}\r\n".encode())
        if body:
            parts.append(b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body))
        self._drawn = drawn
        self._sent = due, len(drawn)
        self.load.asked(due, len(drawn))
        self.transport.write(b"".join((*parts, b"\r\n", body)))

    def data_received(self, data: bytes) -> None:
        self._rest += data
        if (body := whole_body(self._rest)) is None:
            return
        is_problem, self._rest = self._rest[9:10] >= b"4", b""
        self._heard(self.decode(body), is_problem)
        now = time.perf_counter()
        if self.load.due:
            self.send(self.load.due.popleft())
        elif self.load.may_ask(now):
            self.send(now)
        else:
            self.load.idle.append(self)

    def _heard(self, answer: Answer, is_problem: bool) -> None:
        if self._sent is None:
            return
        (due, commands), self._sent = self._sent, None
        code = answer.code if is_problem else None
        self.load.answered(due, time.perf_counter(), code, commands)
        for one, drawn in zip(answer.results or (answer,), self._drawn, strict=False):
            if one.code is not None:
                self.tenant.lost(drawn.subject)  # no stream tells of it here
                if one is not answer:
                    self.load.problem(one.code)
            for told in one.events:
                self.tenant.heard(told.event)


class Batch(Rest):
    """100 commands in a request; a batch holds commands alone."""

    commands = BATCH_COMMANDS

    def send(self, due: float) -> None:
        codec, drawn = self.load.codec, [self.tenant.next() for _ in range(BATCH_COMMANDS)]
        body = b'{"commands":' + codec.array([codec.message(one) for one in drawn]) + b"}"
        self._send(due, "POST /v1/batch", drawn, body)


KINDS: dict[str, type[Session | Rest]] = {
    "session": Session,
    "connections": Session,
    "rest": Rest,
    "batch": Batch,
}
SESSIONS = frozenset({"session", "connections"})


async def serve(read_line: Callable[[], bytes], write: Callable[[bytes], object]) -> None:
    """Connect, and carry out phases until the input ends."""
    loop = asyncio.get_running_loop()
    load = Load(msgspec.json.decode(read_line(), type=Plan))
    await load.connect()
    gc.collect()
    gc.freeze()
    gc.disable()
    write(b"{}\n")
    while line := await loop.run_in_executor(None, read_line):
        counted = await load.run(msgspec.json.decode(line, type=Phase))
        write(msgspec.json.encode(counted) + b"\n")
    load.close()


def main() -> None:
    import uvloop

    def write(line: bytes) -> None:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()

    uvloop.run(serve(sys.stdin.buffer.readline, write))


if __name__ == "__main__":
    main()
