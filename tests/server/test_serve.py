"""The server as a process: start, stop, failed starts, a full disk, and a log without keys."""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from laissez.journal.verify import verify
from laissez.server.data_folder import Replaying
from laissez.server.serve import STOPPED_BY_FAILURE, CannotListen, drop_deaf_peers, listen
from laissez.wire.session import JSON
from support.doc_shell import environment_of

pytestmark = [pytest.mark.once, pytest.mark.slow]

WITHIN_S = 30
TOPOLOGY = 'h100 = ["g[0-7]"]\n'
ORDER = {"alternatives": [{"scope": "h100", "limit": "1"}]}
SERVING = "Serving at "


class Running:
    """`laissez serve` on a folder of its own."""

    def __init__(
        self, home: Path, limit: Callable[[], None] | None = None, **settings: str
    ) -> None:
        self.home = home
        self.data = home / "data"
        (home / "cluster.toml").write_text(TOPOLOGY)
        self.log = home / "log"
        variables = {f"LAISSEZ_{name}": value for name, value in settings.items()}
        command = [
            sys.executable,
            "-m",
            "laissez.cli",
            "serve",
            "--data",
            str(self.data),
            "--topology",
            str(home / "cluster.toml"),
            "--port",
            "0",
        ]
        with self.log.open("ab") as log:
            environment = {**environment_of(home), **variables}
            self.process = subprocess.Popen(
                command,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                preexec_fn=limit,  # noqa: PLW1509  no other thread runs
            )
        assert self.process.stdout is not None
        self.said = ""
        for line in self.process.stdout:
            self.said += line
            if line.startswith(SERVING):
                break
        assert SERVING in self.said, self.log.read_text()
        self.url = self.said.partition(SERVING)[2].split()[0]
        self.key = (self.data / "keys" / "operator.key").read_text().strip()

    def ask(
        self, method: str, path: str, body: object = None, key: str | None = None
    ) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key or self.key}"}
        return httpx.request(method, self.url + path, json=body, headers=headers, timeout=WITHIN_S)

    def tenant(self, name: str) -> str:
        """A new tenant's key."""
        assert 201 == self.ask("POST", "/v1/tenants", {"name": name}).status_code
        secret: str = self.ask("POST", f"/v1/tenants/{name}/keys", {}).json()["secret"]
        return secret

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        self.process.communicate(timeout=WITHIN_S)
        return self.process.returncode


@contextlib.contextmanager
def running(home: Path, **more: Any) -> Iterator[Running]:
    server = Running(home, **more)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate(timeout=WITHIN_S)


