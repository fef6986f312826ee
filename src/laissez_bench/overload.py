"""What the service does when it is asked for more than it can do: open-loop load below, at and
above its capacity, measured in the same run."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from laissez_bench import cluster
from laissez_bench.crowd import tree
from laissez_bench.load import Plan
from laissez_bench.open_load import OpenPlan, OpenReport
from laissez_bench.service import LEAVES, TENANTS, found_by, running

PHASE_S = 2.0
WARM_UP_S = 0.5
LEVELS = (0.5, 0.8, 1.0, 1.5)
# connections, requests under way on each while the capacity is found
LOADS = {"session": (64, 2), "rest": (2_048, 1)}


class Level(msgspec.Struct):
    """One level of load. Rates per second; times in milliseconds from when a request was due, of
    what was admitted and of what was refused."""

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
    late_p99_ms: float  # how far the load itself was behind
    load_cpu: float  # of a core, used by the load itself
    server_cpu: float
    problems: dict[str, int]


def measure(
    loads: list[str],
    seconds: float,
    step: Callable[[str], None],
    leaves: int = LEAVES,
    tenants: int = TENANTS,
    connections: int | None = None,
) -> list[Level]:
    base = Path(tempfile.mkdtemp(prefix="laissez-bench-"))
    try:
        step("making the market")
        held = cluster.found(base / "made", leaves, tenants)
        scopes = [path for path in tree(leaves).nodes if path.count("/") in (1, 2, 3)]
        rows = []
        for load in loads:
            shutil.copytree(base / "made", base / load)
            rows += _levels(load, base / load, held, scopes, seconds, step, connections)
        return rows
    finally:
        shutil.rmtree(base)


def _levels(
    load: str,
    folder: Path,
    held: list[cluster.Held],
    scopes: list[str],
    seconds: float,
    step: Callable[[str], None],
    most: int | None,
) -> list[Level]:
    connections, in_flight = LOADS[load]
    connections = connections if most is None else min(connections, most)

    step(
        f"{load}: the capacity, and {', '.join(f'{level:.0%}' for level in LEVELS)} of it".replace(
            "%", " %"
        )
    )
    rounds = max(1, round(seconds / PHASE_S))
    phase_s, warm_up_s = seconds / rounds, min(WARM_UP_S, seconds)
    with running(folder, sheds=True) as (host, port, pid):
        common = Plan(
            load,
            host,
            port,
            connections,
            in_flight,
            phase_s,
            warm_up_s,
            time.time_ns(),
            held,
            scopes,
            server=pid,
        )
        reports = put_open(
            "laissez_bench.open_load",
            OpenPlan(**msgspec.structs.asdict(common), levels=list(LEVELS), rounds=rounds),
        )
    return [
        _row(load, level, phase_s + warm_up_s, report)
        for level, report in zip(LEVELS, reports, strict=True)
    ]


def _row(load: str, level: float, phase_s: float, report: OpenReport) -> Level:
    offered, admitted, shed = [
        round(count / report.seconds, 1) for count in (report.offered, report.admitted, report.shed)
    ]
    same = {
        name: getattr(report, name)
        for name in OpenReport.__struct_fields__
        if name.endswith(("_ms", "_cpu"))
    }
    return Level(
        load=load,
        level=level,
        phase_s=phase_s,
        capacity=report.capacity,
        offered=offered,
        admitted=admitted,
        shed=shed,
        unanswered=report.unanswered,
        problems=report.problems,
        **same,
    )


def put_open(module: str, plan: OpenPlan) -> list[OpenReport]:
    return msgspec.json.decode(found_by(module, plan), type=list[OpenReport])
