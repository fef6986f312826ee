"""The load generator: a process that keeps connections busy and times every answer.

In a closed loop a connection sends its next request when it is answered; in an open loop requests
are due at random instants, answered or not. Latency counts from the instant at which a request was
due, so that a server that stalls is charged for every request due meanwhile (no coordinated
omission).

The protocols are written by hand because the generator takes its processor time from the server's
machine.
"""

from __future__ import annotations

import asyncio
import gc
import random
import time
from asyncio import Protocol, Transport
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection as PipeConnection
from typing import Any, TypeAlias, TypeVar, cast

import msgspec
import uvloop

from laissez.wire.requests import AmendOrder, AskQuote, CancelOrder, PlaceOrder, SetLimit
from laissez_bench.mix import Event, Held, Message, Pool, Tenant
from laissez_bench.processes import CpuTime, cpu_time
from laissez_bench.statistics import Counted

BATCH_COMMANDS = 100
FRAME_COMMANDS = 10  # of a session in an open loop
READY_WITHIN_S = 10
DRAIN_S = 5.0  # for late answers; a request without one by then counts with the time it waited
POLL_S = 0.005
SHED = frozenset({"overloaded", "rate_limited"})
WATCHED = ("/v1/events", "/v1/levels")  # the operator's event stream and an open console
# message: the request line, and the field that is the body
REST: dict[type, tuple[str, str | None]] = {
    PlaceOrder: ("POST /v1/orders", "alternatives"),
    AmendOrder: ("PUT /v1/orders/{0.order}", "alternatives"),
    CancelOrder: ("DELETE /v1/orders/{0.order}", None),
    SetLimit: ("PATCH /v1/leases/{0.lease}", "limit"),
    AskQuote: ("GET /v1/prices?scope={0.scope}", None),
}

C = TypeVar("C", bound="Connection")
Due: TypeAlias = tuple[float, int]  # when requests were due, and how many commands


class Plan(msgspec.Struct):
    load: str
    host: str
    port: int
    connections: int
    seed: int
    tenants: list[Held]
    scopes: list[str]
    server: int = 0  # the process whose processor time is read
    operator_key: str = ""  # of the operator that watches, if any


class Phase(msgspec.Struct):
    """Without a rate the loop is closed: `in_flight` commands on each of the first `connections`.
    Batches count as one there."""

    seconds: float
    warm_up_s: float = 0.0
    per_second: float | None = None
    in_flight: int = 1
    connections: int = 1 << 30
    commands_max: int = 1 << 62


class Told(msgspec.Struct, gc=False):
    event: Event


class Answer(msgspec.Struct, gc=False):
    """The part of an answer that matters here; the rest is skipped, which is cheap."""

    id: str = ""
    code: str | None = None
    events: list[Told] = []
    told: Told | None = None
    results: list[Answer] = []


class Load:
    """All connections, and the phase under way."""

    def __init__(self, plan: Plan, server_cpu: Callable[[], CpuTime] | None = None) -> None:
        self.plan = plan
        self.kind = KINDS[plan.load]
        self.phase = Phase(0)
        self.counted = Counted()
        self.start = self.stop = 0.0
        self.in_flight = self.sent = 0
        self.last_answer = 0.0
        # for connections with one request at a time: the idle ones, and requests that wait for one
        self.idle: deque[Rest] = deque()
        self.due: deque[float] = deque()
        self.connections: list[Session | Rest] = []
        self._watchers: list[Watcher] = []
        self._is_over = False
        self.pool = Pool(plan.scopes, plan.seed)
        self._server_cpu = server_cpu or (lambda: cpu_time(plan.server))

    async def watch(self) -> None:
        plan = self.plan
        for path in WATCHED if plan.operator_key else ():
            make = partial(Watcher, path, plan.operator_key, self.lost)
            self._watchers.append(await connect(plan.host, plan.port, make))

    async def connect(self, most: int = 1 << 30) -> None:
        """Open connections until there are this many: a server closes those that stay unused."""
        plan = self.plan
        for number in range(len(self.connections), min(most, plan.connections)):
            held = plan.tenants[number % len(plan.tenants)]
            tenant = Tenant(number, held, self.pool, plan.seed, reads=self.kind is not Batch)
            make = partial(self.kind, self, tenant)
            self.connections.append(await connect(plan.host, plan.port, make))

    async def run(self, phase: Phase) -> Counted:
        await self.connect(phase.connections)
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
        self._is_over = True
        for connection in (*self.connections, *self._watchers):
            connection.transport.close()

    async def _drive(self, per_second: float, due: float) -> None:
        """Send requests at random instants, each on the next connection."""
        draw = random.Random(self.plan.seed)
        requests_per_second = per_second / self.kind.commands
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
        waiting = [(due, self.kind.commands) for due in self.due]  # they were never sent
        self.due.clear()
        for due, commands in waiting:
            self.asked(due, commands)
        for connection in self.connections:
            waiting += connection.give_up()
        for due, commands in waiting:
            if self.start <= due < self.stop:
                self.counted.unanswered += commands
                self.counted.admitted.add(now - due, commands)
        self.in_flight = 0

    def may_ask(self, now: float) -> bool:
        phase = self.phase
        return phase.per_second is None and now < self.stop and self.sent < phase.commands_max

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

    def lost(self) -> None:
        if not self._is_over:
            self.problem("connection_lost")


