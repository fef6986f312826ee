"""How fast the service is: a real server, load processes beside it on the same machine, every
answer durable."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from laissez.workers import deaf_to_interrupts, output_of
from laissez_bench import cluster
from laissez_bench.crowd import tree
from laissez_bench.load import Plan, Report

LEAVES = 10_000
TENANTS = 1_000
WARM_UP_S = 2.0
THIS_MACHINE = "127.0.0.1/32"  # webhooks may lead there

# load: connections, commands under way on each
LOADS = {"session": (64, 5), "connections": (1_000, 1), "rest": (32, 1), "batch": (4, 100)}


class Row(msgspec.Struct):
    """Answers per second, all of them durable, and how long a caller waited for one."""

    load: str
    per_second: float
    p50_ms: float
    p99_ms: float
    durable: bool
    connections: int
    in_flight: int
    leaves: int
    tenants: int
    problems: dict[str, int]  # refusals by code: commands that came too late, say


class ServerDied(Exception):
    """The server ended, or did not come up, while it was measured."""


@contextmanager
def running(folder: Path, port: int = 0, sheds: bool = False) -> Iterator[tuple[str, int, int]]:
    """A server process on the data folder: its host, port and process id. Unless it `sheds`,
    whoever asks for more than it can do waits."""
    command = [
        sys.executable,
        "-m",
        "laissez.cli",
        "serve",
        "--data",
        str(folder),
        "--port",
        str(port),
    ]
    settings = {
        "LIMITS__SESSIONS_MAX": "100",
        "SERVER__LOG_LEVEL": "warning",
        "WEBHOOKS__ALLOW_ADDRESSES": THIS_MACHINE,
    }
    environment = {**os.environ, **{f"LAISSEZ_{name}": value for name, value in settings.items()}}
    if not sheds:
        environment["LAISSEZ_LIMITS__WAIT_S_MAX"] = "60"
    with deaf_to_interrupts():
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith("Serving at "):
                host, _, port_text = line.split("//", 1)[1].strip().rpartition(":")
                yield host, int(port_text), process.pid
                break
        else:
            raise ServerDied(f"the server ended with {process.wait()} before it was ready")
        if process.poll() is not None:
            raise ServerDied(f"the server ended with {process.returncode} while it was measured")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        process.stdout.close()


def measure(
    loads: list[str],
    seconds: float,
    step: Callable[[str], None],
    leaves: int = LEAVES,
    tenants: int = TENANTS,
    per_second: float | None = None,
) -> list[Row]:
    """One row per load, each on a server with a market of its own, freshly made. Sessions may ask
    for so much `per_second` and no more."""
    rows = []
    base = Path(tempfile.mkdtemp(prefix="laissez-bench-"))
    try:
        step("making the market")
        held = cluster.found(base / "made", leaves, tenants)
        for load in loads:
            step(load)
            folder = base / load
            shutil.copytree(base / "made", folder)
            rows.append(_measure(load, folder, held, seconds, leaves, per_second))
            shutil.rmtree(folder)
    finally:
        shutil.rmtree(base)
    return rows


def _measure(
    load: str,
    folder: Path,
    held: list[cluster.Held],
    seconds: float,
    leaves: int,
    per_second: float | None,
) -> Row:
    connections, in_flight = LOADS[load]
    connections = min(connections, len(held)) if load != "rest" else connections
    scopes = [path for path in tree(leaves).nodes if path.count("/") in (1, 2, 3)]
    with running(folder) as (host, port, _):
        plan = Plan(
            load,
            host,
            port,
            connections,
            in_flight,
            seconds,
            min(WARM_UP_S, seconds),
            time.time_ns(),
            held,
            scopes,
            per_second,
        )
        report = put_under_load(plan)
    return Row(
        load,
        round(report.answered / report.seconds, 1),
        round(report.p50_ms, 2),
        round(report.p99_ms, 2),
        True,
        connections,
        in_flight,
        leaves,
        len(held),
        report.problems,
    )


def put_under_load(plan: Plan) -> Report:
    return msgspec.json.decode(found_by("laissez_bench.load", plan), type=Report)


def found_by(module: str, plan: Plan) -> bytes:
    """What a process of its own finds, as it printed it."""
    return output_of([sys.executable, "-m", module], msgspec.json.encode(plan))
