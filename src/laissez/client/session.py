"""The session: one WebSocket that carries commands and events both ways, kept alive over as many
connections as it takes.

Asking returns a future at once; everything asked in one turn of the event loop goes out as one
frame. There is one task that reads, and one that writes while connected; no task per command. What
a lost connection means for commands and events is in `conversation`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterable, Iterator
from types import TracebackType
from typing import Any, Final, NoReturn, Self, TypedDict, TypeVar

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidMessage,
    InvalidStatus,
    WebSocketException,
)
from websockets.typing import Subprotocol

from laissez.client.access import find_access
from laissez.client.asking import Pipelining
from laissez.client.attempts import Patience, error_of, unreachable
from laissez.client.conversation import Conversation, closing_error
from laissez.client.errors import (
    ConnectionFailed,
    EventsMissed,
    LaissezError,
    SessionClosed,
    UnexpectedAnswer,
    UsageError,
)
from laissez.client.following import Told
from laissez.client.messages import CODECS, Command, Encoding, Message, Messages
from laissez.client.rest import USER_AGENT
from laissez.wire.requests import Hello
from laissez.wire.session import Reply, Welcome

T = TypeVar("T")

FRAME_BYTES_MAX: Final = 16 * 1024 * 1024  # lists of orders and leases come in one message
CLOSE_WAIT_S: Final = 2.0  # for a peer to say goodbye; a dead one never does


class _Discreet(logging.LoggerAdapter[logging.Logger]):
    """At level DEBUG, websockets logs headers and frames, and so the key: this says that nobody
    listens at that level."""

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802  of logging
        return level > logging.DEBUG and super().isEnabledFor(level)


class _Direct(connect):
    """Goes where it is told: a redirect could take the key elsewhere."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class SessionOptions(TypedDict, total=False):
    """The settings of a session beside where and as whom; `AsyncSession` explains them."""

    resume_after: int | None
    cancel_on_disconnect: bool
    warn_within: str
    encoding: Encoding
    in_flight_max: int
    pending_max: int
    events_max: int
    timeout: float
    patience_s: float
    insecure: bool


