"""Does one noisy tenant slow the others down? The others ask at a steady rate that the service can
sustain, with and without the noise by turns.

A phase with noise is compared with the silence just before and just after it, round by round, by
the server's processor time (`processor_time`). The same comparison is made for a phase without
noise: a difference there is not the service's doing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import msgspec

from laissez.workers import output_of
from laissez_bench.overload import ANSWERS, WARM_UP_S, Measured, Turns
from laissez_bench.processes import Server
from laissez_bench.processor_time import FolderPlan
from laissez_bench.statistics import Counted, Ratio, ratio_of
from laissez_bench.verdict import Verdict
from laissez_bench.world import LEAVES, TENANTS, make_world

LEVEL = 0.3  # of the capacity
CONNECTIONS, IN_FLIGHT = 64, 20
PHASE_S = 1.0
NOBODY = "nobody"
NOWHERE = "memory"  # the host of a service that has no socket

# One noisy tenant may slow the others down by a tenth. Ten milliseconds of other work decide a
# round's p99, so that even two silent phases differ by half and more: only a p99 far beyond the
# promise is significant.
SLOWER_MAX = {"p50": 1.10, "p99": 1.50}
# of the work done in silence: a refusal because of another tenant is worse than a wait
DONE_LEAST = 0.99
ROUNDS_LEAST = 6  # fewer give no certainty


class Noisy(msgspec.Struct):
    """The others' times with the noise over those without it, and the share of their requests that
    was done."""

    kind: str
    rounds: int
    slowdown_p50: Ratio
    slowdown_p99: Ratio
    done: float
    done_without: float
    p50_ms: float
    p50_ms_without: float
    p99_ms: float
    p99_ms_without: float
    offered: float  # per second, by the others
    server_cpu: float  # of a core
    server_cpu_without: float
    problems: dict[str, int]  # of the others with the noise, by code


def measure(
    kinds: list[str],
    seconds: float,
    step: Callable[[str], None],
    leaves: int = LEAVES,
    tenants: int = TENANTS,
) -> list[Noisy]:
    """A row for no noise, then one for each kind."""
    with make_world(step, leaves, tenants, capped=1) as world:
        step(f"{', '.join(kinds)}: with and without")
        rounds = max(1, round(seconds / PHASE_S))
        noises = [None, None, None, *(noise for kind in kinds for noise in (kind, None))]
        levels = [LEVEL] * len(noises)
        turns = Turns(levels, rounds, seconds / rounds, min(WARM_UP_S, seconds), IN_FLIGHT, noises)
        nowhere = Server(world.folder, NOWHERE, 0, 0)
        *others, loud = world.held
        plan = world.plan("session", nowhere, min(CONNECTIONS, len(others)))
        found = by_processor_time(FolderPlan(plan, turns, loud, str(world.folder)))
        return [
            _row(kind, *found[2 * index : 2 * index + 3])
            for index, kind in enumerate((NOBODY, *kinds))
        ]


def by_processor_time(plan: FolderPlan) -> list[Measured]:
    """In a process of its own, whose time is the server's alone."""
    command = [sys.executable, "-m", "laissez_bench.processor_time"]
    return msgspec.json.decode(output_of(command, msgspec.json.encode(plan)), type=list[Measured])


def _row(kind: str, before: Measured, noisy: Measured, after: Measured) -> Noisy:
    rounds = list(zip(before.rounds, noisy.rounds, after.rounds, strict=True))
    first, loud, last = [Counted.sum_of(one.rounds) for one in (before, noisy, after)]

    def without(figure: Callable[[Counted], float]) -> float:
        return round((figure(first) + figure(last)) / 2, 3)

    return Noisy(
        kind=kind,
        rounds=len(rounds),
        slowdown_p50=ratio_of((a.p50_ms, b.p50_ms, c.p50_ms) for a, b, c in rounds),
        slowdown_p99=ratio_of((a.p99_ms, b.p99_ms, c.p99_ms) for a, b, c in rounds),
        done=_done(loud),
        done_without=min(_done(first), _done(last)),
        p50_ms=loud.p50_ms,
        p50_ms_without=without(lambda one: one.p50_ms),
        p99_ms=loud.p99_ms,
        p99_ms_without=without(lambda one: one.p99_ms),
        offered=round(loud.offered / loud.seconds, 1),
        server_cpu=round(loud.server_cpu_s / loud.seconds, 3),
        server_cpu_without=without(lambda one: one.server_cpu_s / one.seconds),
        problems=loud.problems,
    )


def _done(counted: Counted) -> float:
    return round(counted.done / max(1, counted.offered), 4)


def judge(rows: list[Noisy]) -> Verdict[Noisy]:
    """A slowdown counts when its whole interval is beyond the promise."""
    (silence,) = [row for row in rows if row.kind == NOBODY]
    verdict = Verdict(rows)
    if silence.rounds < ROUNDS_LEAST:
        verdict.not_judged.append(
            f"all of it: {ROUNDS_LEAST} rounds are needed to be sure of something, there were"
            f" {silence.rounds}"
        )
        return verdict
    for name, most in SLOWER_MAX.items():
        ratios: dict[str, Ratio] = {row.kind: getattr(row, f"slowdown_{name}") for row in rows}
        if ratios[NOBODY].low > most:
            verdict.not_judged.append(
                f"{name}: it was {ratios[NOBODY]} with nobody's noise: this machine is not steady"
                " enough"
            )
            continue
        for kind, ratio in ratios.items():
            verdict.expect(
                ratio.low <= most,
                f"{kind}: expected the others' {name} at most x{most:.2f} with the noise, found"
                f" {ratio}",
            )
    for row in rows:
        verdict.expect(
            row.done >= DONE_LEAST * row.done_without,
            f"{row.kind}: expected the others to get {row.done_without:.1%} done as in silence,"
            f" found {row.done:.1%}",
        )
        verdict.expect_answers(row.kind, row.problems, ANSWERS)
    return verdict
