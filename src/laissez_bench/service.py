"""The speed of the service: a real server, and beside it the ceiling, a server with the same
sockets and journal and an empty exchange. Also the time of a start after a crash.

Both run at the same time and are loaded by turns, so that other work on the machine touches both
alike. The generator is a process of its own on the same machine. All the while, an operator follows
the event stream and a console is open.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from signal import SIGKILL

import msgspec

from laissez.journal import Reader
from laissez.workers import output_of
from laissez_bench.generator import BATCH_COMMANDS, Phase
from laissez_bench.processes import server_process, serving
from laissez_bench.statistics import Counted
from laissez_bench.world import LEAVES, TENANTS, Run, World, generating, make_world

ROUNDS = 4  # turns that product and ceiling take
WARM_UP_S = 1.0

OPEN = "open-session"
OPEN_P99_MS_MAX = 20.0
OPEN_STEPS = 7  # of the bisection: to about 1 % of the capacity

# A closed row searches here for the number in flight: connections, commands in flight on each.
SEARCHED = {
    "session": [(64, commands) for commands in (1, 2, 4, 8, 16, 32)],
    "connections": [(1_000, 1)],
    "rest": [(connections, 1) for connections in (4, 8, 16, 32, 64, 128)],
    "batch": [(connections, 1) for connections in (1, 2, 4, 8, 16)],
}
WITH_CEILING = ("session", "batch", "rest")
LOADS = (*SEARCHED, OPEN)
GAIN_LEAST = 1.05  # of the rate before: with less gain, more in flight only adds waiting
PROBE_S_MAX = 1.0

RECOVERY = "recovery"
RECOVERY_CONNECTIONS = 8
COMMANDS_PER_SECOND_LEAST = 500  # a slower server may not carry out all
RECOVER = """
import sys, time
from pathlib import Path
from laissez.server import data_folder
from laissez.server.settings import Limits
began = time.perf_counter(), time.process_time()
opened = data_folder.open_folder(Path(sys.argv[1]), Limits())
took = time.perf_counter() - began[0], time.process_time() - began[1]
print(opened.journal.last, opened.replayed, *took)
"""


class Row(msgspec.Struct):
    """Answers per second, all durable, with their latency. Times per command are processor time,
    user and system."""

    load: str
    per_second: float
    p50_ms: float
    p99_ms: float
    durable: bool
    connections: int
    in_flight: int  # commands on each connection; 0 in an open loop
    leaves: int
    tenants: int
    problems: dict[str, int]  # refusals by code, of commands that came too late for example
    us_per_command: float = 0.0  # of the server
    us_per_command_main: float = 0.0  # of its event loop's thread
    us_per_command_others: float = 0.0  # of its other threads: the journal's, mostly
    generator_us_per_command: float = 0.0
    generator_share: float = 0.0  # of a core: near 1, the generator is the limit, not the server
    share_of_ceiling: float | None = None
    pause_ms_max: float = 0.0  # longest time without an answer while commands were in flight
    bytes_per_command: float = 0.0  # of the journal on disk


class Side:
    """A server under load: the product or the ceiling."""

    def __init__(self, load: str, world: World, is_ceiling: bool) -> None:
        self.name = f"ceiling-{load}" if is_ceiling else load
        self._kind = "session" if load == OPEN else load
        self._world = world
        self._is_ceiling = is_ceiling
        self.counted = Counted()
        self.connections, self.in_flight = SEARCHED[self._kind][-1]
        self.bytes_per_command = 0.0
        self.run: Run

    @contextmanager
    def loaded(self) -> Iterator[None]:
        world = self._world
        connections = max(connections for connections, _ in SEARCHED[self._kind])
        if self._kind in ("session", "connections"):
            connections = min(connections, len(world.held))
        if self._is_ceiling:
            folder, before = world.base / self.name, (0, 0)
            starting = server_process(folder, ["laissez_bench.echo", str(folder)], {})
        else:
            folder = world.copy(self.name)
            before = _journal_size(folder)
            starting = serving(folder)
        with starting as server:
            plan = world.plan(self._kind, server, connections, watched=not self._is_ceiling)
            with generating(plan) as self.run:
                yield
        entries, size = [a - b for a, b in zip(_journal_size(folder), before, strict=True)]
        self.bytes_per_command = size / max(1, entries)
        shutil.rmtree(folder)

    def search(self, seconds: float) -> float:
        """Put more in flight as long as that raises the rate of answers, and return the highest
        rate. One probe may be disturbed, so the search ends after two without gain."""
        best, misses = 0.0, 0
        for connections, in_flight in SEARCHED[self._kind]:
            probed_s = min(PROBE_S_MAX, seconds / 4)
            rate = self.run(Phase(probed_s, probed_s / 4, None, in_flight, connections)).per_second
            if rate < GAIN_LEAST * best:
                misses += 1
                if misses == 2:
                    break
                continue
            misses = 0
            best, self.connections, self.in_flight = rate, connections, in_flight
        return best

    def closed(self, seconds: float) -> None:
        phase = Phase(seconds, min(WARM_UP_S, seconds), None, self.in_flight, self.connections)
        self.counted.merge(self.run(phase))

    def bisect(self, seconds: float, capacity: float) -> None:
        """The highest rate whose p99 stays below the bound, with every request answered."""
        low, high = 0.0, 1.2 * capacity
        for _ in range(OPEN_STEPS):
            rate = (low + high) / 2
            # One hiccup of the machine must not halve the result: a rate fails twice or not at all.
            for _ in range(2):
                counted = self.at_rate(seconds, rate)
                if is_kept := _is_kept(counted):
                    low, self.counted = rate, counted
                    break
            if not is_kept:
                high = rate

    def at_rate(self, seconds: float, per_second: float) -> Counted:
        self.connections, self.in_flight = min(64, len(self._world.held)), 0
        return self.run(Phase(seconds, min(WARM_UP_S, seconds / 4), per_second))

    def row(self, ceiling: Side | None = None) -> Row:
        counted, answered = self.counted, max(1, self.counted.answered)

        def us(seconds: float) -> float:
            return round(seconds * 1e6 / answered, 2)

        share = None
        if ceiling is not None and ceiling.counted.answered:
            share = round(counted.per_second / ceiling.counted.per_second, 3)
        return Row(
            load=self.name,
            per_second=round(counted.per_second, 1),
            p50_ms=counted.p50_ms,
            p99_ms=counted.p99_ms,
            durable=True,
            connections=self.connections,
            in_flight=self.in_flight * (BATCH_COMMANDS if self._kind == "batch" else 1),
            leaves=0 if self._is_ceiling else self._world.leaves,
            tenants=len(self._world.held),
            problems=counted.problems,
            us_per_command=us(counted.server_cpu_s),
            us_per_command_main=us(counted.server_main_s),
            us_per_command_others=us(counted.server_others_s),
            generator_us_per_command=us(counted.generator_cpu_s),
            generator_share=round(counted.generator_cpu_s / (counted.seconds or 1.0), 3),
            share_of_ceiling=share,
            pause_ms_max=round(counted.pause_s * 1000, 1),
            bytes_per_command=round(self.bytes_per_command, 1),
        )


def measure(
    loads: list[str],
    seconds: float,
    step: Callable[[str], None],
    leaves: int = LEAVES,
    tenants: int = TENANTS,
    per_second: float | None = None,
    ceiling: bool = False,
) -> list[Row]:
    """A row per load, and with `ceiling` another for each load that has one. Each is measured on a
    server with a market of its own, in an open loop if a rate is asked for."""
    rows: list[Row] = []
    with make_world(step, leaves, tenants) as world:
        for load in loads:
            step(load)
            rows += _rows(load, seconds, world, per_second, ceiling and load in WITH_CEILING)
    return rows


def _rows(
    load: str, seconds: float, world: World, per_second: float | None, with_ceiling: bool
) -> list[Row]:
    product = Side(load, world, False)
    sides = [product, Side(load, world, True)] if with_ceiling else [product]
    with ExitStack() as servers:
        for side in sides:
            servers.enter_context(side.loaded())
        if per_second is not None:
            product.counted = product.at_rate(seconds, per_second)
        elif load == OPEN:
            product.bisect(seconds / 4, product.search(seconds))
        else:
            for side in sides:
                side.search(seconds)
            for _ in range(ROUNDS):
                for side in sides:
                    side.closed(seconds / ROUNDS)
    ceilings = sides[1:]
    return [product.row(*ceilings), *(side.row() for side in ceilings)]


def _is_kept(counted: Counted) -> bool:
    is_complete = not counted.refused.count and not counted.unanswered
    return is_complete and counted.p99_ms < OPEN_P99_MS_MAX


def _journal_size(folder: Path) -> tuple[int, int]:
    """Entries, and bytes on disk."""
    with Reader.of(folder) as reader:
        entries = reader.tail().last
    return entries, sum(path.stat().st_size for path in folder.glob("journal.db*"))


# -- a start after a crash


class Recovery(msgspec.Struct, kw_only=True):
    load: str = RECOVERY
    commands: int  # in the journal
    replayed: int  # since the newest snapshot
    seconds: float
    us_per_command: float  # processor time, over those replayed
    megabytes: float
    seconds_per_million_extrapolated: float  # for a million replayed commands


def measure_recovery(
    commands: int, step: Callable[[str], None], leaves: int = LEAVES, tenants: int = TENANTS
) -> Recovery:
    """The server takes its snapshots as usual."""
    with make_world(step, leaves, tenants) as world:
        step(f"carrying out {commands:,} commands")
        with serving(world.folder, stop=SIGKILL) as server:
            plan = world.plan("batch", server, min(RECOVERY_CONNECTIONS, tenants))
            with generating(plan) as run:
                run(Phase(10 + commands / COMMANDS_PER_SECOND_LEAST, commands_max=commands))
        step("recovering")
        return _recover(world.folder)


def _recover(folder: Path) -> Recovery:
    """In a process of its own, as a start is."""
    printed = output_of([sys.executable, "-c", RECOVER, str(folder)]).split()
    commands, replayed = map(int, printed[:2])
    seconds, cpu_s = map(float, printed[2:])
    return Recovery(
        commands=commands,
        replayed=replayed,
        seconds=round(seconds, 2),
        us_per_command=round(cpu_s * 1e6 / max(1, replayed), 2),
        megabytes=round(sum(path.stat().st_size for path in folder.glob("journal.db*")) / 1e6, 1),
        seconds_per_million_extrapolated=round(seconds * 1e6 / max(1, replayed), 1),
    )
