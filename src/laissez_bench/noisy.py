"""Does one noisy tenant slow the others down? The others ask at a steady rate that the service can
take, with and without the noise by turns.

A phase with noise is compared with the silence just before and just after it, round by round, by
the server's processor time (`processor_time`). The same is done with a phase in which nobody makes
noise: a difference there is not the service's doing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import msgspec

from laissez.workers import output_of
from laissez_bench.overload import WARM_UP_S, Measured, Turns
from laissez_bench.processor_time import FolderPlan
from laissez_bench.service import LEAVES, TENANTS, Address, world
from laissez_bench.statistics import Counted, Ratio, ratio_of

LEVEL = 0.3  # of the capacity
CONNECTIONS, IN_FLIGHT = 64, 20
PHASE_S = 1.0
NOBODY = "nobody"
NOWHERE = "memory"  # the host of a service that has no socket


class Noisy(msgspec.Struct):
    """The others' times with the noise over those without it, and the share of what they asked for
    that was done."""

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
    problems: dict[str, int]  # what the others were told with the noise, by code


def measure(
    kinds: list[str],
    seconds: float,
    step: Callable[[str], None],
    leaves: int = LEAVES,
    tenants: int = TENANTS,
) -> list[Noisy]:
    """A row for nobody's noise, then one for each kind."""
    step("making the market")
    with world(leaves, tenants, capped=1) as made:
        step(f"{', '.join(kinds)}: with and without")
        *held, loud = made.held
        rounds = max(1, round(seconds / PHASE_S))
        noises = [None, None, None, *(noise for kind in kinds for noise in (kind, None))]
        levels = [LEVEL] * len(noises)
        turns = Turns(levels, rounds, seconds / rounds, min(WARM_UP_S, seconds), IN_FLIGHT, noises)
        at = Address(NOWHERE, 0, 0)
        plan = made.plan("session", at, min(CONNECTIONS, len(held)))
        plan.tenants = held[: plan.connections]
        found = by_processor_time(FolderPlan(plan, turns, loud, str(made.base / "made")))
        return [
            _row(kind, *found[2 * index : 2 * index + 3])
            for index, kind in enumerate((NOBODY, *kinds))
        ]


def by_processor_time(plan: FolderPlan) -> list[Measured]:
    """In a process of its own, whose time is the server's alone."""
    command = [sys.executable, "-m", "laissez_bench.processor_time"]
    return msgspec.json.decode(output_of(command, msgspec.json.encode(plan)), type=list[Measured])


def _row(kind: str, before: Measured, noisy: Measured, after: Measured) -> Noisy:
    p50, p99 = [
        ratio_of(
            zip(
                *(
                    [counted.admitted.quantile_ms(share) for counted in one.rounds]
                    for one in (before, noisy, after)
                ),
                strict=True,
            )
        )
        for share in (0.5, 0.99)
    ]
    first, loud, last = before.all, noisy.all, after.all

    def without(figure: Callable[[Counted], float]) -> float:
        return round((figure(first) + figure(last)) / 2, 3)

    return Noisy(
        kind,
        len(noisy.rounds),
        p50,
        p99,
        _done(loud),
        min(_done(first), _done(last)),
        loud.p50_ms,
        without(lambda one: one.p50_ms),
        loud.p99_ms,
        without(lambda one: one.p99_ms),
        round(loud.offered / loud.seconds, 1),
        round(loud.server_cpu_s / loud.seconds, 3),
        without(lambda one: one.server_cpu_s / one.seconds),
        loud.problems,
    )


def _done(counted: Counted) -> float:
    return round(counted.done / max(1, counted.offered), 4)
