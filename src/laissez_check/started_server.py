"""The server under test: the real command in a process of its own, which can be killed at any
moment and started again over the same folder."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from laissez_check.finding import Finding

READY_WITHIN_S = 30.0
ANSWERS_WITHIN_S = 5.0
ENDS_WITHIN_S = 20.0
# A fork of a killed server that still writes a snapshot may hold port and folder.
TAKEN = ("cannot listen", "is in use by process")
LOG_LINES_SHOWN = 12
READY = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

# Books close often, and the load meets no rate limit.
SETTINGS = {
    "LAISSEZ_BOOKS__CLOSE_AFTER_COMMANDS": "50",
    "LAISSEZ_LIMITS__COMMANDS_PER_SECOND": "1000000",
    "LAISSEZ_LIMITS__COMMANDS_BURST": "1000000",
    "LAISSEZ_LIMITS__REFUSALS_PER_SECOND": "1000000",
    "LAISSEZ_LIMITS__REFUSALS_BURST": "1000000",
    "LAISSEZ_LIMITS__WAIT_S_MAX": "60",
    "LAISSEZ_LIMITS__SESSIONS_MAX": "64",
}
COMMAND = ("-m", "laissez.cli")
PORTS = range(20_000, 32_000)
PORTS_APART = 101  # between those of processes that were started one after the other

# Contention: few leaves, at different depths, in two trees.
TOPOLOGY = """
cpu = ["c[0-1]"]

[gpu]
levels = ["type", "zone", "rack", "gpu"]

[gpu.tree]
a = { r1 = ["g[0-2]"], r2 = ["g[0-1]"] }
b = { r3 = ["g[0-1]"] }
"""
GPUS = ("a/r1/g0", "a/r1/g1", "a/r1/g2", "a/r2/g0", "a/r2/g1", "b/r3/g0", "b/r3/g1")
LEAVES = ("cpu/c0", "cpu/c1", *(f"gpu/{gpu}" for gpu in GPUS))


class Entry(msgspec.Struct, frozen=True):
    """The server to start: the arguments of Python before `serve`, and variables beside those of
    `SETTINGS`."""

    command: tuple[str, ...] = COMMAND
    variables: dict[str, str] = {}


def unused_port(draw: random.Random) -> int:
    """A port below those of outgoing connections, so that it stays free while the server is down.
    It depends on the process, too: two with the same seed would both find a port free, and one
    would take the other's server for its own."""
    while True:
        port = PORTS[(draw.randrange(len(PORTS)) + os.getpid() * PORTS_APART) % len(PORTS)]
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


class Server:
    def __init__(self, folder: Path, port: int, entry: Entry) -> None:
        self.data = folder / "data"
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self._entry = entry
        self._topology = folder / "cluster.toml"
        self._topology.write_text(TOPOLOGY)
        self.log = folder / "server.log"
        self._process: asyncio.subprocess.Process | None = None

    @property
    def operator_key(self) -> str:
        return (self.data / "keys" / "operator.key").read_text().strip()

    @property
    def process(self) -> asyncio.subprocess.Process:
        assert self._process is not None
        return self._process

    async def start(self) -> None:
        """Start the process; it is not ready yet."""
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("LAISSEZ_") or name == "LAISSEZ_MARKET"
        }
        folders = ("--data", str(self.data), "--topology", str(self._topology))
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *self._entry.command,
                *("serve", *folders, "--port", str(self.port)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**inherited, **SETTINGS, **self._entry.variables},
            )

    async def start_and_wait(self) -> None:
        """Start the process and wait until it takes requests. It is started again, as a supervisor
        would, while a fork of the one before it lives on."""
        try:
            async with asyncio.timeout(READY_WITHIN_S):
                await self.start()
                while not await self._is_ready():
                    if self.process.returncode is not None:
                        if not any(words in self.log_end().rpartition("\n")[2] for words in TAKEN):
                            raise self._ended("the server did not start: it ended")
                        await self.start()
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise Finding(f"the server did not start in time\n{self.log_end()}") from None

    async def _is_ready(self) -> bool:
        """Whether it answers. A connection alone may be to the fork of a dead server, which has its
        sockets, too."""
        try:
            async with asyncio.timeout(ANSWERS_WITHIN_S):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.write(READY)
                answer = await reader.read()
        except (OSError, TimeoutError):
            return False
        writer.close()
        return answer.startswith(b"HTTP/1.1 200")

    def check_alive(self) -> None:
        if self.process.returncode is not None:
            raise self._ended("the server ended by itself")

    def children(self) -> list[int]:
        """Forks of the server that write snapshots."""
        pid = self.process.pid
        try:
            return [*map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
        except OSError:
            return []

    async def kill(self, with_children: bool) -> None:
        """Kill it. A fork that writes a snapshot is killed, too, or ends by itself."""
        if self._process is None or self._process.returncode is not None:
            return
        children = self.children()
        self.process.send_signal(signal.SIGKILL)
        for child in children if with_children else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        await self.process.wait()

    async def stop(self) -> None:
        """A planned stop."""
        self.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(ENDS_WITHIN_S):
            await self.process.wait()
        if self.process.returncode != 0:
            raise self._ended("a planned stop ended")

    def _ended(self, what: str) -> Finding:
        return Finding(f"{what} with status {self.process.returncode}\n{self.log_end()}")

    def log_lines(self) -> list[str]:
        return self.log.read_text(errors="replace").splitlines()

    def log_end(self) -> str:
        return "\n".join(self.log_lines()[-LOG_LINES_SHOWN:])


@asynccontextmanager
async def running(entry: Entry) -> AsyncIterator[Server]:
    """A started server over a new folder, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="laissez-check-", ignore_cleanup_errors=True) as folder:
        server = Server(Path(folder), unused_port(random.Random()), entry)
        try:
            await server.start_and_wait()
            yield server
        finally:
            await server.kill(with_children=True)
