"""The session: one WebSocket for commands and events, kept up over as many connections as needed.

A method returns a future at once, and everything sent in one turn of the event loop leaves as one
frame. One task reads and, while connected, one writes; there is no task per command. `protocol`
defines how a lost connection affects commands and events.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, Final, NoReturn, Self, TypedDict, TypeVar

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidMessage,
    InvalidStatus,
    WebSocketException,
)
from websockets.typing import Subprotocol

from laissez.client.endpoint import find_endpoint
from laissez.client.errors import (
    ConnectionFailed,
    EventsMissed,
    LaissezError,
    SessionClosed,
    UnexpectedAnswer,
    UsageError,
)
from laissez.client.http import USER_AGENT
from laissez.client.messages import CODECS, Command, Encoding, Message, SessionApi
from laissez.client.methods import Pipelined
from laissez.client.protocol import SessionProtocol, close_error
from laissez.client.retries import Reconnection, response_error, unreachable
from laissez.client.sse import EventOrNotice
from laissez.wire.requests import Hello
from laissez.wire.session import Reply, Welcome

T = TypeVar("T")

FRAME_BYTES_MAX: Final = 16 * 1024 * 1024  # lists of orders and leases come in one message
CLOSE_WAIT_S: Final = 2.0  # for the peer's close frame; a dead one never sends it


class _WithoutDebug(logging.LoggerAdapter[logging.Logger]):
    """Drops level DEBUG, at which websockets logs headers and so the key."""

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802  logging's name
        return level > logging.DEBUG and super().isEnabledFor(level)


class _ConnectWithoutRedirects(connect):
    """A redirect could take the key to another server."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class SessionOptions(TypedDict, total=False):
    """The keyword arguments of `AsyncSession`, which explains them."""

    resume_after: int | None
    cancel_on_disconnect: bool
    warn_within: str
    encoding: Encoding
    in_flight_max: int
    pending_max: int
    events_max: int
    timeout: float
    reconnect_timeout_s: float
    insecure: bool


