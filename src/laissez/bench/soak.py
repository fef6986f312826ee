"""Does the service stay as it is? Minutes of a steady load: memory, files, threads and answers are watched, owners and bills audited by others."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from laissez.bench import cluster
from laissez.bench.crowd import tree
from laissez.bench.load import Plan, Report
from laissez.bench.owners import Following
from laissez.bench.service import LEAVES, TENANTS, put_under_load, running
from laissez.check.bills.compare import audit_bills

CONNECTIONS, IN_FLIGHT = 64, 4
READINGS = 20
QUARTER = READINGS // 4

# What is still the same. Memory grows until the service remembers as many ids and events as it may, so it is judged only after that.
GROWTH_MAX = 1.10
MORE_FILES_MAX, MORE_THREADS_MAX = 16, 4
DRIFT_MAX, DRIFT_MS_MAX = 1.5, 5.0
MEMORIES_FULL = 1_300_000  # commands
EXPECTED = frozenset({"already_filled", "not_your_lease", "not_your_order", "too_many_orders", "overloaded"})  # refusals that a market gives


class Soak(msgspec.Struct):
    """Readings are taken at even distances over the whole time; `growth` is the mean memory of the last quarter over that of the quarter before it,
    `drift` the time to an answer in the last quarter over that in the first, at the
    tenth percentile, where what else the machine does shows least."""

    minutes: float
    per_second: float
    p50_ms: float
    p99_ms: float
    megabytes: list[float]
    files: list[int]
    threads: list[int]
    growth: float
    quarters_ms: list[float]
    drift: float
    events: int
    bills: int  # leases whose charges were worked out a second time
    problems: dict[str, int]
    failures: list[str]  # why it did not pass
    not_judged: list[str]

    @property
    def passed(self) -> bool:
        return not self.failures


def measure(minutes: float, per_second: float, step: Callable[[str], None], leaves: int = LEAVES, tenants: int = TENANTS) -> Soak:
    base = Path(tempfile.mkdtemp(prefix="laissez-bench-"))
    try:
        step("making the market")
        held = cluster.found(base / "market", leaves, tenants)
        key = (base / "market" / cluster.OPERATOR_KEY).read_text()
        scopes = [path for path in tree(leaves).nodes if path.count("/") in (1, 2, 3)]
        step(f"{per_second:,.0f} commands a second for {minutes:g} minutes")
        with running(base / "market", sheds=True) as (host, port, pid):
            following = Following(host, port, key)
            plan = Plan("session", host, port, min(CONNECTIONS, tenants), IN_FLIGHT, minutes * 60, 2, time.time_ns(), held, scopes, per_second)
            readings = Readings(pid, minutes * 60 / READINGS)
            report = put_under_load(plan)
            readings.stop()
            owners = following.finish()
            step("auditing the bills")
            audited = audit_bills(base / "market")
    finally:
        shutil.rmtree(base)
    doubts = [*owners.doubts, *(f"bills: {finding}" for finding in audited.findings), *(f"bills: unknown event {kind}" for kind in audited.unknown)]
    return judged(minutes, report, readings, owners.n, audited.leases, doubts)


def judged(minutes: float, report: Report, readings: Readings, events: int, bills: int, doubts: Sequence[str]) -> Soak:
    """What was seen, and whether it is as it should be."""
    growth = _mean(readings.megabytes[-QUARTER:]) / _mean(readings.megabytes[-2 * QUARTER : -QUARTER])
    drift = report.quarters_ms[-1] / (report.quarters_ms[0] or 1.0)
    failures = [*doubts]
    not_judged = []
    if report.answered < MEMORIES_FULL:
        not_judged.append(f"memory: the service remembers ids and events, and is full after {MEMORIES_FULL:,} commands; {report.answered:,} came")
    elif growth > GROWTH_MAX:
        failures.append(f"memory: expected at most x{GROWTH_MAX:g} from one quarter to the next, found x{growth:.3f}")
    failures += _grown("files", readings.files, MORE_FILES_MAX) + _grown("threads", readings.threads, MORE_THREADS_MAX)
    if drift > DRIFT_MAX and report.quarters_ms[-1] - report.quarters_ms[0] > DRIFT_MS_MAX:
        failures.append(f"latency: expected the last quarter's at most x{DRIFT_MAX:g} the first's, found x{drift:.2f}")
    failures += [f"answers: {count:,} were {code}" for code, count in sorted(report.problems.items()) if code not in EXPECTED]
    return Soak(
        minutes,
        round(report.answered / report.seconds, 1),
        round(report.p50_ms, 2),
        round(report.p99_ms, 2),
        readings.megabytes,
        readings.files,
        readings.threads,
        round(growth, 3),
        report.quarters_ms,
        round(drift, 3),
        events,
        bills,
        report.problems,
        failures,
        not_judged,
    )


def _grown(what: str, readings: list[int], more_max: int) -> list[str]:
    first, last = max(readings[:QUARTER]), max(readings[-QUARTER:])
    return [f"{what}: expected at most {first + more_max}, found {last}"] if last > first + more_max else []


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


class Readings(threading.Thread):
    """Reads the memory, files and threads of a process, once every so many seconds."""

    def __init__(self, pid: int, every_s: float) -> None:
        super().__init__(daemon=True)
        self.megabytes: list[float] = []
        self.files: list[int] = []
        self.threads: list[int] = []
        self._process = Path(f"/proc/{pid}")
        self._every_s = every_s
        self._over = threading.Event()
        self.start()

    def run(self) -> None:
        while not self._over.wait(self._every_s):
            status = dict(line.split(":", 1) for line in (self._process / "status").read_text().splitlines())
            self.megabytes.append(round(int(status["VmRSS"].split()[0]) / 1024, 1))
            self.threads.append(int(status["Threads"]))
            self.files.append(len(list((self._process / "fd").iterdir())))

    def stop(self) -> None:
        self._over.set()
        self.join()
