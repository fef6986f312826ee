"""The resources of a server process and the sizes of its histories, read at even intervals."""

from __future__ import annotations

import re
import threading
import time
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple

from laissez_bench.world import Server

METRICS = ("laissez_history_events", "laissez_idempotency_keys", "laissez_durable_seq")


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


class Readings(threading.Thread):
    """One reading at the start, and then one every `every_s` seconds."""

    def __init__(self, server: Server, every_s: float) -> None:
        super().__init__(daemon=True)
        self.taken: list[Reading] = []
        self._server = server
        self._every_s = every_s
        self._over = threading.Event()
        self.first = read(server)
        self.start()

    def run(self) -> None:
        due = time.monotonic()
        while not self._over.wait(max(0.0, (due := due + self._every_s) - time.monotonic())):
            self.taken.append(read(self._server))

    def stop(self) -> list[Reading]:
        self._over.set()
        self.join()
        return self.taken
