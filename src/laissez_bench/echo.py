"""The ceiling: a server with the product's sockets, framing, journal and group commit, and nothing
between them.

    python -m laissez_bench.echo FOLDER

Every command is stored as it came and acknowledged once it is durable. What the product answers
less than this server is the cost of the exchange, of admission and of rendering. This is the only
module of the benchmarks that uses the server's protocol classes.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import uvloop

from laissez.journal import Entry, GroupCommit, Journal, JournalFailed
from laissez.server.http.app import App
from laissez.server.http.request import Request
from laissez.server.http.response import JSON, head_of
from laissez.server.serve import GC_THRESHOLDS, STOPPED_BY, SWITCH_INTERVAL_S, Server, listen
from laissez.server.settings import Limits, Settings
from laissez.server.websocket.connection import SELF, Connection
from laissez.wire.limits import BATCH_BYTES_MAX
from laissez.wire.session import MSGPACK

READS = "quote"


class Asked(msgspec.Struct, gc=False):
    type: str = ""
    id: str = ""


class Reply(msgspec.Struct, gc=False):
    id: str
    type: str = "reply"


class AskedBatch(msgspec.Struct):
    commands: list[msgspec.Raw]


class Echo:
    """The journal, and the answers that wait for it."""

    def __init__(self, journal: Journal) -> None:
        self._loop = asyncio.get_running_loop()
        self._outbox: deque[tuple[int, Callable[[], None]]] = deque()
        self._commit = GroupCommit(
            journal,
            on_durable=self._stored,
            on_failure=self._failed,
        )
        self._last = self._commit.durable

    def store(self, requests: list[bytes], reply: Callable[[], None]) -> None:
        at = max(time.time_ns() // 1000, self._commit.last_at)
        for request in requests:
            self._last = self._commit.put(Entry(at, request, b""))
        if self._last <= self._commit.durable:
            reply()
        else:
            self._outbox.append((self._last, reply))

    def close(self) -> None:
        self._commit.close()

    def _stored(self, seq: int) -> None:
        """In the journal's thread."""
        self._loop.call_soon_threadsafe(self._release, seq)

    def _failed(self, error: JournalFailed) -> None:
        """In the journal's thread."""
        self._loop.call_soon_threadsafe(sys.exit, str(error))

    def _release(self, durable: int) -> None:
        while self._outbox and self._outbox[0][0] <= durable:
            self._outbox.popleft()[1]()


class EchoApp(App):
    """Takes the place of the application behind the product's connections. Every request begins at
    once, and nothing is refused."""

    def __init__(self, echo: Echo) -> None:
        gateway = SimpleNamespace(
            limits=Limits(),
            refusals=SimpleNamespace(note=lambda *_, **__: None),
            admission=SimpleNamespace(
                queue=SimpleNamespace(may_begin=lambda: True), delay_s=lambda _: 0.0
            ),
        )
        site = SimpleNamespace(gateway=gateway, settings=Settings())
        super().__init__(cast(Any, site), (), EchoSessions(echo), {})
        self._echo = echo

    async def serve(self, request: Request) -> None:
        body = await request.read_all(BATCH_BYTES_MAX)
        requests, answer = [body], msgspec.json.encode(Reply(""))
        if request.path == "/v1/batch":
            requests = [bytes(one) for one in msgspec.json.decode(body, type=AskedBatch).commands]
            ids = [msgspec.json.decode(one, type=Asked).id for one in requests]
            answer = msgspec.json.encode({"results": [Reply(id) for id in ids]})
        self._echo.store(
            [] if request.method == "GET" else requests,
            lambda: request.answer(head_of(200, JSON, len(answer), []), answer),
        )


class EchoSessions:
    def __init__(self, echo: Echo) -> None:
        self._echo = echo

    async def serve(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept", "subprotocol": MSGPACK})
        await receive()  # the hello
        scope[SELF].attach(EchoSession(self._echo, scope[SELF]))
        while (await receive())["type"] != "websocket.disconnect":
            pass


class EchoSession:
    """Takes the place of a session behind the product's connection."""

    _messages = msgspec.msgpack.Decoder(list[msgspec.Raw])
    _asked = msgspec.msgpack.Decoder(Asked)
    _encoder = msgspec.msgpack.Encoder()

    def __init__(self, echo: Echo, connection: Connection) -> None:
        self._echo = echo
        self._connection = connection

    def receive(self, frame: bytes) -> None:
        messages = self._messages.decode(frame)
        asked = [self._asked.decode(message) for message in messages]
        payload = self._encoder.encode([Reply(one.id) for one in asked])
        self._echo.store(
            [
                bytes(message)
                for message, one in zip(messages, asked, strict=True)
                if one.type != READS
            ],
            lambda: self._connection.write(payload, False),
        )

    def flush(self) -> None:
        """Nothing is held back."""

    def pay(self) -> float:
        return 0.0

    def note_broken(self, problem: Exception) -> None:
        raise problem


async def _no_farewell() -> None:
    """Nobody is told why the server stops."""


async def serve(folder: Path) -> None:
    """On a new folder."""
    with Journal.create(folder, b"echo") as journal:
        journal.begin()
        echo = Echo(journal)
        server = Server(EchoApp(echo), _no_farewell)
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
            echo.close()


def main() -> None:
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    uvloop.run(serve(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
