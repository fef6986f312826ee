"""Open-loop load: requests are due at moments drawn beforehand, whether or not earlier ones have
been answered, as those of many callers are.

    python -m laissez_bench.open_load < plan.json > report.json

A request's time runs from the moment it was due, not from when it could be sent: a server that
stalls is charged for everybody who would have asked meanwhile. Without a rate the loop is closed,
and finds out how much the server can take in the same shape.
"""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import time
from asyncio.subprocess import PIPE
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

import msgspec

from laissez_bench.cluster import Held
from laissez_bench.cores import cpu_seconds, keep_apart
from laissez_bench.load import (
    READY_WITHIN_S,
    Connection,
    Plan,
    RestConnection,
    SessionConnection,
    Tally,
)
from laissez_bench.mix import Tenant
from laissez_bench.noise import NoisePlan

# of a session: so that the load costs the machine much less than the service does
COMMANDS_PER_FRAME = 10
# keep the service busy while the capacity is found: enough of them, and not so many that it sheds
CLOSED_CONNECTIONS = 64
# for answers to what was asked; what has none by then counts with the time it has waited
DRAIN_S = 5.0
FIRST_BURST_S = 1.5  # everybody may have one at once; what counts is how it goes on
SHED = frozenset({"overloaded", "rate_limited"})


class OpenPlan(Plan, kw_only=True):
    """Every level of the capacity, for so many seconds in each of so many rounds."""

    levels: list[float]
    rounds: int
    noises: list[str | None] = msgspec.field(default_factory=list)  # one beside each level, if any
    loud: Held | None = None  # who makes them


class OpenReport(msgspec.Struct):
    """Times in milliseconds, from when a request was due."""

    capacity: float
    offered: int
    admitted: int
    shed: int
    unanswered: int
    seconds: float
    p50_ms: float
    p99_ms: float
    p999_ms: float
    refused_p50_ms: float
    refused_p99_ms: float
    late_p99_ms: float  # how far the load itself was behind
    load_cpu: float  # of a core, used by the load itself
    server_cpu: float  # of a core, used by the server
    per_round: list[tuple[float, float]]  # p50 and p99 of each round
    problems: dict[str, int]


class OpenTally(Tally):
    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.offered = 0
        self.admitted: list[float] = []
        self.refused: list[float] = []
        self.late: list[float] = []
        self.unanswered: list[float] = []
        self.capacities: list[float] = []
        self.rounds: list[tuple[float, float]] = []
        self.cpu = self.server_cpu = self.wall = 0.0

    def ask(self, due: float, now: float) -> None:
        if self.start <= due < self.stop:
            self.offered += 1
            self.late.append(now - due)

    def answer_to(self, due: float, code: str | None) -> None:
        if code is not None:
            self.problem(code)
        if self.start <= due < self.stop:
            (self.refused if code in SHED else self.admitted).append(time.perf_counter() - due)

    @property
    def waiting(self) -> int:
        return self.offered - len(self.admitted) - len(self.refused) - len(self.unanswered)


class Heard(msgspec.Struct):
    """As much of an answer as the load must know, so that reading it costs the load little."""

    type: str
    id: str = ""
    code: str | None = None
    events: list[dict[str, Any]] = []
    told: dict[str, Any] | None = None


class Spare:
    """What all connections share that carry one request at a time: those that are idle, or, when
    none is, the moments at which requests were due."""

    def __init__(self) -> None:
        self.idle: deque[OpenRest] = deque()
        self.due: deque[float] = deque()


class OpenSession(SessionConnection):
    """Each request is a frame of several commands."""

    tally: OpenTally
    decode = msgspec.msgpack.Decoder(Heard | list[Heard]).decode

    def begin(self) -> None:
        self.left = 0  # answered commands that make no whole frame yet
        if self.plan.per_second is None:
            for _ in range(self.plan.in_flight):
                self.ask(time.perf_counter())

    def ask(self, due: float) -> None:
        messages = [self.tenant.next() for _ in range(COMMANDS_PER_FRAME)]
        now = time.perf_counter()
        for message in messages:
            self.sent[message["id"]] = due
            self.tally.ask(due, now)
        self._write(messages)

    def _ask_again(self, count: int) -> None:
        now = time.perf_counter()
        if self.plan.per_second is None and now < self.tally.stop:
            frames, self.left = divmod(self.left + count, COMMANDS_PER_FRAME)
            for _ in range(frames):
                self.ask(now)

    def _heard(self, message: Heard) -> int:  # type: ignore[override]
        if message.told is not None:
            self.tenant.heard(message.told["event"])
            return 0
        due = self.sent.pop(message.id, None)
        if due is None:
            return 0
        self.tally.answer_to(due, message.code)
        for told in message.events:
            self.tenant.heard(told["event"])
        return 1


