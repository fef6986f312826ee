"""Does the server's memory stay flat? Minutes of a steady load, and the memory of the server read along the way."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from laissez.bench import cluster
from laissez.bench.crowd import tree
from laissez.bench.load import Plan
from laissez.bench.service import LEAVES, TENANTS, put_under_load, running

CONNECTIONS, IN_FLIGHT = 64, 4
READINGS = 20


class Soak(msgspec.Struct):
    """`megabytes` are read at even distances over the whole time; `growth` is the mean of the last quarter over that of the quarter before it."""

    minutes: float
    per_second: float
    p50_ms: float
    p99_ms: float
    megabytes: list[float]
    growth: float
    problems: dict[str, int]


def measure(minutes: float, per_second: float, step: Callable[[str], None], leaves: int = LEAVES, tenants: int = TENANTS) -> Soak:
    base = Path(tempfile.mkdtemp(prefix="laissez-bench-"))
    try:
        step("making the market")
        held = cluster.found(base / "market", leaves, tenants)
        scopes = [path for path in tree(leaves).nodes if path.count("/") in (1, 2, 3)]
        step(f"{per_second:,.0f} commands a second for {minutes:g} minutes")
        with running(base / "market") as (host, port, pid):
            plan = Plan("session", host, port, min(CONNECTIONS, tenants), IN_FLIGHT, minutes * 60, 2, time.time_ns(), held, scopes, per_second)
            readings = Readings(pid, minutes * 60 / READINGS)
            report = put_under_load(plan)
            readings.stop()
    finally:
        shutil.rmtree(base)
    quarter = READINGS // 4
    growth = sum(readings.megabytes[-quarter:]) / sum(readings.megabytes[-2 * quarter : -quarter])
    rate = round(report.answered / report.seconds, 1)
    return Soak(minutes, rate, round(report.p50_ms, 2), round(report.p99_ms, 2), readings.megabytes, round(growth, 3), report.problems)


class Readings(threading.Thread):
    """Reads the resident memory of a process, once every so many seconds."""

    def __init__(self, pid: int, every_s: float) -> None:
        super().__init__(daemon=True)
        self.megabytes: list[float] = []
        self._pid = pid
        self._every_s = every_s
        self._over = threading.Event()
        self.start()

    def run(self) -> None:
        while not self._over.wait(self._every_s):
            self.megabytes.append(resident_megabytes(self._pid))

    def stop(self) -> None:
        self._over.set()
        self.join()


def resident_megabytes(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return round(int(line.split()[1]) / 1024, 1)
    return 0.0
