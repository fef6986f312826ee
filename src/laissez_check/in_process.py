"""HTTP and sessions without a network: requests go to the application in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httptools

from laissez.server.http.app import App
from laissez.server.http.protocol import HttpConnection
from laissez.server.websocket.session import Session

CLIENT = ("127.0.0.1", 50_000)


class Pipe(asyncio.Transport):
    """The transport of a connection whose peer is a function."""

    def __init__(
        self,
        connection: HttpConnection,
        hear: Callable[[bytes], None],
        ended: Callable[[], None],
        client: tuple[str, int] | None = CLIENT,
    ) -> None:
        super().__init__({"peername": client})
        self._connection = connection
        self._hear = hear
        self._ended = ended
        self._is_closing = False
        self._reads = True
        connection.connection_made(self)

    def write(self, data: Any) -> None:
        if not self._is_closing:
            self._hear(bytes(data))

    def write_eof(self) -> None:
        """The peer sees it when the connection is closed."""

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            asyncio.get_running_loop().call_soon(self._end)

    abort = close

    def _end(self) -> None:
        self._connection.connection_lost(None)
        self._ended()

    def is_closing(self) -> bool:
        return self._is_closing

    def is_reading(self) -> bool:
        return self._reads

    def pause_reading(self) -> None:
        self._reads = False

    def resume_reading(self) -> None:
        self._reads = True


class Exchange:
    """One request and its answer, on a connection of its own."""

    def __init__(
        self, app: App, head: bytes, body: bytes = b"", client: tuple[str, int] | None = CLIENT
    ) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""
        self.is_complete = False
        self.is_over = asyncio.Event()  # answered, or the connection has ended
        self._is_head = head.startswith(b"HEAD ")
        self._parser = httptools.HttpResponseParser(self)
        self.connection = HttpConnection(app)
        self.pipe = Pipe(self.connection, self._feed, self.is_over.set, client)
        self.connection.data_received(head + body)

    def _feed(self, data: bytes) -> None:
        if not self.is_complete:
            self._parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        """The date is left out: with it no two answers could be compared."""
        if name != b"date":
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()
        if self._is_head and self.status >= 200:
            self._complete()

    def on_body(self, piece: bytes) -> None:
        self.body += piece

    def on_message_complete(self) -> None:
        if self.status >= 200:
            self._complete()

    def _complete(self) -> None:
        self.is_complete = True
        self.is_over.set()

    async def ended(self) -> None:
        """Wait until it is answered, or the connection has ended; then close it."""
        try:
            await self.is_over.wait()
        finally:
            self.pipe.close()


def head_of(method: str, target: str, headers: list[tuple[bytes, bytes]]) -> bytes:
    lines = [b"%b: %b\r\n" % header for header in headers]
    return b"%b %b HTTP/1.1\r\n%b\r\n" % (method.encode(), target.encode(), b"".join(lines))


class Wire:
    """A session's connection that passes all messages to a function."""

    def __init__(self, hear: Callable[[bytes], None], secret: str = "") -> None:
        self.headers = [(b"authorization", f"Bearer {secret}".encode())]
        self.scope: dict[str, Any] = {}
        self.is_full = False
        self.is_gone = False
        self.session: Session | None = None
        self.closed: tuple[int, str] | None = None
        self._hear = hear

    def attach(self, session: Session) -> None:
        self.session = session

    def write(self, payload: bytes, text: bool) -> None:
        self._hear(payload)

    def close(self, code: int, reason: str) -> None:
        self.closed = code, reason
        self._hear(b'{"closed": [%d, "%b"]}' % (code, reason.encode()))

    def hold(self) -> None:
        """Nothing is read here."""

    def let_go(self) -> None:
        """Nothing is read here."""

    def rest(self, seconds: float) -> None:
        """Nothing is read here."""

    async def drained(self) -> None:
        while self.is_full:
            await asyncio.sleep(0.001)
