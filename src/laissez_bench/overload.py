"""The service under overload: open-loop load below, at and above its capacity, which is measured in
the same run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, ExitStack, nullcontext

import msgspec

from laissez.server.fair_queue import BAD_FOR_US, TURN_US
from laissez_bench.generator import SHED, Phase
from laissez_bench.processes import serving
from laissez_bench.statistics import Counted
from laissez_bench.verdict import EXPECTED, Verdict
from laissez_bench.world import LEAVES, TENANTS, World, generating, make_world

PHASE_S = 2.0
WARM_UP_S = 0.5
LEVELS = (0.5, 0.8, 1.0, 1.5)
TOO_MUCH = LEVELS[-1]
# connections, commands in flight on each while the capacity is found
LOADS = {"session": (64, 20), "rest": (2_048, 1)}
CLOSED_CONNECTIONS = 64  # while the capacity is found: enough to keep the server busy

# An admitted request waits in the queue for at most `wait_s_max`, plus the time for which the queue
# may be late before load is shed, plus its turn. On a machine whose cores are shared with the load
# and other work, each of these can take several times as long. Without shedding, the wait grows as
# long as the load lasts: by half a second for each second at 150 %.
SLACK = 4
PHASE_S_LEAST = 1.0  # less is a burst, which may wait in the queue
# of the capacity: a service must not refuse everything, and refusals cost up to half of it
ADMITTED_LEAST = 0.25
# any other code counts as done, and is not; requests on a lost connection are unanswered
ANSWERS = EXPECTED | SHED | {"connection_lost"}

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


class Level(msgspec.Struct):
    """Rates per second; times in milliseconds since a request was due, of admitted and of refused
    requests."""

    load: str
    level: float  # of the capacity
    phase_s: float  # of one stretch, with the warm-up
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
    """The capacity is measured anew in each round, because that of a machine changes."""
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
    connections_max: int = 1 << 30,
) -> list[Level]:
    shares = ", ".join(f"{level * 100:.0f} %" for level in LEVELS)
    rows: list[Level] = []
    with make_world(step, leaves, tenants) as world:
        for load in loads:
            step(f"{load}: the capacity, and {shares} of it")
            rows += _levels(load, world, seconds, connections_max)
    return rows


def _levels(load: str, world: World, seconds: float, connections_max: int) -> list[Level]:
    connections, in_flight = LOADS[load]
    rounds = max(1, round(seconds / PHASE_S))
    turns = Turns(list(LEVELS), rounds, seconds / rounds, min(WARM_UP_S, seconds), in_flight)
    with ExitStack() as stack:
        server = stack.enter_context(serving(world.copy(load), sheds=True))
        plan = world.plan(load, server, min(connections, connections_max))
        ask = stack.enter_context(generating(plan))

        async def run(phase: Phase) -> Counted:
            return ask(phase)

        found = asyncio.run(take_turns(run, turns))
    phase_s = turns.phase_s + turns.warm_up_s
    return [_row(load, *one, phase_s) for one in zip(LEVELS, found, strict=True)]


def _row(load: str, level: float, measured: Measured, phase_s: float) -> Level:
    found = Counted.sum_of(measured.rounds)
    seconds = found.seconds
    return Level(
        load=load,
        level=level,
        phase_s=phase_s,
        capacity=round(measured.capacity, 1),
        offered=round(found.offered / seconds, 1),
        admitted=round(found.done / seconds, 1),
        shed=round(found.refused.count / seconds, 1),
        unanswered=found.unanswered,
        p50_ms=found.p50_ms,
        p99_ms=found.p99_ms,
        p999_ms=found.admitted.quantile_ms(0.999),
        refused_p50_ms=found.refused.quantile_ms(0.5),
        refused_p99_ms=found.refused.quantile_ms(0.99),
        late_p99_ms=found.late.quantile_ms(0.99),
        load_cpu=round(found.generator_cpu_s / seconds, 2),
        server_cpu=round(found.server_cpu_s / seconds, 3),
        problems=found.problems,
    )


def admitted_ms_max(wait_s_max: float) -> float:
    """The bound on p99 of admitted requests, at any load."""
    return SLACK * (wait_s_max * 1_000 + (BAD_FOR_US + TURN_US) / 1_000)


def judge(rows: list[Level], wait_s_max: float) -> Verdict[Level]:
    verdict = Verdict(rows)
    for row in rows:
        verdict.expect_answers(f"{row.load} at {row.level:.0%}", row.problems, ANSWERS)
        if row.level == TOO_MUCH and row.phase_s >= PHASE_S_LEAST:
            _judge_too_much(verdict, row, admitted_ms_max(wait_s_max))
        elif row.level == TOO_MUCH:
            verdict.not_judged.append(
                f"{row.load}: an overload of {row.phase_s:g} s at a time is a burst;"
                f" {PHASE_S_LEAST:g} s is not"
            )
    return verdict


def _judge_too_much(verdict: Verdict[Level], row: Level, ms_max: float) -> None:
    verdict.expect(
        row.shed > 0,
        f"{row.load}: expected some of {TOO_MUCH:.0%} of the capacity to be shed, found nothing",
    )
    least = ADMITTED_LEAST * row.capacity
    verdict.expect(
        row.admitted >= least,
        f"{row.load}: expected at least {least:,.0f}/s to be admitted at {TOO_MUCH:.0%}, found"
        f" {row.admitted:,.0f}/s",
    )
    if row.late_p99_ms > ms_max:
        verdict.not_judged.append(
            f"{row.load}: the load itself was {row.late_p99_ms:,.0f} ms behind, so the delay of"
            " the answers is not known"
        )
        return
    waited_ms = row.p99_ms - row.late_p99_ms
    verdict.expect(
        waited_ms <= ms_max,
        f"{row.load}: expected p99 of admitted requests at {TOO_MUCH:.0%} at most"
        f" {ms_max:,.0f} ms, found {waited_ms:,.0f}",
    )
