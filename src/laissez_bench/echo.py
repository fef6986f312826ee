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
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec
import uvicorn

from laissez.journal import Entry, GroupCommit, Journal, JournalFailed
from laissez.server.connection import SELF, Connection
from laissez.server.heads import BoundedHeads
from laissez.server.server import GC_THRESHOLDS, SWITCH_INTERVAL_S, listen
from laissez.server.settings import Limits
from laissez.wire.session import MSGPACK

READS = "quote"
JSON_HEADERS = [(b"content-type", b"application/json")]


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

    # -- ASGI

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.accept", "subprotocol": MSGPACK})
            await receive()  # the hello
            scope[SELF].attach(EchoSession(self, scope[SELF]))
            while (await receive())["type"] != "websocket.disconnect":
                pass
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        requests, answer = [body], msgspec.json.encode(Reply(""))
        if scope["path"] == "/v1/batch":
            requests = [bytes(one) for one in msgspec.json.decode(body, type=AskedBatch).commands]
            ids = [msgspec.json.decode(one, type=Asked).id for one in requests]
            answer = msgspec.json.encode({"results": [Reply(id) for id in ids]})
        if scope["method"] != "GET":
            durable = asyncio.Event()
            self.store(requests, durable.set)
            await durable.wait()
        headers = [*JSON_HEADERS, (b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})


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


async def serve(folder: Path) -> None:
    """On a new folder."""
    with Journal.create(folder, b"echo") as journal:
        journal.begin()
        echo = Echo(journal)
        listening = listen("127.0.0.1", 0)
        limits = Limits()
        config = uvicorn.Config(
            cast(Any, echo),
            http=cast(Any, partial(BoundedHeads, limits=limits)),
            ws=cast(Any, partial(Connection, desk=cast(Any, None))),
            ws_max_size=limits.batch_bytes_max,
            ws_per_message_deflate=False,
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        gc.collect()
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        print("Serving at http://{}:{}".format(*listening.getsockname()[:2]), flush=True)
        try:
            await uvicorn.Server(config).serve(sockets=[listening])
        finally:
            echo.close()


def main() -> None:
    import uvloop

    sys.setswitchinterval(SWITCH_INTERVAL_S)
    uvloop.run(serve(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
