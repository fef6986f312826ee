"""What a server process uses and remembers, read at even distances while it runs."""

from __future__ import annotations

import http.client
import re
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

METRICS = ("laissez_history_events", "laissez_idempotency_keys", "laissez_durable_seq")


class Remembered(NamedTuple):
    """As the service says in its metrics; zeros where it does not answer."""

    events: int
    ids: int
    entries: int  # of the journal: what is on the books until they are closed grows with them


class Readings(threading.Thread):
    """Once every so many seconds: memory, files and threads of a process, and what the service
    remembers."""

    def __init__(self, pid: int, every_s: float, host: str, port: int, key: str) -> None:
        super().__init__(daemon=True)
        self.megabytes: list[float] = []
        self.files: list[int] = []
        self.threads: list[int] = []
        self.remembered: list[Remembered] = []
        self._process = Path(f"/proc/{pid}")
        self._every_s = every_s
        self._address = host, port
        self._headers = {"Authorization": f"Bearer {key}"}
        self._over = threading.Event()
        self.at_first = self._asked()
        self.start()

    def run(self) -> None:
        due = time.monotonic()
        while not self._over.wait(max(0.0, (due := due + self._every_s) - time.monotonic())):
            status = dict(
                line.split(":", 1) for line in (self._process / "status").read_text().splitlines()
            )
            self.megabytes.append(round(int(status["VmRSS"].split()[0]) / 1024, 1))
            self.threads.append(int(status["Threads"]))
            self.files.append(len(list((self._process / "fd").iterdir())))
            self.remembered.append(self._asked())

    def _asked(self) -> Remembered:
        connection = http.client.HTTPConnection(*self._address, timeout=10)
        told: dict[str, str] = {}
        with suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/metrics", headers=self._headers)
            told = dict(
                re.findall(r"^(\w+) (\S+)$", connection.getresponse().read().decode(), re.MULTILINE)
            )
        connection.close()
        return Remembered(*(int(float(told.get(name, 0))) for name in METRICS))

    def stop(self) -> None:
        self._over.set()
        self.join()
