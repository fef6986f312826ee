"""Run the service as a process: listen, recover the data folder, serve, and stop gracefully."""

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

import uvloop
from msgspec.structs import replace

from laissez import __version__
from laissez.server.data_folder import Opened, open_folder
from laissez.server.gateway import Gateway
from laissez.server.http.app import App
from laissez.server.http.protocol import HttpConnection
from laissez.server.lifecycle import Service
from laissez.server.logs import set_up_log
from laissez.server.settings import Settings

# the longest wait of the journal's thread for the interpreter while the event loop is busy; 5 ms by
# default
SWITCH_INTERVAL_S = 0.0005
# The loop waits for each collection, so collections are small, frequent and timed. Python counts
# objects made less objects freed. A full history frees one entry for each new one, so young objects
# would pile up without the timer. A full collection mostly walks over live objects, since the
# market creates no cycles. Connections create a few, so full collections are rare but still happen.
GC_THRESHOLDS = (5_000, 2, 100_000)
COLLECT_EVERY_S = 0.02
BACKLOG = 2048
GRACE_S = 3  # for requests under way when the server is stopped
ABORTED_S = 1  # for the tasks of aborted connections to end
POLL_S = 0.02
STOPPED_BY = (signal.SIGINT, signal.SIGTERM)
# exit status after a failure of the disk or a bug; a restart recovers all durable entries
STOPPED_BY_FAILURE = 70
# open files for the journal, snapshots, previews, logs, and one connection to refuse
KEPT_FREE = 100

log = logging.getLogger("laissez.server")
OnReady = Callable[[Gateway, str], Awaitable[None]]


def serve(settings: Settings, on_ready: OnReady | None = None) -> int:
    """Serve until stopped by a signal; returns the exit status."""
    set_up_log(settings.server)
    possible = connections_possible(settings.limits.connections_max)
    settings = replace(settings, limits=replace(settings.limits, connections_max=possible))
    listening = listen(settings.server.host, settings.server.port)
    drop_deaf_peers(listening, settings.limits.dead_after_s)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    return uvloop.run(_serve(settings, listening, on_ready))


async def _serve(settings: Settings, listening: socket.socket, on_ready: OnReady | None) -> int:
    folder = settings.data.folder
    service = Service(settings, _recover(settings))
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        server = Server(service.app, service.say_farewell)
        for number in STOPPED_BY:  # early: a signal before the server runs must stop it too
            asyncio.get_running_loop().add_signal_handler(number, server.stop)
        service.begin()
        collector = asyncio.create_task(collect_young())
        address = "http://{}:{}".format(*listening.getsockname()[:2])
        if on_ready is not None:
            await on_ready(service.gateway, address)
        log.info("serving", extra={"version": __version__, "address": address, "folder": folder})
        try:
            await server.serve(listening)
        finally:
            collector.cancel()
            await service.stop_tasks()
        await service.end()
    finally:
        service.close()
    return STOPPED_BY_FAILURE if service.gateway.failure is not None else 0


async def collect_young() -> None:
    while True:
        await asyncio.sleep(COLLECT_EVERY_S)
        gc.collect(1)


def _recover(settings: Settings) -> Opened:
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
    return opened


class Server:
    """Serves connections until it is stopped. Then it ends sessions and streams with a farewell,
    lets requests finish, and aborts the rest after a grace period."""

    def __init__(self, app: App, before_stop: Callable[[], Awaitable[None]]) -> None:
        self._app = app
        self._before_stop = before_stop
        self._stop = asyncio.Event()
        self.stop_listening: Callable[[], None] = lambda: None

    def connection(self) -> HttpConnection:
        return HttpConnection(self._app)

    def stop(self) -> None:
        """Stop gracefully; the second time, at once."""
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
        """Whether all connections and all their tasks end in time."""
        until = asyncio.get_running_loop().time() + seconds
        while self._app.connections or self._app.tasks:
            if asyncio.get_running_loop().time() >= until:
                return False
            await asyncio.sleep(POLL_S)
        return True

    def _abort(self) -> None:
        """Drop connections that wait for an answer. Their requests may have been carried out, so
        clients must send them again."""
        for connection in list(self._app.connections):
            connection.transport.abort()
        for task in list(self._app.tasks):
            task.cancel()


# -- the socket


class CannotListen(Exception):
    """The server cannot listen on the address."""


def listen(host: str, port: int) -> socket.socket:
    """Open the socket to serve on. This comes first, so that an address in use is reported at
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
    listening.listen(BACKLOG)  # from now on clients wait instead of being refused
    listening.setblocking(False)
    return listening


def drop_deaf_peers(listening: socket.socket, after_s: float) -> None:
    """Let the system drop peers that do not read what they are sent. Otherwise closing a connection
    waits until its buffer is empty."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # connections inherit it from the listening socket
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(after_s * 1000))


def connections_possible(wanted: int) -> int:
    """The number of connections for which the system allows open files, at most `wanted`. Without
    free files not even a snapshot could be written. Raises the process's limit if it may."""
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + KEPT_FREE
    if allowed != resource.RLIM_INFINITY and allowed < needed:
        allowed = needed if most == resource.RLIM_INFINITY else min(needed, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
    if allowed == resource.RLIM_INFINITY or allowed >= needed:
        return wanted
    possible = max(1, allowed - KEPT_FREE)
    log.warning(
        "the system allows fewer open files than connections_max needs",
        extra={"connections_max": wanted, "possible": possible},
    )
    return possible
