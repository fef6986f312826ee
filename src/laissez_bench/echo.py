"""The ceiling: a server with the product's sockets, framing, journal and group commit, and nothing
between them.

    python -m laissez_bench.echo FOLDER

Every command is stored as it came and acknowledged once it is durable. The difference between the
product and this server is the cost of the exchange, of admission and of rendering. No other module
of the benchmarks uses the server's protocol classes.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import msgspec
import uvloop

from laissez.journal import Entry
from laissez.market import Topology
from laissez.server import data_folder
from laissez.server.gateway import Gateway
from laissez.server.http.app import App
from laissez.server.http.messages import JSON, Request, head_of
from laissez.server.serve import GC_THRESHOLDS, STOPPED_BY, SWITCH_INTERVAL_S, Server, listen
from laissez.server.settings import Limits, Settings
from laissez.server.websocket.connection import Connection
from laissez.wire.limits import BATCH_BYTES_MAX

READS = "quote"


class Asked(msgspec.Struct, gc=False):
    type: str = ""
    id: str = ""


class Reply(msgspec.Struct, gc=False):
    id: str
    type: str = "reply"


class AskedBatch(msgspec.Struct):
    commands: list[msgspec.Raw]


def store(gateway: Gateway, requests: list[bytes], reply: Callable[[object], None]) -> None:
    """Store requests past the exchange of the gateway, and reply once they are durable."""
    commit = gateway._commit
    at = max(time.time_ns() // 1000, commit.last_at)
    for request in requests:
        gateway.position = commit.put(Entry(at, request, b""))
    gateway.when_durable(reply, None)


class EchoApp(App):
    """Takes the place of the application behind the product's connections."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        site = SimpleNamespace(gateway=gateway, settings=Settings())
        super().__init__(cast(Any, site), (), cast(Any, EchoSessions(gateway)), {})

    def serve(self, request: Request) -> None:
        request.connection.go_on(self._serve(request))

    async def _serve(self, request: Request) -> None:
        body = await request.whole_body(BATCH_BYTES_MAX)
        requests, answer = [body], msgspec.json.encode(Reply(""))
        if request.path == "/v1/batch":
            requests = [bytes(one) for one in msgspec.json.decode(body, type=AskedBatch).commands]
            ids = [msgspec.json.decode(one, type=Asked).id for one in requests]
            answer = msgspec.json.encode({"results": [Reply(id) for id in ids]})
        store(
            self._gateway,
            [] if request.method == "GET" else requests,
            lambda _: request.answer(head_of(200, JSON, len(answer)), answer),
        )


class EchoSessions(NamedTuple):
    gateway: Gateway

    async def open(self, connection: Connection, codec: object, hello: bytes) -> None:
        connection.attach(cast(Any, EchoSession(self.gateway, connection)))


class EchoSession:
    """Takes the place of a session behind the product's connection."""

    _messages = msgspec.msgpack.Decoder(list[msgspec.Raw])
    _asked = msgspec.msgpack.Decoder(Asked)
    _encoder = msgspec.msgpack.Encoder()

    def __init__(self, gateway: Gateway, connection: Connection) -> None:
        self._gateway = gateway
        self._connection = connection

    def receive(self, frame: bytes) -> None:
        messages = self._messages.decode(frame)
        asked = [self._asked.decode(message) for message in messages]
        payload = self._encoder.encode([Reply(one.id) for one in asked])
        pairs = zip(messages, asked, strict=True)
        commands = [bytes(message) for message, one in pairs if one.type != READS]
        store(self._gateway, commands, lambda _: self._connection.write(payload, False))

    def flush(self) -> None:
        """Nothing is held back."""

    def pay(self) -> float:
        return 0.0

    def note(self, problem: Exception, operation: str) -> None:
        raise problem

    def lost(self) -> None:
        """A session keeps nothing."""


async def _no_farewell() -> None:
    """Connections end without a reason."""


async def serve(folder: Path) -> None:
    """On a new folder."""
    data_folder.create(folder, Topology.of(("leaf",)), 1)
    limits = Limits(wait_s_max=60.0, pending_commands_max=1_000_000)
    opened = data_folder.open_folder(folder, limits)
    gateway = Gateway(opened.exchange, opened.journal, opened.clock, limits, opened.event_log)
    server = Server(EchoApp(gateway), _no_farewell)
    for number in STOPPED_BY:
        asyncio.get_running_loop().add_signal_handler(number, server.stop)
    listening = listen("127.0.0.1", 0)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    print("Serving at http://{}:{}".format(*listening.getsockname()[:2]), flush=True)
    try:
        await server.serve(listening)
    finally:
        gateway.close()
        opened.journal.close()


def main() -> None:
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    uvloop.run(serve(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