class AsyncSession(SessionApi, Pipelined):
    """Use it in an `async with` block. Its methods send at once and return futures: await one, or
    many together.

    The future of a refused command raises an `ApiError`. It raises `OutcomeUnknown` only if the
    session gives up, having failed to reconnect for `reconnect_timeout_s`. With
    `cancel_on_disconnect` every lost connection cancels the resting orders placed in it, even if
    the session goes on.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        resume_after: int | None = None,
        cancel_on_disconnect: bool = False,
        warn_within: str = "0.1",
        encoding: Encoding = "msgpack",
        in_flight_max: int = 500,
        pending_max: int = 10_000,
        events_max: int = 10_000,
        timeout: float = 10.0,
        reconnect_timeout_s: float = 60.0,
        insecure: bool = False,
    ) -> None:
        """At most `in_flight_max` commands are in flight, `pending_max` queued in all, and
        `events_max` events kept for a slow reader.

        `timeout` is in seconds, for each connection; `url`, `key` and `insecure` are as for
        `Client`.
        """
        if encoding not in CODECS:
            raise UsageError(f"expected the encoding msgpack or json, found {encoding!r}")
        hello = Hello(
            resume_after=resume_after,
            cancel_on_disconnect=cancel_on_disconnect,
            warn_within=warn_within,
        )
        self._endpoint = find_endpoint(url, key, insecure)
        self._protocol = SessionProtocol(
            CODECS[encoding],
            hello,
            in_flight_max=in_flight_max,
            pending_max=pending_max,
            events_max=events_max,
        )
        self._timeout = timeout
        self._reconnect_timeout_s = reconnect_timeout_s
        self._error: LaissezError | None = None  # why the session ended
        self._running: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._endpoint.url!r})"

    @property
    def last_event(self) -> int | None:
        """The number of the last event received: `resume_after` for the next session."""
        return self._protocol.last

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        """Wait for outstanding answers, unless the block failed."""
        with contextlib.suppress(TimeoutError):
            if error is None:
                async with asyncio.timeout(self._timeout):
                    await self.drain()
        await self.close()

    async def open(self) -> None:
        """Connect, or raise the reason why not. `async with` calls it."""
        if self._running is not None:
            raise UsageError("a session can be opened once; make a new one")
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()  # set when there may be something to write
        self._received = asyncio.Event()  # set on every frame, and when the session ends
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._running = asyncio.create_task(self._run())
        try:
            await self._opened
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End the session. Commands without an answer raise `OutcomeUnknown`."""
        if self._running is None:
            return
        self._running.cancel()
        await asyncio.wait([self._running])
        self._end(SessionClosed("the session was closed; make a new one"))

    async def room(self) -> None:
        """Wait until the session has room for another command."""
        while self._protocol.is_full:
            await self._next_frame()

    async def drain(self) -> None:
        """Wait until no message awaits an answer."""
        while not self._protocol.is_idle:
            await self._next_frame()

    async def send_many(self, commands: Iterable[Command]) -> list[Reply | LaissezError]:
        """Send commands as fast as the session allows. Returns replies and errors in the same
        order."""
        sent: list[asyncio.Future[Reply] | LaissezError] = []
        for command in commands:
            if self._protocol.is_full:
                await self.room()
            try:
                sent.append(self.send(command))
            except LaissezError as error:
                sent.append(error)
        return [await _outcome(one) for one in sent]

    async def events(self) -> AsyncIterator[EventOrNotice]:
        """Events and notices as they come, including those of your own commands. There may be one
        reader. The iteration ends when the session is closed.

        Raises `EventsMissed` at a gap, after which it can be called again, and the error that ended
        the session if it gave up.
        """
        while await self.wait_for_events():
            for event in self.pop_events():
                yield event

    async def wait_for_events(self) -> bool:
        """Wait until there are unread events. False if the session was closed without any."""
        while not self._protocol.events:
            if isinstance(self._error, SessionClosed):
                return False
            if self._error is not None:
                raise self._error
            await self._next_frame()
        return True

    def pop_events(self) -> Iterator[EventOrNotice]:
        """The unread events. Any thread may read, but only one at a time."""
        events = self._protocol.events
        while events:
            event = events.popleft()
            if isinstance(event, EventsMissed):
                raise event
            yield event

    def request(self, message: Message[T]) -> asyncio.Future[T]:
        """Queue a message. The future gets its answer."""
        if self._error is not None:
            raise self._error
        if self._running is None:
            raise UsageError("the session is not open; use it in an async with block")
        future: asyncio.Future[T] = self._loop.create_future()
        self._protocol.submit(message.content, future)
        self._wake.set()
        return future

    async def _next_frame(self) -> None:
        self._received.clear()
        await self._received.wait()

    def _end(self, error: LaissezError) -> None:
        if self._error is not None:
            return
        self._error = error
        self._protocol.fail(error)
        self._received.set()
        if not self._opened.done():
            self._opened.set_exception(error)

    async def _run(self) -> None:
        """Connect again and again until that fails for too long. The first connection has the time
        of a single request."""
        self._reconnection = Reconnection(self._timeout)
        try:
            while True:
                error = self._protocol.connection_lost(await self._connection())
                self._received.set()
                await asyncio.sleep(self._reconnection.delay(self._loop.time(), error))
        except LaissezError as error:
            self._end(error)
        except Exception as bug:  # no caller may wait for ever
            failed = ConnectionFailed(f"the session failed: {type(bug).__name__}")
            failed.__cause__ = bug
            self._end(failed)

    async def _connection(self) -> LaissezError:
        """Run one connection. Returns the error that ended it."""
        try:
            socket = await _ConnectWithoutRedirects(self._endpoint.session_url, **self._options())
            try:
                await self._communicate(socket)
            finally:
                await socket.close()
        except LaissezError as error:
            return error
        except ConnectionClosed as closed:
            frame = closed.rcvd
            return close_error(frame.code, frame.reason) if frame else close_error(None, "")
        except InvalidStatus as refused:
            response = refused.response
            body = bytes(response.body or b"")
            return response_error(response.status_code, response.headers, body)
        except (OSError, EOFError, InvalidMessage) as error:  # including timeouts and TLS errors
            return unreachable(self._endpoint.url, error)
        except WebSocketException as error:
            return UnexpectedAnswer(f"{self._endpoint.url} violates the protocol: {error}")

    def _options(self) -> dict[str, Any]:
        return {
            "subprotocols": [Subprotocol(self._protocol.codec.subprotocol)],
            "additional_headers": self._endpoint.headers,
            "user_agent_header": USER_AGENT,
            "proxy": None if self._endpoint.is_local else True,
            "compression": None,  # frames are many and small
            "open_timeout": self._timeout,
            "ping_interval": None,  # the session has its own heartbeats
            "close_timeout": CLOSE_WAIT_S,
            "max_size": FRAME_BYTES_MAX,
            "logger": _WithoutDebug(logging.getLogger("laissez.client"), {}),
        }

    async def _communicate(self, socket: ClientConnection) -> NoReturn:
        """Send the hello, then read while another task writes."""
        codec = self._protocol.codec
        if socket.subprotocol != codec.subprotocol:
            raise UnexpectedAnswer(
                f"expected {self._endpoint.url} to speak {codec.subprotocol}, found"
                f" {socket.subprotocol}"
            )
        await socket.send(self._protocol.hello(), text=codec.is_text)
        async with asyncio.timeout(self._timeout):
            while (welcome := self._protocol.welcome) is None:
                await self._read(socket)
        if not self._opened.done():
            self._reconnection = Reconnection(self._reconnect_timeout_s)
            self._opened.set_result(None)
        writing = asyncio.create_task(self._write(socket, welcome))
        try:
            await self._read_on(socket, welcome)
        finally:
            writing.cancel()
            await asyncio.wait([writing])

    async def _read(self, socket: ClientConnection) -> None:
        self._protocol.receive(await socket.recv(decode=False))
        self._received.set()

    async def _read_on(self, socket: ClientConnection, welcome: Welcome) -> NoReturn:
        """Read until the connection ends or is silent for too long."""
        now, protocol = self._loop.time, self._protocol
        async with asyncio.timeout(welcome.dead_after_s) as deadline:
            moved_at = now()
            while True:
                await self._read(socket)
                self._reconnection.succeeded()
                if protocol.can_send:
                    self._wake.set()
                # moving the deadline costs more than reading a frame
                if now() - moved_at > welcome.dead_after_s / 16:
                    moved_at = now()
                    deadline.reschedule(moved_at + welcome.dead_after_s)

    async def _write(self, socket: ClientConnection, welcome: Welcome) -> None:
        """Write all queued messages as one frame, and a ping after a while without any, so that the
        server knows that we are alive."""
        protocol, is_text = self._protocol, self._protocol.codec.is_text
        with contextlib.suppress(ConnectionClosed):  # the reader gets the reason
            while True:
                while (frame := protocol.next_frame()) is not None:
                    await socket.send(frame, text=is_text)
                self._wake.clear()
                try:
                    async with asyncio.timeout(welcome.heartbeat_s):
                        await self._wake.wait()
                except TimeoutError:
                    await socket.send(protocol.ping(), text=is_text)


async def _outcome(sent: asyncio.Future[Reply] | LaissezError) -> Reply | LaissezError:
    try:
        return sent if isinstance(sent, LaissezError) else await sent
    except LaissezError as error:
        return error