class OpenRest(RestConnection):
    """One request at a time. When all connections are busy, requests that are due wait, and their
    time runs."""

    tally: OpenTally
    spare: Spare

    def begin(self) -> None:
        if not self.began:
            self._ask()

    def ask(self, due: float) -> None:
        if self.spare.idle:
            self.spare.idle.popleft().send(due)
        else:
            self.spare.due.append(due)
            self.tally.ask(due, due)

    def send(self, due: float, counted: bool = False) -> None:
        now = time.perf_counter()
        if not counted:
            self.tally.ask(due, now)
        message = self.tenant.next()
        self._write_message(message, due)

    def _ask(self) -> None:
        now = time.perf_counter()
        if self.spare.due:
            self.send(self.spare.due.popleft(), counted=True)
        elif self.plan.per_second is None and now < self.tally.stop:
            self.send(now)
        else:
            self.spare.idle.append(self)

    def _heard(self, status: int, answer: Any) -> None:
        due, _ = self.began.popleft()
        self.tally.answer_to(due, answer["code"] if status >= 400 else None)
        for told in answer.get("events", ()):
            self.tenant.heard(told["event"])


KINDS: dict[str, type[OpenSession | OpenRest]] = {"session": OpenSession, "rest": OpenRest}

# of this kind, as long as the block lasts; None is none
MakeNoise: TypeAlias = Callable[[OpenPlan, str | None], AbstractAsyncContextManager[None]]


async def run(
    plan: OpenPlan, noise: MakeNoise, server_cpu_s: Callable[[], float]
) -> list[OpenReport]:
    """A report on each level. They take turns, each time after the capacity was measured anew: what
    a machine can do changes while one looks."""
    tallies = [OpenTally(plan) for _ in plan.levels]
    opened = await open_all(
        plan, lambda n, tenant, key: KINDS[plan.load](plan, n, tenant, key, tallies[0])
    )
    gc.collect()
    gc.freeze()
    gc.disable()
    for _ in range(plan.rounds):
        closed = OpenTally(plan)
        await _phase(plan, opened, closed, None, server_cpu_s)
        capacity = len(closed.admitted) / plan.seconds
        for level, tally, kind in zip(
            plan.levels, tallies, plan.noises or [None] * len(plan.levels), strict=True
        ):
            tally.capacities.append(capacity)
            async with noise(plan, kind):
                await _phase(plan, opened, tally, level * capacity, server_cpu_s)
    for connection in opened:
        connection.tally.over = True
        connection.transport.close()
    return [_report(plan, tally) for tally in tallies]


