"""The market under the service's load, and the processes that take part: servers and the load
generator.

The market is made on disk once, before any server starts; each server gets a copy.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path
from typing import NamedTuple, cast
from urllib.request import ProxyHandler, Request, build_opener

from laissez.workers import deaf_to_interrupts
from laissez_bench import cluster
from laissez_bench.crowd import tree
from laissez_bench.generator import Phase, Plan, generate
from laissez_bench.statistics import Counted

LEAVES = 10_000
TENANTS = 1_000
THIS_MACHINE = "127.0.0.1/32"  # webhooks may lead there

Run = Callable[[Phase], Counted]
_opener = build_opener(ProxyHandler({}))


class ServerDied(Exception):
    """The server ended, or did not come up, while it was measured."""


class Server(NamedTuple):
    folder: Path
    host: str
    port: int
    pid: int

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def operator_key(self) -> str:
        return (self.folder / cluster.OPERATOR_KEY).read_text()

    def get(self, path: str, accept: str = "*/*") -> HTTPResponse:
        """As the operator."""
        headers = {"Authorization": f"Bearer {self.operator_key}", "Accept": accept}
        request = Request(self.url + path, headers=headers)  # noqa: S310 (it is our own server)
        return cast(HTTPResponse, _opener.open(request, timeout=60))


@contextmanager
def serving(
    folder: Path, sheds: bool = False, stop: signal.Signals = signal.SIGTERM
) -> Iterator[Server]:
    """A server process on the data folder. Unless it `sheds`, excess load waits."""
    settings = {
        "LAISSEZ_LIMITS__SESSIONS_MAX": "100",
        "LAISSEZ_SERVER__LOG_LEVEL": "warning",
        "LAISSEZ_WEBHOOKS__ALLOW_ADDRESSES": THIS_MACHINE,
        **({} if sheds else {"LAISSEZ_LIMITS__WAIT_S_MAX": "60"}),
    }
    command = ["laissez.cli", "serve", "--data", str(folder), "--port", "0"]
    with server_process(folder, command, settings, stop) as server:
        yield server


@contextmanager
def server_process(
    folder: Path,
    module: list[str],
    settings: dict[str, str],
    stop: signal.Signals = signal.SIGTERM,
) -> Iterator[Server]:
    with deaf_to_interrupts():
        process = subprocess.Popen(
            [sys.executable, "-m", *module],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **settings},
        )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith("Serving at "):
                host, _, port = line.split("//", 1)[1].strip().rpartition(":")
                yield Server(folder, host, int(port), process.pid)
                break
        else:
            raise ServerDied(f"the server ended with {process.wait()} before it was ready")
        if process.poll() is not None:
            raise ServerDied(f"the server ended with {process.returncode} while it was measured")
    finally:
        process.send_signal(stop)
        process.wait(30)
        process.stdout.close()


@contextmanager
def generating(plan: Plan) -> Iterator[Run]:
    """A generator process, which carries out phases."""
    spawn = multiprocessing.get_context("spawn")
    pipe, its_pipe = spawn.Pipe()
    process = spawn.Process(target=generate, args=(plan, its_pipe), daemon=True)
    with deaf_to_interrupts():
        process.start()
    its_pipe.close()

    def run(phase: Phase) -> Counted:
        try:
            pipe.send(phase)
            return cast(Counted, pipe.recv())
        except (EOFError, OSError):
            process.join()
            raise ServerDied(f"the load generator ended with {process.exitcode}") from None

    try:
        yield run
        pipe.close()
    except BaseException:
        process.kill()
        raise
    finally:
        process.join()


class World(NamedTuple):
    base: Path
    held: list[cluster.Held]
    scopes: list[str]
    leaves: int

    @property
    def folder(self) -> Path:
        return self.base / "made"

    def plan(self, load: str, at: Server, connections: int, watched: bool = False) -> Plan:
        """With `watched`, an operator follows the events and a console is open."""
        key = at.operator_key if watched else ""
        tenants = self.held[:connections]
        seed = time.time_ns()
        return Plan(load, at.host, at.port, connections, seed, tenants, self.scopes, at.pid, key)

    def copy(self, name: str) -> Path:
        return Path(shutil.copytree(self.folder, self.base / name))


@contextmanager
def make_world(leaves: int, tenants: int, capped: int = 0) -> Iterator[World]:
    base = Path(tempfile.mkdtemp(prefix="laissez-bench-"))
    try:
        held = cluster.make_market(base / "made", leaves, tenants, capped)
        yield World(base, held, cluster.scopes_of(tree(leaves)), leaves)
    finally:
        shutil.rmtree(base)
