"""What the service does when it is asked for more than it can do: open-loop load below, at and
above its capacity, measured in the same run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext

import msgspec

from laissez_bench.generator import Phase
from laissez_bench.service import LEAVES, TENANTS, World, generating, running, world
from laissez_bench.statistics import Counted

PHASE_S = 2.0
WARM_UP_S = 0.5
LEVELS = (0.5, 0.8, 1.0, 1.5)
# connections, commands in flight on each while the capacity is found
LOADS = {"session": (64, 20), "rest": (2_048, 1)}
CLOSED_CONNECTIONS = 64  # while the capacity is found: enough to keep the server busy

# noise of this kind while the block lasts
MakeNoise = Callable[[str], AbstractAsyncContextManager[None]]


class Turns(msgspec.Struct):
    """Every level of the capacity, a phase in each round, some beside a noise."""

    levels: list[float]
    rounds: int
    phase_s: float
    warm_up_s: float
    in_flight: int
    noises: list[str | None] = []


class Measured(msgspec.Struct):
    """One level, round by round."""

    capacity: float
    rounds: list[Counted]

    @property
    def all(self) -> Counted:
        return Counted.sum_of(self.rounds)


class Level(msgspec.Struct):
    """Rates per second; times in milliseconds from when a request was due, of what was admitted and
    of what was refused."""

    load: str
    level: float  # of the capacity
    phase_s: float  # how long it was asked for at a stretch, with the warm-up
    capacity: float
    offered: float
    admitted: float
    shed: float
    unanswered: int
    p50_ms: float
    p99_ms: float
    p999_ms: float
    refused_p50_ms: float
    refused_p99_ms: float
    late_p99_ms: float  # how far the generator itself was behind
    load_cpu: float  # of a core, used by the generator
    server_cpu: float
    problems: dict[str, int]


async def take_turns(
    run: Callable[[Phase], Awaitable[Counted]], turns: Turns, noise: MakeNoise | None = None
) -> list[Measured]:
    """The capacity is measured anew in each round: what a machine can do changes meanwhile."""
    found: list[list[Counted]] = [[] for _ in turns.levels]
    capacity = 0.0
    for _ in range(turns.rounds):
        closed = Phase(turns.phase_s, turns.warm_up_s, None, turns.in_flight, CLOSED_CONNECTIONS)
        reached = (await run(closed)).per_second
        capacity += reached / turns.rounds
        kinds = turns.noises or [None] * len(turns.levels)
        for level, kind, counted in zip(turns.levels, kinds, found, strict=True):
            async with nullcontext() if kind is None or noise is None else noise(kind):
                rate = max(1.0, level * reached)
                counted.append(await run(Phase(turns.phase_s, turns.warm_up_s, rate)))
    return [Measured(capacity, counted) for counted in found]


def measure(
    loads: list[str],
    seconds: float,
    step: Callable[[str], None],
    leaves: int = LEAVES,
    tenants: int = TENANTS,
    connections: int | None = None,
) -> list[Level]:
    step("making the market")
    with world(leaves, tenants) as made:
        return [row for load in loads for row in _levels(load, made, seconds, step, connections)]


def _levels(
    load: str, made: World, seconds: float, step: Callable[[str], None], most: int | None
) -> list[Level]:
    connections, in_flight = LOADS[load]
    shares = ", ".join(f"{level * 100:.0f} %" for level in LEVELS)
    step(f"{load}: the capacity, and {shares} of it")
    rounds = max(1, round(seconds / PHASE_S))
    turns = Turns(list(LEVELS), rounds, seconds / rounds, min(WARM_UP_S, seconds), in_flight)
    with running(made.copy(load), sheds=True) as at:
        plan = made.plan(load, at, min(connections, most or connections))
        plan.tenants = made.held
        with generating(plan) as ask:

            async def run(phase: Phase) -> Counted:
                return ask(phase)

            found = asyncio.run(take_turns(run, turns))
    return [
        _row(load, level, turns.phase_s + turns.warm_up_s, one)
        for level, one in zip(LEVELS, found, strict=True)
    ]


def _row(load: str, level: float, phase_s: float, measured: Measured) -> Level:
    found = measured.all
    seconds = found.seconds
    admitted = found.admitted.count - found.unanswered
    return Level(
        load=load,
        level=level,
        phase_s=phase_s,
        capacity=round(measured.capacity, 1),
        offered=round(found.offered / seconds, 1),
        admitted=round(admitted / seconds, 1),
        shed=round(found.refused.count / seconds, 1),
        unanswered=found.unanswered,
        p50_ms=found.admitted.quantile_ms(0.5),
        p99_ms=found.admitted.quantile_ms(0.99),
        p999_ms=found.admitted.quantile_ms(0.999),
        refused_p50_ms=found.refused.quantile_ms(0.5),
        refused_p99_ms=found.refused.quantile_ms(0.99),
        late_p99_ms=found.late.quantile_ms(0.99),
        load_cpu=round(found.generator_cpu_s / seconds, 2),
        server_cpu=round(found.server_cpu_s / seconds, 3),
        problems=found.problems,
    )