async def connect(host: str, port: int, make: Callable[[], C]) -> C:
    """A connection that the server has accepted."""
    _, connection = await asyncio.get_running_loop().create_connection(make, host, port)
    async with asyncio.timeout(READY_WITHIN_S):
        await connection.ready
    return connection


def http_request(line: str, key: str, headers: str = "", body: bytes = b"") -> bytes:
    """`headers` are further lines, each with its end."""
    if body or line.startswith("POST"):
        headers += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    head = f"{line} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\n{headers}\r\n"
    return head.encode() + body


def whole_body(answer: bytes) -> bytes | None:
    """The body of the only answer that is due, once all of it has arrived."""
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        return None
    size = int(head.lower().split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
    return body if len(body) >= size else None


class Connection(Protocol):
    """Ready once its first request, if it has one, is answered with `status`."""

    transport: Transport
    status = b"200"

    def __init__(self, on_lost: Callable[[], None], first: bytes = b"") -> None:
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._on_lost = on_lost
        self._first = first
        self._rest = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = cast(Transport, transport)
        if self._first:
            self.transport.write(self._first)
        else:
            self.ready.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        if self.ready.done():
            self._on_lost()
        else:
            self.ready.set_exception(ConnectionError(f"closed before it was ready: {error}"))

    def after_head(self, data: bytes) -> bytes | None:
        """The data after the head of the first answer, once the head is complete."""
        head, end, body = (self._rest + data).partition(b"\r\n\r\n")
        if not end:
            self._rest = head
            return None
        self._rest = b""
        if not head.startswith(b"HTTP/1.1 " + self.status):
            self.ready.set_exception(ConnectionError(f"the server answered {head[:300]!r}"))
            return None
        self.ready.set_result(None)
        return body


class Watcher(Connection):
    """Follows a stream of server-sent events, and only counts what it reads."""

    def __init__(self, path: str, key: str, on_lost: Callable[[], None]) -> None:
        accept = "Accept: text/event-stream\r\n"
        super().__init__(on_lost, http_request(f"GET {path}", key, accept))
        self.bytes = self.messages = 0

    def data_received(self, data: bytes) -> None:
        body = data if self.ready.done() else self.after_head(data)
        if body:
            self.bytes += len(body)
            self.messages += body.count(b"event: ")


class Session(Connection):
    """A WebSocket session in MessagePack. A client must mask its frames; a mask of zeros leaves
    them as they are."""

    status = b"101"
    upgrade = (
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: bGFpc3Nlei1iZW5jaC13cw==\r\n"
        "Sec-WebSocket-Protocol: laissez.v1.msgpack\r\n"
    )
    commands = FRAME_COMMANDS  # of a request in an open loop
    decode = staticmethod(msgspec.msgpack.Decoder(Answer | list[Answer]).decode)
    encode = staticmethod(msgspec.msgpack.Encoder().encode)

    def __init__(self, load: Load, tenant: Tenant) -> None:
        super().__init__(load.lost, http_request("GET /v1/session", tenant.key, self.upgrade))
        self.load = load
        self.tenant = tenant
        self._due: dict[str, float] = {}

    def begin(self, in_flight: int) -> None:
        self.ask(time.perf_counter(), in_flight)

    def ask(self, due: float, count: int = FRAME_COMMANDS) -> None:
        if self.transport.is_closing():
            return
        messages = [self.tenant.next() for _ in range(count)]
        for message in messages:
            self._due[message.id] = due
        self.load.asked(due, count)
        self._write(self.encode(messages))

    def give_up(self) -> list[Due]:
        """The requests without an answer."""
        waiting = [(due, 1) for due in self._due.values()]
        self._due.clear()
        return waiting

    def data_received(self, data: bytes) -> None:
        if not self.ready.done():
            if (rest := self.after_head(data)) is None:
                return
            data = rest
            self._write(self.encode({"type": "hello"}))
        now = time.perf_counter()
        answered = 0
        for opcode, payload in self._frames(self._rest + data):
            if opcode == 0x2:
                answered += self._heard(payload, now)
            elif opcode == 0x9:
                self.transport.write(bytes((0x8A, 0x80 | len(payload), 0, 0, 0, 0)) + payload)
        if answered and self.load.may_ask(now):
            self.ask(now, answered)

    def _frames(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """The whole frames; the rest is kept."""
        begin = 0
        while len(data) - begin >= 2:
            size, start = data[begin + 1], begin + 2
            if size >= 126:
                start += 2 if size == 126 else 8
                size = int.from_bytes(data[begin + 2 : start], "big")
            if len(data) < start + size:
                break
            yield data[begin] & 0x0F, data[start : start + size]
            begin = start + size
        self._rest = data[begin:]

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


class Rest(Connection):
    """HTTP/1.1 with one request in flight. In an open loop a request that finds every connection
    busy waits, and its time runs."""

    commands = 1
    decode = staticmethod(msgspec.json.Decoder(Answer).decode)
    encode = staticmethod(msgspec.json.Encoder().encode)

    def __init__(self, load: Load, tenant: Tenant) -> None:
        super().__init__(load.lost)
        self.load = load
        self.tenant = tenant
        self._due = 0.0
        self._asked: list[Message] = []  # that wait for their answer, unless given up
        load.idle.append(self)

    def begin(self, in_flight: int) -> None:
        if self in self.load.idle:  # not one that waits for an answer of the last phase
            self.load.idle.remove(self)
            self.send(time.perf_counter())

    def ask(self, due: float) -> None:
        if self.load.idle:
            self.load.idle.popleft().send(due)
        else:
            self.load.due.append(due)

    def give_up(self) -> list[Due]:
        asked, self._asked = self._asked, []
        return [(self._due, len(asked))] if asked else []

    def send(self, due: float) -> None:
        self._due, self._asked = due, [self.tenant.next() for _ in range(self.commands)]
        line, body = self.request(self._asked)
        key = "" if line.startswith("GET") else f"Idempotency-Key: {self._asked[0].id}\r\n"
        self.load.asked(due, self.commands)
        self.transport.write(http_request(line, self.tenant.key, key, body))

    def request(self, messages: list[Message]) -> tuple[str, bytes]:
        """The request line and the body."""
        (message,) = messages
        line, field = REST[type(message)]
        body = b"" if field is None else self.encode({field: getattr(message, field)})
        return line.format(message), body

    def data_received(self, data: bytes) -> None:
        self._rest += data
        if (body := whole_body(self._rest)) is None:
            return
        is_problem, self._rest = self._rest[9:10] >= b"4", b""
        self.heard(body, is_problem)
        now = time.perf_counter()
        if self.load.due:
            self.send(self.load.due.popleft())
        elif self.load.may_ask(now):
            self.send(now)
        else:
            self.load.idle.append(self)

    def heard(self, body: bytes, is_problem: bool) -> None:
        answer = self.decode(body)
        asked, self._asked = self._asked, []
        code = answer.code if is_problem else None
        self.load.answered(self._due, time.perf_counter(), code, len(asked))
        for one, message in zip(answer.results or (answer,), asked, strict=False):
            if one.code is not None:
                self.tenant.refused(message)  # no event says so here
                if one is not answer:
                    self.load.problem(one.code)
            for told in one.events:
                self.tenant.heard(told.event)


class Batch(Rest):
    """100 commands in a request; a batch holds commands alone."""

    commands = BATCH_COMMANDS

    def request(self, messages: list[Message]) -> tuple[str, bytes]:
        return "POST /v1/batch", self.encode({"commands": messages})


KINDS: dict[str, type[Session | Rest]] = {
    "session": Session,
    "connections": Session,
    "rest": Rest,
    "batch": Batch,
}


def generate(plan: Plan, pipe: PipeConnection) -> None:
    """In a process of its own: carry out phases from the pipe until it is closed."""
    uvloop.run(_generate(plan, pipe))


async def _generate(plan: Plan, pipe: PipeConnection) -> None:
    load = Load(plan)
    await load.watch()
    gc.disable()
    with suppress(EOFError):
        while True:
            phase = await asyncio.get_running_loop().run_in_executor(None, pipe.recv)
            pipe.send(await load.run(phase))
    load.close()