class AsyncSession(Messages, Pipelining):
    """Use it in an `async with` block. Its methods send at once and return futures: await each, or
    many together.

    A command that is refused raises an `ApiError` when awaited; `OutcomeUnknown` is raised only
    when the session gives up, after trying for `patience_s` to connect again. With
    `cancel_on_disconnect` every lost connection cancels the resting orders placed in it, also when
    the session itself goes on.
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
        patience_s: float = 60.0,
        insecure: bool = False,
    ) -> None:
        """`in_flight_max` commands are on their way at once, `pending_max` held in all,
        `events_max` events kept for a reader who is behind.

        `timeout` is in seconds, for the first connection and for each later one; `url`, `key` and
        `insecure` are as for `Client`.
        """
        if encoding not in CODECS:
            raise UsageError(f"expected the encoding msgpack or json, found {encoding!r}")
        hello = Hello(
            resume_after=resume_after,
            cancel_on_disconnect=cancel_on_disconnect,
            warn_within=warn_within,
        )
        self._access = find_access(url, key, insecure)
        self._conversation = Conversation(
            CODECS[encoding],
            hello,
            in_flight_max=in_flight_max,
            pending_max=pending_max,
            told_max=events_max,
        )
        self._timeout = timeout
        self._patience_s = patience_s
        self._error: LaissezError | None = None  # why it ended
        self._running: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._access.url!r})"

    @property
    def last_event(self) -> int | None:
        """The number of the last event seen: `resume_after` for a session that takes over from this
        one."""
        return self._conversation.last

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Waits for the answers still due, unless the block failed."""
        with contextlib.suppress(TimeoutError):
            if error is None:
                async with asyncio.timeout(self._timeout):
                    await self.drain()
        await self.close()

    async def open(self) -> None:
        """Connect; raises what prevents it. Done by `async with`."""
        if self._running is not None:
            raise UsageError("a session can be opened once; make a new one")
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()  # there may be something to write
        self._heard = asyncio.Event()  # a frame came, or the end
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._running = asyncio.create_task(self._run())
        try:
            await self._opened
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End the session. Commands that are still unanswered raise `OutcomeUnknown`."""
        if self._running is None:
            return
        self._running.cancel()
        await asyncio.wait([self._running])
        self._end(SessionClosed("the session was closed; make a new one"))

    async def room(self) -> None:
        """Wait until another command can be taken on."""
        while self._conversation.is_full:
            await self._next_heard()

    async def drain(self) -> None:
        """Wait until everything asked so far, and meanwhile, is answered."""
        while not self._conversation.is_idle:
            await self._next_heard()

    async def send_many(self, commands: Iterable[Command]) -> list[Reply | LaissezError]:
        """Send commands without waiting in between, as fast as the session allows; the outcomes
        come in the same order, errors as values."""
        asked: list[asyncio.Future[Reply] | LaissezError] = []
        for command in commands:
            if self._conversation.is_full:
                await self.room()
            try:
                asked.append(self.send(command))
            except LaissezError as error:
                asked.append(error)
        return [await _outcome(one) for one in asked]

    async def events(self) -> AsyncIterator[Told]:
        """Events and notices as they come, those of one's own commands included; for one reader.
        Ends when the session is closed.

        Raises `EventsMissed` where there is a hole, after which it can be called again; and
        whatever ended the session, if it gave up.
        """
        while await self._has_arrived():
            for told in self._arrived():
                yield told

    async def _has_arrived(self) -> bool:
        """Wait until there is something to read; False if the session was closed and there is
        not."""
        while not self._conversation.told:
            if isinstance(self._error, SessionClosed):
                return False
            if self._error is not None:
                raise self._error
            await self._next_heard()
        return True

    def _arrived(self) -> Iterator[Told]:
        """What there is to read; for any thread, but one at a time."""
        told = self._conversation.told
        while told:
            one = told.popleft()
            if isinstance(one, EventsMissed):
                raise one
            yield one

    def _ask(self, message: Message[T]) -> asyncio.Future[T]:
        if self._error is not None:
            raise self._error
        if self._running is None:
            raise UsageError("the session is not open; use it in an async with block")
        future: asyncio.Future[T] = self._loop.create_future()
        self._conversation.ask(message.content, future)
        self._wake.set()
        return future

    async def _next_heard(self) -> None:
        self._heard.clear()
        await self._heard.wait()

    def _end(self, error: LaissezError) -> None:
        if self._error is not None:
            return
        self._error = error
        self._conversation.fail(error)
        self._heard.set()
        if not self._opened.done():
            self._opened.set_exception(error)

    async def _run(self) -> None:
        """Connection after connection, until patience ends. The first one has the time of a single
        request."""
        self._patience = Patience(self._timeout)
        try:
            while True:
                error = self._conversation.lost(await self._connection())
                self._heard.set()
                await asyncio.sleep(self._patience.pause(self._loop.time(), error))
        except LaissezError as error:
            self._end(error)
        except Exception as bug:  # nobody may be left waiting for ever
            failed = ConnectionFailed(f"the session failed: {type(bug).__name__}")
            failed.__cause__ = bug
            self._end(failed)

    async def _connection(self) -> LaissezError:
        """One connection from beginning to end, and why it ended."""
        try:
            socket = await _Direct(self._access.session_url, **self._options())
            try:
                await self._speak(socket)
            finally:
                await socket.close()
        except LaissezError as error:
            return error
        except ConnectionClosed as closed:
            return (
                closing_error(closed.rcvd.code, closed.rcvd.reason)
                if closed.rcvd
                else closing_error(None, "")
            )
        except InvalidStatus as refused:
            return error_of(
                refused.response.status_code,
                refused.response.headers,
                bytes(refused.response.body or b""),
            )
        except (OSError, EOFError, InvalidMessage) as lost:  # timeouts and faults of TLS among them
            return unreachable(self._access.url, lost)
        except WebSocketException as odd:
            return UnexpectedAnswer(f"{self._access.url} does not speak as a session should: {odd}")

    def _options(self) -> dict[str, Any]:
        return {
            "subprotocols": [Subprotocol(self._conversation.codec.subprotocol)],
            "additional_headers": self._access.headers,
            "user_agent_header": USER_AGENT,
            "proxy": None if self._access.is_local else True,
            "compression": None,  # frames are small and many
            "open_timeout": self._timeout,
            "ping_interval": None,  # the session has its own heartbeats
            "close_timeout": CLOSE_WAIT_S,
            "max_size": FRAME_BYTES_MAX,
            "logger": _Discreet(logging.getLogger("laissez.client"), {}),
        }

    async def _speak(self, socket: ClientConnection) -> NoReturn:
        """Greet, then read while another task writes."""
        codec = self._conversation.codec
        if socket.subprotocol != codec.subprotocol:
            raise UnexpectedAnswer(
                f"expected {self._access.url} to speak {codec.subprotocol}, found"
                f" {socket.subprotocol}"
            )
        await socket.send(self._conversation.hello(), text=codec.is_text)
        async with asyncio.timeout(self._timeout):
            while (welcome := self._conversation.welcome) is None:
                await self._read(socket)
        if not self._opened.done():
            self._patience = Patience(self._patience_s)
            self._opened.set_result(None)
        writing = asyncio.create_task(self._write(socket, welcome))
        try:
            await self._read_on(socket, welcome)
        finally:
            writing.cancel()
            await asyncio.wait([writing])

    async def _read(self, socket: ClientConnection) -> None:
        self._conversation.receive(await socket.recv(decode=False))
        self._heard.set()

    async def _read_on(self, socket: ClientConnection, welcome: Welcome) -> NoReturn:
        """Read until the connection ends or has been silent for too long."""
        now, conversation = self._loop.time, self._conversation
        async with asyncio.timeout(welcome.dead_after_s) as deadline:
            moved_at = now()
            while True:
                await self._read(socket)
                self._patience.renew()
                if conversation.has_work:
                    self._wake.set()
                # moving the deadline for every frame would cost more than reading it
                if now() - moved_at > welcome.dead_after_s / 16:
                    moved_at = now()
                    deadline.reschedule(moved_at + welcome.dead_after_s)

    async def _write(self, socket: ClientConnection, welcome: Welcome) -> None:
        """Write what is asked, as one frame for all that has gathered; and a ping when there was
        nothing for a while, so that the server hears us."""
        conversation, is_text = self._conversation, self._conversation.codec.is_text
        with contextlib.suppress(ConnectionClosed):  # the reader learns of it too, and knows why
            while True:
                while (frame := conversation.next_frame()) is not None:
                    await socket.send(frame, text=is_text)
                self._wake.clear()
                try:
                    async with asyncio.timeout(welcome.heartbeat_s):
                        await self._wake.wait()
                except TimeoutError:
                    await socket.send(conversation.ping(), text=is_text)


async def _outcome(asked: asyncio.Future[Reply] | LaissezError) -> Reply | LaissezError:
    try:
        return asked if isinstance(asked, LaissezError) else await asked
    except LaissezError as error:
        return error
