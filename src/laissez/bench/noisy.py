"""Does one noisy tenant slow the others down? The others ask at a steady rate that the service can take, with and without the noise by turns."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import msgspec

from laissez.bench import cluster
from laissez.bench.crowd import tree
from laissez.bench.load import Plan
from laissez.bench.open_load import OpenPlan, OpenReport
from laissez.bench.overload import WARM_UP_S, put_open
from laissez.bench.service import LEAVES, TENANTS, running

LEVEL = 0.3  # of the capacity
CONNECTIONS, IN_FLIGHT = 64, 2
PHASE_S = 1.0


class Noisy(msgspec.Struct):
    """The others' times with the noise over those without it just before, in the median round; and the share of what they asked for that was done."""

    kind: str
    slowdown_p50: float
    slowdown_p99: float
    done: float
    done_before: float
    p50_ms: float
    p50_ms_before: float
    p99_ms: float
    p99_ms_before: float
    offered: float  # per second, by the others
    server_cpu: float  # of a core
    server_cpu_before: float


def measure(kinds: list[str], seconds: float, step: Callable[[str], None], leaves: int = LEAVES, tenants: int = TENANTS) -> list[Noisy]:
    base = Path(tempfile.mkdtemp(prefix="laissez-bench-"))
    try:
        step("making the market")
        *held, loud = cluster.found(base / "market", leaves, tenants, capped=1)
        scopes = [path for path in tree(leaves).nodes if path.count("/") in (1, 2, 3)]
        step(f"{', '.join(kinds)}: with and without")
        rounds = max(1, round(seconds / PHASE_S))
        with running(base / "market", sheds=True) as (host, port, pid):
            connections = min(CONNECTIONS, len(held))
            common = Plan("session", host, port, connections, IN_FLIGHT, seconds / rounds, min(WARM_UP_S, seconds), time.time_ns(), held, scopes)
            noises = [noise for kind in kinds for noise in (None, kind)]
            plan = OpenPlan(**msgspec.structs.asdict(common), levels=[LEVEL] * len(noises), rounds=rounds, noises=noises, loud=loud, server=pid)
            reports = put_open(plan)
        return [_row(kind, *reports[2 * index : 2 * index + 2]) for index, kind in enumerate(kinds)]
    finally:
        shutil.rmtree(base)


def _slowdown(rounds: list[tuple[float, float]]) -> float:
    """The median of the rounds' own: what else the machine does comes and goes."""
    return round(median(loud / still if still else 0.0 for loud, still in rounds), 3)


def _row(kind: str, before: OpenReport, noisy: OpenReport) -> Noisy:
    return Noisy(
        kind,
        _slowdown([(loud[0], still[0]) for loud, still in zip(noisy.per_round, before.per_round, strict=True)]),
        _slowdown([(loud[1], still[1]) for loud, still in zip(noisy.per_round, before.per_round, strict=True)]),
        round(noisy.admitted / max(1, noisy.offered), 4),
        round(before.admitted / max(1, before.offered), 4),
        noisy.p50_ms,
        before.p50_ms,
        noisy.p99_ms,
        before.p99_ms,
        round(noisy.offered / noisy.seconds, 1),
        noisy.server_cpu,
        before.server_cpu,
    )
