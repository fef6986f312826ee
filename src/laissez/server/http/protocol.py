"""The HTTP/1.1 connection: bytes in, requests to the application, answers out in order.

The parser reads requests and bounds their heads. The rest is here: limits on connections,
deadlines for slow clients, pipelining, keep-alive, backpressure in both directions, and the refusal
of what cannot be read, sent once all requests before it are answered.

Requests of one connection are answered one after the other. `_requests` holds those that have
arrived; the first of them is under way. A request begins at once if the service keeps up, and
otherwise waits in the fair queue. What an operation does up to its first `await` happens at once,
so most requests need no task.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import TYPE_CHECKING, Any, cast

import msgspec

from laissez.server.admission import overloaded, stopping
from laissez.server.auth import Principal, authenticate
from laissez.server.http.parser import RequestParser
from laissez.server.http.request import (
    Request,
    bad_request,
    line_of_address,
    read_headers,
    read_secret,
)
from laissez.server.http.response import INTERNAL, Headers, date_line, lines, problem_parts
from laissez.server.http.signin import signed_in
from laissez.server.websocket.connection import Connection
from laissez.wire.problems import Code, ProblemError

if TYPE_CHECKING:
    from laissez.server.http.app import App

READ_BYTES = 1_024  # at a time: as many requests as fit may be read beyond the bound below
BODY_READ_BYTES = 65_536  # of a body whose length is known
REQUESTS_MAX = 16  # waiting on one connection: each takes some kilobytes
BODY_BUFFER_BYTES = 65_536  # of a body that nobody reads yet
KEEP_ALIVE_S = 75.0
# After a refusal what still arrives is thrown away: closing at once could take the refusal from the
# peer before it reads it.
LINGER_S = 1.0
FULL_RETRY_AFTER_S = 5.0
SESSION = "/v1/session"
CONSOLE = "/console/"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# monitoring must see it when the service is behind
NEVER_WAIT = frozenset({"/healthz", "/readyz", "/metrics"})
OTHER = "other"  # the operation of a request that is for none

LATE = {
    "head": "expected the address and the headers within {:g} seconds, found a part of them",
    "body": "expected the whole body within {:g} seconds, found a part of it; nothing was done",
}
SESSION_LATER = "expected a request for a session once all before it on the connection is answered"

_OVERLOADED = overloaded()

logger = logging.getLogger(__name__)


class Queued(msgspec.Struct, eq=False):
    """A request in the fair queue. Turning it away costs little: its body is not read."""

    connection: HttpConnection
    request: Request
    principal: Principal | None

    def carry_out(self, may_go_on: Callable[[], bool]) -> bool:
        if not self.request.is_gone:
            self.connection.begin_queued(self.request)
        return True

    def turn_away(self) -> int:
        if not self.request.is_gone:
            self.connection.turn_away(self.request, self.principal)
        return 1


class HttpConnection(asyncio.Protocol):
    def __init__(self, app: App) -> None:
        self._app = app
        self._limits = app.site.gateway.limits
        self._refusals = app.site.gateway.refusals
        self._queue = app.site.gateway.admission.queue
        self._loop = asyncio.get_running_loop()
        self._parser = RequestParser(self)
        self.transport: asyncio.Transport = None  # type: ignore[assignment]
        self._peer = ""
        self._is_proxy = False
        self._unread = bytearray()
        self._requests: deque[Request] = deque()
        self._latest: Request | None = None  # the last whose head has arrived
        self._is_advancing = False
        self._handshake: Request | None = None  # for a session
        # a refusal that waits until the requests before it are answered
        self._refusal: ProblemError | None = None
        self._is_over = False  # nothing that still arrives matters
        self._writable: asyncio.Event | None = None  # while the peer does not read
        # deadlines: the timer may be early, and is then set again
        self._expects = ""
        self._expects_of = 0  # the request that it is about
        self._idle_s = self._limits.head_within_s
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    # -- the connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self._peer = str(peer[0]) if isinstance(peer, tuple) else ""
        self._is_proxy = self._app.trusts(self._peer)
        self._app.connections[self] = None
        most = self._limits.connections_max
        if len(self._app.connections) <= most:
            self._watch()
            return
        words = f"expected at most {most} connections at a time; try again in a moment"
        self._say(ProblemError(Code.OVERLOADED, words, FULL_RETRY_AFTER_S))
        self.transport.close()  # at once: those that linger would be too many, too

    def connection_lost(self, error: Exception | None) -> None:
        self._app.connections.pop(self, None)
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
        for request in self._requests:
            request.lose()
        self._requests.clear()
        self.resume_writing()

    def shutdown(self) -> None:
        """Answer what has arrived and close. What has arrived only in part is not waited for."""
        if self._is_over:
            self.transport.close()
        elif (self._parser.in_head or self._parser.in_body) and self._refusal is None:
            self._refuse(stopping())
        elif self._requests:
            self._requests[-1].keep_alive = False
        else:
            self.transport.close()

    def pause_writing(self) -> None:
        self._writable = asyncio.Event()

    def resume_writing(self) -> None:
        writable, self._writable = self._writable, None
        if writable is not None:
            writable.set()
            self._advance()
            self._watch()

    # -- bytes in

    def data_received(self, data: bytes) -> None:
        if not self._hears:
            return
        if self._expects == "idle" and self._idle_s == KEEP_ALIVE_S:
            self._expects, self._idle_s = "", self._limits.head_within_s
        if self._unread or len(data) > READ_BYTES:
            self._unread += data
            self._read_on()
        else:
            self._feed(data)
            self._after_reading()

    def eof_received(self) -> None:
        """Close: a request that has arrived in part will not be completed."""

    @property
    def _hears(self) -> bool:
        return not self._is_over and self._refusal is None

    def _read_on(self) -> None:
        """Read as long as few requests wait: a client that sends ahead waits for itself."""
        while self._unread and self._hears and self._has_room():
            size = max(READ_BYTES, min(self._parser.body_left, BODY_READ_BYTES))
            piece = bytes(self._unread[:size])
            del self._unread[:size]
            self._feed(piece)
        self._after_reading()

    def _after_reading(self) -> None:
        if not self._hears:
            self._unread.clear()
        elif not self.transport.is_closing():
            if self._unread or not self._has_room():
                self.transport.pause_reading()
            elif not self.transport.is_reading():
                self.transport.resume_reading()
        self._advance()
        self._watch()

    def _has_room(self) -> bool:
        latest = self._latest
        return len(self._requests) <= REQUESTS_MAX and (
            latest is None or latest.body_bytes <= BODY_BUFFER_BYTES
        )

    def _feed(self, data: bytes) -> None:
        try:
            is_upgrade = self._parser.feed(data)
        except ProblemError as problem:
            self._refuse(problem)
            return
        if is_upgrade:
            self._unread.clear()
            self._upgrade()

    def wants_body(self, request: Request) -> None:
        """An operation waits for the body."""
        if request.expects_continue:
            request.expects_continue = False
            self.transport.write(CONTINUE)
        self._resume_reading()

    def _resume_reading(self) -> None:
        """Read again, first what has arrived already."""
        if self._unread:
            self._loop.call_soon(self._read_on)
        elif self._hears and not self.transport.is_closing():
            self.transport.resume_reading()

    # -- called by the parser

    def head_arrived(self, request: Request) -> None:
        request.client = self._client(request.headers)
        if request.is_upgrade and self._is_session(request):
            self._handshake = request
        else:
            self._latest = request
            self._requests.append(request)

    def body_arrived(self, piece: bytes) -> None:
        request = self._latest
        # what was answered early, or cannot become a session, is not listened to any more
        if request is not None and not request.is_started and self._handshake is None:
            request.add(piece)

    def request_complete(self) -> None:
        if self._latest is not None and self._handshake is None:
            self._latest.is_complete = True
            self._latest.wake()

    def _client(self, headers: Headers) -> str:
        """The peer, or the client that a trusted proxy names: the last address that is no trusted
        proxy itself."""
        if not self._is_proxy:
            return self._peer
        sent = [value for name, value in headers if name == b"x-forwarded-for"]
        if not sent:
            return self._peer
        hosts = [host.strip() for host in b",".join(sent).decode("latin-1").split(",")]
        return next((host for host in reversed(hosts) if not self._app.trusts(host)), hosts[0])

    # -- WebSocket

    def _is_session(self, request: Request) -> bool:
        upgrades = [value.lower() for name, value in request.headers if name == b"upgrade"]
        is_there = self._app.sessions is not None and request.path == SESSION
        return is_there and b"websocket" in upgrades

    def _upgrade(self) -> None:
        """Hand the connection over to a session. Other upgrades are passed over."""
        request = self._handshake
        if request is None:
            return
        if self._requests:
            self._refuse(bad_request(SESSION_LATER))
            return
        start = b"%b %b HTTP/1.1\r\n" % (request.method.encode(), request.target)
        head = start + lines(request.headers) + b"\r\n"
        session = Connection(self._app, self.transport, request.client, request.headers)
        problem = session.read_handshake(head)
        if problem is not None:
            self._refuse(problem)
            return
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
        self._app.connections.pop(self)
        self.transport.set_protocol(session)
        session.begin()

    # -- requests to the application

    def _advance(self) -> None:
        """Begin the next request once all before it are answered and the peer reads."""
        if self._is_advancing:
            return
        self._is_advancing = True
        try:
            while (
                self._requests
                and not (request := self._requests[0]).is_begun
                and self._writable is None
                and not self.transport.is_closing()
            ):
                request.is_begun = True
                self._begin(request)
        finally:
            self._is_advancing = False

    def _begin(self, request: Request) -> None:
        # a console file is sent from memory; a page that lacks one is broken until reloaded
        never_waits = request.path in NEVER_WAIT or request.path.startswith(CONSOLE)
        if self._queue.may_begin() or never_waits:
            self._serve(request)
            return
        principal = self._principal(request)
        line = line_of_address(request.scope) if principal is None else principal.holder
        self._queue.wait(line, Queued(self, request, principal))

    def begin_queued(self, request: Request) -> None:
        self._queue.begun()
        self._serve(request)

    def turn_away(self, request: Request, principal: Principal | None) -> None:
        self._refusals.note(_OVERLOADED, OTHER, principal, request.scope)
        request.answer(*_TURNED_AWAY)

    def _principal(self, request: Request) -> Principal | None:
        """Whose request it is, if anybody's."""
        site = self._app.site
        try:
            headers = read_headers(request.headers)
            if b"authorization" in headers:
                return authenticate(site.gateway.exchange.keys, read_secret(headers))
            return signed_in(site.signins, headers, changes=False)
        except ProblemError:
            return None

    def _serve(self, request: Request) -> None:
        serving = self._app.serve(request)
        try:
            awaited = serving.send(None)
        except StopIteration:
            return
        except Exception as error:
            self._bug(request, error)
            return
        self._app.start(self._serve_on(request, _resumed(serving, awaited)))

    async def _serve_on(self, request: Request, serving: Coroutine[Any, Any, None]) -> None:
        try:
            await serving
        except Exception as error:
            self._bug(request, error)
        if not request.is_gone and self._requests and self._requests[0] is request:
            self.transport.close()  # a stream whose peer does not read was given up

    def _bug(self, request: Request, error: Exception) -> None:
        logger.error("bug in the answer to a request", exc_info=error)
        if request.is_started:
            self.transport.abort()
        else:
            request.refuse(INTERNAL, [])

    # -- answers out

    def answer(self, request: Request, head: bytes, body: bytes) -> None:
        if self._start(request, head, body):
            self._answered(request)

    def begin_stream(self, request: Request, head: bytes) -> None:
        """In chunks, or until the end of the connection for HTTP/1.0, which knows none."""
        chunked = b"transfer-encoding: chunked\r\n" if request.version == "1.1" else b""
        self._start(request, head + chunked, b"")

    def _start(self, request: Request, head: bytes, body: bytes) -> bool:
        if not self._can_send(request):
            return False
        assert not request.is_started
        request.is_started = True
        last = b"\r\n" if request.keep_alive else b"connection: close\r\n\r\n"
        self.transport.write(b"".join((head, date_line(), last, body)))
        return True

    def _can_send(self, request: Request) -> bool:
        return not request.is_gone and not self.transport.is_closing()

    async def send_piece(self, request: Request, piece: bytes) -> None:
        if self._writable is not None:
            await self._writable.wait()
        if self._can_send(request):
            chunk = b"%x\r\n%b\r\n" % (len(piece), piece)
            self.transport.write(chunk if request.version == "1.1" else piece)

    def end_stream(self, request: Request) -> None:
        if self._can_send(request):
            if request.version == "1.1":
                self.transport.write(b"0\r\n\r\n")
            self._answered(request)

    def _answered(self, request: Request) -> None:
        assert self._requests[0] is request
        self._requests.popleft()
        request.discard_body()
        if not request.keep_alive:
            self._is_over = True
            self.transport.close()
        elif self._refusal is not None:
            if not self._requests:
                self._say(self._refusal)
            else:
                self._advance()
        else:
            self._idle_s = KEEP_ALIVE_S
            if not self.transport.is_reading():
                self._resume_reading()
            if not self._is_advancing:
                self._advance()
                self._watch()

    # -- deadlines

    def _watch(self) -> None:
        """Give the peer a deadline if it must send something now; none while it is us who work."""
        expects = self._must_send()
        # of each request anew, also if the one before it was waited for in the same way
        if (expects, self._parser.begun) == (self._expects, self._expects_of):
            return
        self._expects, self._expects_of = expects, self._parser.begun
        if expects:
            self._due = self._loop.time() + self._within_s(expects)
            if self._timer is None:
                self._timer = self._loop.call_at(self._due, self._look)
            elif self._timer.when() > self._due:
                self._timer.cancel()
                self._timer = self._loop.call_at(self._due, self._look)

    def _must_send(self) -> str:
        if self._is_over or self._refusal is not None:
            return ""
        if self._parser.in_head:
            return "head"
        if self._parser.in_body:
            return "body"
        return "" if self._requests else "idle"

    def _within_s(self, expects: str) -> float:
        if expects == "head":
            return self._limits.head_within_s
        return self._limits.body_within_s if expects == "body" else self._idle_s

    def _look(self) -> None:
        """The timer is up; the deadline may have moved since it was set."""
        self._timer = None
        if not self._expects:
            return
        if self._loop.time() < self._due:
            self._timer = self._loop.call_at(self._due, self._look)
            return
        expected, self._expects = self._expects, ""
        if not self.transport.is_reading():  # it is we who do not read
            self._watch()
        elif expected == "idle":
            self.transport.close()
        else:
            words = LATE[expected].format(self._within_s(expected))
            self._refuse(ProblemError(Code.REQUEST_TIMEOUT, words))

    # -- refusals of what cannot be read

    def _refuse(self, problem: ProblemError) -> None:
        """Refuse in order: after the answers to all requests before."""
        latest = self._latest
        if self._parser.in_body and self._handshake is None and latest is not None:
            if latest.is_started:  # it was answered early
                self.transport.close()
                return
            latest.lose()
            self._requests.pop()
        if self._requests:
            self._refusal = problem
            self._watch()
            if not self.transport.is_closing():
                self.transport.pause_reading()
        else:
            self._say(problem)

    def _say(self, problem: ProblemError) -> None:
        """The last words of a connection."""
        self._refusals.note(problem, OTHER, None, {"client": (self._peer, 0)})
        if self.transport.is_closing():
            return
        self._is_over = True
        head, body = problem_parts(problem, [(b"connection", b"close")])
        self.transport.write(b"".join((head, date_line(), b"\r\n", body)))
        self.transport.write_eof()
        self.transport.resume_reading()
        self._loop.call_later(LINGER_S, self.transport.close)


_TURNED_AWAY = problem_parts(_OVERLOADED, [])


@coroutine
def _resumed(serving: Coroutine[Any, Any, None], awaited: Any) -> Generator[Any, Any, None]:
    """Go on, in a task, with a coroutine that has already run up to its first `await`."""
    while True:
        try:
            yield awaited
        except BaseException as error:
            resume, given = serving.throw, error
        else:
            resume, given = serving.send, None  # type: ignore[assignment]
        try:
            awaited = resume(given)
        except StopIteration:
            return