@asynccontextmanager
async def _noise(plan: OpenPlan, kind: str | None) -> AsyncIterator[None]:
    """Somebody makes noise, in a process of its own, until the block ends."""
    if kind is None or plan.loud is None:
        yield
        return
    asked = msgspec.json.encode(
        NoisePlan(kind, plan.host, plan.port, plan.loud, plan.scopes, time.time_ns())
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "laissez_bench.noise", stdin=PIPE, stdout=PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(asked)
        process.stdin.close()
        if await process.stdout.readline() != b"ready\n":
            raise ConnectionError(f"the noise {kind} could not begin")
        await asyncio.sleep(FIRST_BURST_S)
        yield
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _phase(
    plan: OpenPlan,
    opened: list[Any],
    tally: OpenTally,
    per_second: float | None,
    server_cpu_s: Callable[[], float],
) -> None:
    started, cpu, server_cpu = time.perf_counter(), time.process_time(), server_cpu_s()
    before = len(tally.admitted)
    spare = Spare()
    plan.per_second = per_second
    tally.start, tally.stop = started + plan.warm_up_s, started + plan.warm_up_s + plan.seconds
    for number, connection in enumerate(opened):
        connection.tally, connection.spare = tally, spare
        if per_second is not None or number < CLOSED_CONNECTIONS:
            connection.begin()
    await _drive(plan, opened, started, tally)
    tally.cpu += time.process_time() - cpu
    tally.server_cpu += server_cpu_s() - server_cpu
    tally.wall += time.perf_counter() - started
    await _drained(tally)
    tally.unanswered += _waiting(opened, spare, tally)
    latest = sorted(tally.admitted[before:])
    tally.rounds.append((quantile(latest, 0.5), quantile(latest, 0.99)))


async def open_all(plan: Plan, make: Callable[[int, Tenant, str], Any]) -> list[Any]:
    loop = asyncio.get_running_loop()
    opened: list[Connection] = []
    for number in range(plan.connections):
        held = plan.tenants[number % len(plan.tenants)]
        tenant = Tenant(number, held, plan.scopes, plan.seed)
        _, connection = await loop.create_connection(
            lambda n=number, t=tenant, h=held: make(n, t, h.key),  # type: ignore[misc]
            plan.host,
            plan.port,
        )
        async with asyncio.timeout(READY_WITHIN_S):
            await connection.ready
        opened.append(connection)
    return opened


async def _drive(plan: Plan, opened: list[Any], started: float, tally: OpenTally) -> None:
    """Ask at the moments drawn, each time on the next connection."""
    if plan.per_second is None:
        await asyncio.sleep(tally.stop - time.perf_counter())
        return
    draw = random.Random(plan.seed)
    frames_per_second = plan.per_second / (COMMANDS_PER_FRAME if plan.load == "session" else 1)
    due, turn = started, 0
    while due < tally.stop:
        now = time.perf_counter()
        while due <= now and due < tally.stop:
            opened[turn % len(opened)].ask(due)
            turn += 1
            due += draw.expovariate(frames_per_second)
        await asyncio.sleep(max(0.0, due - now))


async def _drained(tally: OpenTally) -> None:
    until = time.perf_counter() + DRAIN_S
    while tally.waiting > 0 and time.perf_counter() < until:
        await asyncio.sleep(0.01)


def _waiting(opened: list[Any], spare: Spare, tally: OpenTally) -> list[float]:
    """How long what was never answered has waited until now: to leave it out would flatter the
    server."""
    now = time.perf_counter()
    dues = [*spare.due]
    spare.due.clear()
    for connection in opened:
        dues += (
            connection.sent.values()
            if isinstance(connection, OpenSession)
            else [due for due, _ in connection.began]
        )
    return [now - due for due in dues if tally.start <= due < tally.stop]


def quantile(times: list[float], share: float) -> float:
    """In milliseconds, of sorted times."""
    return round(times[min(len(times) - 1, int(len(times) * share))] * 1000, 2) if times else 0.0


def _report(plan: OpenPlan, tally: OpenTally) -> OpenReport:
    admitted, refused, late = (
        sorted(tally.admitted + tally.unanswered),
        sorted(tally.refused),
        sorted(tally.late),
    )
    return OpenReport(
        round(sum(tally.capacities) / plan.rounds, 1),
        tally.offered,
        len(tally.admitted),
        len(refused),
        len(tally.unanswered),
        plan.seconds * plan.rounds,
        quantile(admitted, 0.5),
        quantile(admitted, 0.99),
        quantile(admitted, 0.999),
        quantile(refused, 0.5),
        quantile(refused, 0.99),
        quantile(late, 0.99),
        round(tally.cpu / tally.wall, 2),
        round(tally.server_cpu / tally.wall, 3),
        tally.rounds,
        tally.problems,
    )


def main() -> None:
    import uvloop

    plan = msgspec.json.decode(sys.stdin.buffer.read(), type=OpenPlan)
    if plan.noises:
        keep_apart(plan.server)
    reports = uvloop.run(run(plan, _noise, lambda: cpu_seconds(plan.server)))
    sys.stdout.buffer.write(msgspec.json.encode(reports))


if __name__ == "__main__":
    main()
