"""Does one noisy tenant slow the others down? The others ask at a steady rate that the service can
take, with and without the noise by turns.

By the server's processor time (`processor_time`), or by the clock, with real processes. What else
the machine does comes and goes then, so a phase with noise is compared with the silence just before
and just after it, round by round, and the same is done with a phase in which nobody makes noise:
what that one shows is not the service's doing.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from math import comb
from pathlib import Path
from statistics import median

import msgspec

from laissez_bench import cluster
from laissez_bench.crowd import tree
from laissez_bench.load import Plan
from laissez_bench.open_load import OpenPlan, OpenReport
from laissez_bench.overload import WARM_UP_S, put_open
from laissez_bench.processor_time import FolderPlan
from laissez_bench.service import LEAVES, TENANTS, running

LEVEL = 0.3  # of the capacity
CONNECTIONS, IN_FLIGHT = 64, 2
PHASE_S = 1.0
NOBODY = "nobody"
NOWHERE = "memory"  # the host of a service that has no socket
SURE = 0.95


class Ratio(msgspec.Struct):
    """The median of the rounds, and between what it lies with 95 % certainty if the rounds are like
    those to come."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"x{self.median:.2f} {self.low:.2f}-{self.high:.2f}"


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
    real: bool = False,
    leaves: int = LEAVES,
    tenants: int = TENANTS,
) -> list[Noisy]:
    """A row for nobody's noise, then one for each kind."""
    base = Path(tempfile.mkdtemp(prefix="laissez-bench-"))
    try:
        step("making the market")
        *held, loud = cluster.found(base / "market", leaves, tenants, capped=1)
        scopes = [path for path in tree(leaves).nodes if path.count("/") in (1, 2, 3)]
        step(f"{', '.join(kinds)}: with and without")
        rounds = max(1, round(seconds / PHASE_S))
        noises = [None, None, None, *(noise for kind in kinds for noise in (kind, None))]
        connections, warm_up_s = min(CONNECTIONS, len(held)), min(WARM_UP_S, seconds)
        common = Plan(
            "session",
            NOWHERE,
            0,
            connections,
            IN_FLIGHT,
            seconds / rounds,
            warm_up_s,
            time.time_ns(),
            held,
            scopes,
        )
        plan = OpenPlan(
            **msgspec.structs.asdict(common),
            levels=[LEVEL] * len(noises),
            rounds=rounds,
            noises=noises,
            loud=loud,
        )
        reports = (
            _by_the_clock(plan, base / "market")
            if real
            else _by_processor_time(plan, base / "market")
        )
        return [
            _row(kind, *reports[2 * index : 2 * index + 3])
            for index, kind in enumerate((NOBODY, *kinds))
        ]
    finally:
        shutil.rmtree(base)


def _by_the_clock(plan: OpenPlan, folder: Path) -> list[OpenReport]:
    with running(folder, sheds=True) as (plan.host, plan.port, plan.server):
        return put_open("laissez_bench.open_load", plan)


def _by_processor_time(plan: OpenPlan, folder: Path) -> list[OpenReport]:
    return put_open(
        "laissez_bench.processor_time",
        FolderPlan(**msgspec.structs.asdict(plan), folder=str(folder)),
    )


def ratio_of(rounds: list[tuple[float, float, float]]) -> Ratio:
    """What was measured before, with and after the noise in each round. The interval is that of
    order statistics, which asks nothing of how the rounds are spread; fewer than six cannot be sure
    of anything, and give all they have.
    """
    ratios = sorted(
        loud / ((before + after) / 2) if before + after else 0.0 for before, loud, after in rounds
    )
    count, tail, rank = len(ratios), 0.0, 0
    while (tail := tail + comb(count, rank) / 2**count) <= (1 - SURE) / 2:
        rank += 1
    rank = max(rank, 1)
    return Ratio(
        round(median(ratios), 3), round(ratios[rank - 1], 3), round(ratios[count - rank], 3)
    )


def _row(kind: str, before: OpenReport, noisy: OpenReport, after: OpenReport) -> Noisy:
    rounds = list(zip(before.per_round, noisy.per_round, after.per_round, strict=True))
    p50, p99 = [
        ratio_of([(first[which], loud[which], last[which]) for first, loud, last in rounds])
        for which in (0, 1)
    ]
    return Noisy(
        kind,
        len(rounds),
        p50,
        p99,
        _done(noisy),
        min(_done(before), _done(after)),
        noisy.p50_ms,
        round((before.p50_ms + after.p50_ms) / 2, 2),
        noisy.p99_ms,
        round((before.p99_ms + after.p99_ms) / 2, 2),
        round(noisy.offered / noisy.seconds, 1),
        noisy.server_cpu,
        round((before.server_cpu + after.server_cpu) / 2, 3),
        noisy.problems,
    )


def _done(report: OpenReport) -> float:
    return round(report.admitted / max(1, report.offered), 4)
