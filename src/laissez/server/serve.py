"""Run the service as a process: log, listen, recover the data folder, serve, and stop so that
nothing is lost and the next start is quick."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import resource
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import uvloop
from msgspec.structs import replace

from laissez import __version__
from laissez.server.data_folder import open_folder
from laissez.server.gateway import Gateway
from laissez.server.http.app import App
from laissez.server.http.protocol import HttpConnection
from laissez.server.lifecycle import Service
from laissez.server.settings import Server as LogSettings
from laissez.server.settings import Settings
from laissez.units import format_time

# how long the journal's thread may wait for the interpreter while the event loop is busy; Python's
# default is 5 ms
SWITCH_INTERVAL_S = 0.0005
# The loop waits for each collection, so they are small. A full one would mostly walk over what is
# alive, since the market leaves no cycles behind; it is left for the rare cycles of connections.
GC_THRESHOLDS = (5_000, 2, 10_000)
BACKLOG = 2048
GRACE_S = 3  # for requests under way when the server is stopped
ABORTED_S = 1  # for the tasks of aborted connections to end
LOOK_S = 0.02
STOPPED_BY = (signal.SIGINT, signal.SIGTERM)
# exit status: the disk failed or a bug was met; a restart recovers what is durable
STOPPED_BY_FAILURE = 70
# open files for the journal, snapshots, previews, logs, and the connection that is told that there
# are too many
KEPT_FREE = 100

log = logging.getLogger("laissez.server")
OnReady = Callable[[Gateway, str], Awaitable[None]]


def serve(settings: Settings, on_ready: OnReady | None = None) -> int:
    """Serve until stopped by a signal; returns the exit status."""
    set_up_log(settings.server)
    settings = _with_room(settings)
    listening = listen(settings.server.host, settings.server.port)
    drop_deaf_peers(listening, settings.limits.dead_after_s)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    return uvloop.run(_serve(settings, listening, on_ready))


async def _serve(settings: Settings, listening: socket.socket, on_ready: OnReady | None) -> int:
    opened = open_folder(Path(settings.data.folder), settings.limits)
    for warning in opened.warnings:
        log.warning(warning)
    if opened.clock.behind_us:
        log.warning(
            "the wall clock is behind the journal; time goes on from the journal's",
            extra={"behind_s": opened.clock.behind_us / 1e6},
        )
    entries, snapshot, replayed = opened.journal.last, opened.snapshot_seq, opened.replayed
    log.info("recovered", extra={"entries": entries, "snapshot": snapshot, "replayed": replayed})
    service = Service(settings, opened)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        return await _run(settings, listening, service, on_ready)
    finally:
        service.close()


async def _run(
    settings: Settings, listening: socket.socket, service: Service, on_ready: OnReady | None
) -> int:
    server = Server(service.app, service.say_farewell)
    loop = asyncio.get_running_loop()
    for number in STOPPED_BY:  # from here on: a signal before the server runs must stop it too
        loop.add_signal_handler(number, server.stop)
    service.begin()
    address = "http://{}:{}".format(*listening.getsockname()[:2])
    if on_ready is not None:
        await on_ready(service.gateway, address)
    folder = settings.data.folder
    log.info("serving", extra={"version": __version__, "address": address, "folder": folder})
    try:
        await server.serve(listening)
    finally:
        await service.stop_tasks()
    await service.end()
    return STOPPED_BY_FAILURE if service.gateway.failure is not None else 0


class Server:
    """Serves connections until it is told to stop. Then it ends them: sessions and streams with a
    farewell, requests with their answers, and after a while the rest by aborting."""

    def __init__(self, app: App, before_stop: Callable[[], Awaitable[None]]) -> None:
        self._app = app
        self._before_stop = before_stop
        self._stop = asyncio.Event()
        self.stop_listening: Callable[[], None] = lambda: None

    def connection(self) -> HttpConnection:
        return HttpConnection(self._app)

    def stop(self) -> None:
        """Asked a second time, wait for nobody."""
        if self._stop.is_set():
            self._abort()
        self._stop.set()

    async def serve(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(self.connection, sock=listening, backlog=BACKLOG)
        self.stop_listening = server.close
        await self._stop.wait()
        await self.shutdown()

    async def shutdown(self) -> None:
        await self._before_stop()
        self.stop_listening()
        for connection in list(self._app.connections):
            connection.shutdown()
        if not await self._ended_within(GRACE_S):
            self._abort()
            await self._ended_within(ABORTED_S)

    async def _ended_within(self, seconds: float) -> bool:
        """Whether all connections have ended, and all work for them."""
        until = asyncio.get_running_loop().time() + seconds
        while self._app.connections or self._app.tasks:
            if asyncio.get_running_loop().time() >= until:
                return False
            await asyncio.sleep(LOOK_S)
        return True

    def _abort(self) -> None:
        """Callers without an answer get none: their requests may have been carried out, so they
        must ask again."""
        for connection in list(self._app.connections):
            connection.transport.abort()
        for task in list(self._app.tasks):
            task.cancel()


# -- the socket


class CannotListen(Exception):
    """The address cannot be had."""


def listen(host: str, port: int) -> socket.socket:
    """The socket to serve on. It is opened first, so that an address that is taken is found out at
    once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        hint = " Is another server running there?" if error.errno == errno.EADDRINUSE else ""
        why = f"cannot listen on {host} port {port}: {error.strerror or error}.{hint}"
        raise CannotListen(why) from error
    listening.listen(BACKLOG)  # from here on callers wait instead of being refused
    listening.setblocking(False)
    return listening


def drop_deaf_peers(listening: socket.socket, after_s: float) -> None:
    """Let the system drop peers that take nothing of what is sent to them, with their buffers:
    closing waits until those are empty."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # connections have it from the socket that accepts them
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(after_s * 1000))


def _with_room(settings: Settings) -> Settings:
    """The settings with no more connections than the system allows open files: past that, not even
    a snapshot could be written."""
    wanted = settings.limits.connections_max
    possible = connections_possible(wanted)
    if possible == wanted:
        return settings
    log.warning(
        "the system allows fewer open files than connections_max needs",
        extra={"connections_max": wanted, "possible": possible},
    )
    return replace(settings, limits=replace(settings.limits, connections_max=possible))


def connections_possible(wanted: int) -> int:
    """How many of the wanted connections there can be; asks the system for the files they need."""
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + KEPT_FREE
    if allowed != resource.RLIM_INFINITY and allowed < needed:
        allowed = needed if most == resource.RLIM_INFINITY else min(needed, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
    return wanted if allowed == resource.RLIM_INFINITY else max(1, min(wanted, allowed - KEPT_FREE))


# -- the log: a line per event, as text or as JSON; no keys, no bodies, no prices

_STANDARD = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}


def fields_of(record: logging.LogRecord) -> dict[str, object]:
    """What the caller added with `extra`."""
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}


class TextLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        extra = "".join(f" {name}={value}" for name, value in fields_of(record).items())
        line = (
            f"{format_time(round(record.created * 1e6))} {record.levelname.lower():7}"
            f" {record.name}: {record.getMessage()}{extra}"
        )
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": format_time(round(record.created * 1e6)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **fields_of(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()


def set_up_log(settings: LogSettings) -> None:
    writer = logging.StreamHandler(sys.stderr)
    writer.setFormatter(JsonLines() if settings.log_format == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [writer]
    root.setLevel(settings.log_level.upper())
