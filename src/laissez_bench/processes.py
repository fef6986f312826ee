"""Server processes: starting and stopping them, and readings of their processor time, memory,
files, threads and histories."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import NamedTuple, cast
from urllib.request import ProxyHandler, Request, build_opener

from laissez.workers import deaf_to_interrupts

OPERATOR_KEY = "operator.key"  # in the folder
THIS_MACHINE = "127.0.0.1/32"  # webhooks may lead there
METRICS = ("laissez_history_events", "laissez_idempotency_keys", "laissez_durable_seq")

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
        return (self.folder / OPERATOR_KEY).read_text()

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


class CpuTime(NamedTuple):
    """Seconds, of the main thread, which is a server's loop, and of all other threads."""

    main: float
    others: float


def cpu_time(pid: int) -> CpuTime:
    """By the scheduler's count in nanoseconds; zeros where the system keeps none."""
    used = {"": 0}
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(OSError):  # a thread may end meanwhile
            used[task.name] = int((task / "schedstat").read_text().split()[0])
    main = used.get(str(pid), 0)
    return CpuTime(main / 1e9, (sum(used.values()) - main) / 1e9)


class Reading(NamedTuple):
    """Figures of the process and of the service's metrics, which are 0 where it does not answer."""

    megabytes: float
    files: int
    threads: int
    events: int  # in the history
    keys: int  # for idempotency
    entries: int  # of the journal: the books grow with them until they are closed


def read(server: Server) -> Reading:
    process = Path(f"/proc/{server.pid}")
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    metrics: dict[str, str] = {}
    with suppress(OSError, HTTPException), server.get("/metrics") as answer:
        metrics = dict(re.findall(r"^(\w+) (\S+)$", answer.read().decode(), re.MULTILINE))
    return Reading(
        round(int(status["VmRSS"].split()[0]) / 1024, 1),
        len(list((process / "fd").iterdir())),
        int(status["Threads"]),
        *(int(float(metrics.get(name, 0))) for name in METRICS),
    )
