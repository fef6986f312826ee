"""Open-loop load on the service in one process, by the server's processor time: the effect of one
request on another, and nothing else.

    python -m laissez_bench.processor_time < plan.json > report.json

Time passes while code of the server's loop runs, by its processor time, and while everything waits.
The load takes no time, the network is in memory, and writes of other threads happen at once. So
other work on the machine changes little of the measurement; real processes cannot offer that.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import Context
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from laissez.server.clock import Clock
from laissez.server.data_folder import open_folder
from laissez.server.lifecycle import Service
from laissez.server.settings import Data, Journal, Limits, Settings, Webhooks
from laissez_bench.generator import Load, Plan
from laissez_bench.mix import Held
from laissez_bench.noise import Noise
from laissez_bench.overload import Measured, Turns, take_turns
from laissez_bench.processes import THIS_MACHINE, CpuTime
from laissez_check.simulated.edges import Wall, patched
from laissez_check.simulated.listening import listen
from laissez_check.simulated.loop import PROCESS, Process, SimulatedLoop
from laissez_check.simulated.network import CALM, Network
from laissez_check.simulated.storing import LoopCommit, LoopCopy

NO_SNAPSHOTS = 1 << 40  # they are written by another process
SESSIONS_MAX = 100
FIRST_BURST_S = 1.5  # which every tenant may have; noise counts after it


class FolderPlan(msgspec.Struct):
    """The load, the levels and noises, and the tenant that makes the noise."""

    plan: Plan
    turns: Turns
    loud: Held
    folder: str


class ProcessorLoop(SimulatedLoop):
    """The server's code takes time; all other code takes none."""

    turns_max = 1 << 60

    def __init__(self, server: Process) -> None:
        self._began: int | None = None
        super().__init__()
        self._server = server
        self.worked = 0.0  # seconds, by the server

    def time(self) -> float:
        if self._began is None:
            return self._now
        return self._now + (time.thread_time_ns() - self._began) / 1e9

    def call_soon(  # type: ignore[override]
        self, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        return super().call_soon(*self._timed(context, callback, args), context=context)

    call_soon_threadsafe = call_soon

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return super().call_at(when, *self._timed(context, callback, args), context=context)

    def _timed(
        self, context: Context | None, callback: Any, args: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        process = PROCESS.get() if context is None else context.get(PROCESS)
        return (self._run_timed, callback, args) if process is self._server else (callback, *args)

    def _run_timed(self, callback: Any, args: tuple[Any, ...]) -> None:
        self._began = time.thread_time_ns()
        try:
            callback(*args)
        finally:
            took = (time.thread_time_ns() - self._began) / 1e9
            self._began = None
            self._now += took
            self.worked += took

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Stop the clock for the work of another thread."""
        began = time.thread_time_ns()
        try:
            yield
        finally:
            if self._began is not None:
                self._began += time.thread_time_ns() - began


class CommitElsewhere(LoopCommit):
    def _store(self) -> None:
        assert isinstance(self._loop, ProcessorLoop)
        with self._loop.elsewhere():
            super()._store()


class Loopback(Network):
    latencies_s = (0.00005,)


def measure(plan: FolderPlan) -> list[Measured]:
    server = Process()
    loop = ProcessorLoop(server)
    wall = Wall(loop)
    network = Loopback(loop, Random(plan.plan.seed), CALM)
    with patched(loop, wall, plan.plan.seed):
        asyncio.set_event_loop(loop)
        return loop.run_until_complete(_run(plan, loop, network, wall, server))


async def _run(
    plan: FolderPlan, loop: ProcessorLoop, network: Network, wall: Wall, server: Process
) -> list[Measured]:
    await loop.begin(server, loop.create_task, _serve(plan, network, wall))
    load = Load(plan.plan, lambda: CpuTime(loop.worked, 0.0))
    # a collection would fall into one phase or another by chance
    gc.collect()
    gc.freeze()
    gc.disable()
    found = await take_turns(load.run, plan.turns, partial(_noise, plan))
    load.close()
    return found


async def _serve(plan: FolderPlan, network: Network, wall: Wall) -> None:
    settings = Settings(
        data=Data(folder=plan.folder),
        journal=Journal(snapshot_every_s=NO_SNAPSHOTS),
        limits=Limits(sessions_max=SESSIONS_MAX),
        webhooks=Webhooks(allow_addresses=(THIS_MACHINE,)),
    )
    clock = partial(Clock, wall=wall.now_ns, passed=wall.passed_ns)
    opened = open_folder(Path(plan.folder), settings.limits, start_clock=clock)
    draw = Random(plan.plan.seed)
    commit = partial(CommitElsewhere, draw=draw, slow=0.0)
    service = Service(settings, opened, commit, partial(LoopCopy, draw=draw))
    service.begin()
    listen(network, plan.plan.port, service)


@asynccontextmanager
async def _noise(plan: FolderPlan, kind: str) -> AsyncIterator[None]:
    """Make noise until the block ends."""
    loud = Noise(plan.plan, kind, plan.loud)
    await loud.begin()
    await asyncio.sleep(FIRST_BURST_S)
    try:
        yield
    finally:
        loud.close()


def main() -> None:
    plan = msgspec.json.decode(sys.stdin.buffer.read(), type=FolderPlan)
    sys.stdout.buffer.write(msgspec.json.encode(measure(plan)))


if __name__ == "__main__":
    main()