def cannot_start(home: Path, *arguments: str) -> str:
    """The one line that a server prints if it cannot start."""
    command = [sys.executable, "-m", "laissez.cli", "serve", "--port", "0", *arguments]
    ended = subprocess.run(
        command,
        env=environment_of(home),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
    )
    assert (2, "") == (ended.returncode, ended.stdout), ended.stderr
    said = [line for line in ended.stderr.splitlines() if line.startswith("laissez: ")]
    assert 1 == len(said) and "Traceback" not in ended.stderr, ended.stderr
    return said[0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_planned_stop_notifies_sessions_and_leaves_nothing_to_replay(
    tmp_path: Path, number: signal.Signals
) -> None:
    async def told(server: Running, secret: str) -> tuple[list[str], int | None]:
        address = server.url.replace("http", "ws") + "/v1/session"
        async with connect(address, subprotocols=[Subprotocol(JSON)]) as session:
            await session.send(json.dumps({"type": "hello", "key": secret}))
            heard = [json.loads(await session.recv())["type"]]
            server.process.send_signal(number)
            async for frame in session:
                heard.append(json.loads(frame)["type"])
        return heard, session.close_code

    with running(tmp_path) as server:
        secret = server.tenant("ann")
        assert 201 == server.ask("POST", "/v1/orders", ORDER, secret).status_code
        assert (["welcome", "closing"], 1001) == asyncio.run(
            asyncio.wait_for(told(server, secret), WITHIN_S)
        )
        assert 0 == server.process.wait(WITHIN_S)
    with running(tmp_path) as server:
        recovered = [line for line in server.log.read_text().splitlines() if "recovered" in line]
        assert "replayed=0" in recovered[-1]
        assert 1 == len(server.ask("GET", "/v1/leases", key=secret).json()["data"])
        assert 0 == server.stop(number)
    assert verify(tmp_path / "data", begin=Replaying.begin).ok


def test_a_killed_server_keeps_everything_acknowledged(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        secret = server.tenant("ann")
        done = [server.ask("POST", "/v1/orders", ORDER, secret).json()["id"] for _ in range(5)]
        server.process.kill()
        server.process.wait(WITHIN_S)
    with running(tmp_path) as server:
        assert done == [
            lease["order"] for lease in server.ask("GET", "/v1/leases", key=secret).json()["data"]
        ]
        assert 0 == server.stop()


class SmallFiles:
    """Bounds the size of files, which acts like a full disk and needs no privileges."""

    @staticmethod
    @contextlib.contextmanager
    def at(folder: Path) -> Iterator[SmallFiles]:
        yield SmallFiles()

    def limit(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, 120_000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def fill(self) -> None:
        """Fill the disk: only for the process."""

    def make_room(self) -> None:
        """Nothing to do: the bound ended with the process."""


class SmallFileSystem:
    """A real file system in memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        if (
            subprocess.run(
                ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(folder)],
                capture_output=True,
            ).returncode
            != 0
        ):
            pytest.skip("only root may mount a small file system")

    @staticmethod
    @contextlib.contextmanager
    def at(folder: Path) -> Iterator[SmallFileSystem]:
        small = SmallFileSystem(folder)
        try:
            yield small
        finally:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)

    limit = None

    def fill(self) -> None:
        self._resize(shutil.disk_usage(self._folder).used + 120_000)

    def make_room(self) -> None:
        self._resize(32_000_000)

    def _resize(self, size: int) -> None:
        subprocess.run(["mount", "-o", f"remount,size={size}", str(self._folder)], check=True)


@pytest.mark.parametrize("kind", [SmallFiles, SmallFileSystem])
def test_a_full_disk_loses_nothing_acknowledged_and_stops_commands(
    tmp_path: Path, kind: type[SmallFiles | SmallFileSystem]
) -> None:
    with kind.at(tmp_path / "data") as disk:
        _fill_the_disk(tmp_path, disk)


def _fill_the_disk(tmp_path: Path, disk: SmallFiles | SmallFileSystem) -> None:
    with running(tmp_path) as server:
        secret = server.tenant("ann")
        assert 0 == server.stop()
    disk.fill()
    done: list[str] = []
    with running(tmp_path, limit=disk.limit) as server:
        answer = server.ask("POST", "/v1/orders", ORDER, secret)
        while answer.status_code == 201 and len(done) < 1_000:
            done.append(answer.json()["id"])
            answer = server.ask("POST", "/v1/orders", ORDER, secret)
        assert (503, "journal_failed") == (answer.status_code, answer.json()["code"])
        for method, path, body in (
            ("POST", "/v1/orders", ORDER),
            ("GET", "/v1/orders", None),
            ("GET", "/v1/orders/ord_x", None),
        ):
            again = server.ask(method, path, body, secret)
            assert (503, "journal_failed") == (again.status_code, again.json()["code"]), path
        assert (
            503 == server.ask("GET", "/readyz").status_code
            and 200 == server.ask("GET", "/healthz").status_code
        )
        assert STOPPED_BY_FAILURE == server.stop()
        assert "critical" in server.log.read_text()
    assert len(done) > 5
    disk.make_room()
    with running(tmp_path) as server:
        orders = {
            order["id"]
            for order in server.ask("GET", "/v1/orders?limit=1000", key=secret).json()["data"]
        }
        leased = {
            lease["order"] for lease in server.ask("GET", "/v1/leases", key=secret).json()["data"]
        }
        assert set(done) <= orders | leased
        # the last one, which was not acknowledged, may have been stored
        assert len(orders | leased) <= len(done) + 1
        assert 201 == server.ask("POST", "/v1/orders", ORDER, secret).status_code
        assert 0 == server.stop()


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_log_holds_no_key(tmp_path: Path, form: str) -> None:
    async def talk(server: Running, secret: str) -> None:
        for key in (secret, secret + "x"):
            async with connect(
                server.url.replace("http", "ws") + "/v1/session", subprotocols=[Subprotocol(JSON)]
            ) as session:
                await session.send(json.dumps({"type": "hello", "key": key}))
                await session.recv()
                with contextlib.suppress(Exception):
                    await session.send("{" + key)
                    await session.recv()

    with running(tmp_path, SERVER__LOG_LEVEL="debug", SERVER__LOG_FORMAT=form) as server:
        secret = server.tenant("ann")
        server.ask("POST", "/v1/orders", ORDER, secret)
        server.ask("GET", f"/v1/{secret}", key=secret)
        server.ask("GET", "/v1/orders", key=secret + "x")
        asyncio.run(asyncio.wait_for(talk(server, secret), WITHIN_S))
        assert 0 == server.stop()
        log = server.log.read_text()
    for key in (secret, server.key):
        assert key not in log + server.said and key.split("_", 2)[2] not in log + server.said
    lines = log.splitlines()
    assert any("serving" in line for line in lines) and any("stopping" in line for line in lines)
    assert form == "text" or all(
        {"at", "level", "logger", "message"} <= json.loads(line).keys() for line in lines
    )


def test_only_the_owner_can_read_the_first_key(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        assert 0o600 == (server.data / "keys" / "operator.key").stat().st_mode & 0o777
        assert 0o700 == (server.data / "keys").stat().st_mode & 0o777
        assert 0 == server.stop()
    with running(tmp_path) as again:
        assert server.key == again.key and "first key" not in again.said
        assert 0 == again.stop()


def test_an_address_in_use_is_reported_clearly(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text(TOPOLOGY)
    with contextlib.closing(listen("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = cannot_start(tmp_path, "--port", str(port))
        assert f"cannot listen on 127.0.0.1 port {port}" in said and "another server" in said
        with pytest.raises(CannotListen):
            listen("127.0.0.1", port)


def test_a_folder_in_use_is_reported_clearly(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        assert "in use by process" in cannot_start(tmp_path, "--data", str(server.data))
        assert 0 == server.stop()


@pytest.mark.parametrize(
    ("topology", "said"),
    [
        (None, "a new market needs a topology"),
        ("h100 = 7\n", "cluster.toml: "),
        ("h100 = [", "cluster.toml: "),
        ("\xff", "cluster.toml: "),
    ],
)
def test_a_missing_or_invalid_topology_is_reported_clearly(
    tmp_path: Path, topology: str | None, said: str
) -> None:
    if topology is not None:
        (tmp_path / "cluster.toml").write_text(topology, encoding="latin-1")
    assert said in cannot_start(tmp_path)
    assert not (tmp_path / "laissez-data" / "journal.db").exists()


def test_a_folder_of_a_newer_format_is_reported_clearly_and_left_alone(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        assert 0 == server.stop()
    with contextlib.closing(sqlite3.connect(tmp_path / "data" / "journal.db")) as database:
        database.execute("PRAGMA user_version = 999")
    before = (tmp_path / "data" / "journal.db").read_bytes()
    said = cannot_start(tmp_path, "--data", str(tmp_path / "data"))
    assert "999" in said and "format" in said
    assert before == (tmp_path / "data" / "journal.db").read_bytes()


@pytest.mark.skipif(
    not hasattr(socket, "TCP_USER_TIMEOUT"), reason="this system has no such setting"
)
def test_the_system_drops_connections_whose_peer_does_not_read() -> None:
    with contextlib.closing(listen("127.0.0.1", 0)) as listening:
        drop_deaf_peers(listening, 2.5)
        with socket.create_connection(listening.getsockname()):
            listening.setblocking(True)
            accepted, _ = listening.accept()
            assert 2_500 == accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
            accepted.close()
