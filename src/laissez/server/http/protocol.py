"""The HTTP/1.1 connection: bytes in, requests to the application, answers out in order.

httptools parses. The rest is here: limits on connections and heads, deadlines for slow clients,
pipelining, keep-alive, backpressure in both directions, and refusals of unreadable requests, sent
once all earlier requests are answered.

Requests of one connection are answered in order. `_requests` holds the arrived ones; the first is
under way. A request begins at once if the service keeps up, and otherwise waits in the fair queue.

A body is bounded by the operation that reads it. A head, and the chunk sizes and trailers around a
body, are bounded here, so no client can make a connection keep more than a few kilobytes of them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from hmac import compare_digest
from typing import TYPE_CHECKING, Any, cast

import httptools
import msgspec

from laissez.server.admission import overloaded, stopping
from laissez.server.auth import Principal, authenticate
from laissez.server.http.endpoint import NEVER_WAIT, OTHER, authenticated
from laissez.server.http.messages import (
    Headers,
    Request,
    bad_request,
    line_of_address,
    problem_parts,
    read_secret,
    written,
)
from laissez.server.websocket.connection import Connection
from laissez.wire.limits import HEAD_BYTES_MAX
from laissez.wire.problems import Code, ProblemError

if TYPE_CHECKING:
    from laissez.server.http.app import App

READ_BYTES = 1_024  # at a time; may overshoot REQUESTS_MAX by the requests that fit
BODY_READ_BYTES = 65_536  # of a body whose length is known
REQUESTS_MAX = 16  # waiting on one connection: each takes some kilobytes
KEEP_ALIVE_S = 75.0
# After a refusal, discard further input for a while: closing at once could reset the connection
# before the peer reads the refusal.
LINGER_S = 1.0
FULL_RETRY_AFTER_S = 5.0
SESSION = "/v1/session"
CONSOLE = "/console/"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
VERSIONS = ("1.0", "1.1")
HEAD = "an address and headers"
TRAILERS = "chunk sizes and trailers"
LATE = {
    "head": "expected the address and the headers within {:g} seconds, found a part of them",
    "body": "expected the whole body within {:g} seconds, found a part of it; nothing was done",
}
SESSION_LATER = "expected a request for a session once all before it on the connection is answered"

_OVERLOADED = overloaded()
_TURNED_AWAY = problem_parts(_OVERLOADED)


class Queued(msgspec.Struct, eq=False):
    """A request in the fair queue. Turning it away costs little: its body is not read."""

    connection: HttpConnection
    request: Request
    principal: Principal | None

    def carry_out(self, may_go_on: Callable[[], bool]) -> bool:
        if not self.request.is_gone:
            self.connection.app.serve(self.request)
        return True

    def turn_away(self) -> int:
        if not self.request.is_gone:
            self.connection.turn_away(self.request, self.principal)
        return 1


class HttpConnection(asyncio.Protocol):
    def __init__(self, app: App) -> None:
        gateway = app.site.gateway
        self.app = app
        self._gateway = gateway
        self._limits = gateway.limits
        self._queue = gateway.admission.queue
        self._loop = asyncio.get_running_loop()
        self.transport: asyncio.Transport = None  # type: ignore[assignment]
        self._peer = ""
        self._is_proxy = False
        # the last header with a key, and its principal
        self._known: tuple[bytes, Principal | None] = b"", None
        # parsing
        self._parser = httptools.HttpRequestParser(self)
        self._unread = bytearray()
        self._is_paused = False
        self._in_head = False
        self._in_body = False
        self._body_left = 0  # if its length is known
        self._beside_body = 0  # bytes of the head so far, or of chunk sizes and trailers
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._repeated: Headers = []
        # requests
        self._requests: deque[Request] = deque()
        self._latest: Request | None = None  # the last one whose head has arrived
        self._is_advancing = False
        self._handshake: Request | None = None  # for a session
        # a refusal that waits until the requests before it are answered
        self._refusal: ProblemError | None = None
        self._hears = True  # if not, further input is ignored
        self._writable: asyncio.Event | None = None  # while the peer does not read
        # deadlines
        self._since = 0.0  # the start of the current deadline
        self._idle_s = self._limits.head_within_s
        self._timer: asyncio.TimerHandle | None = None

    # -- the connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self._peer = str(peer[0]) if isinstance(peer, tuple) else ""
        self._is_proxy = self.app.trusts(self._peer)
        self.app.connections[self] = None
        most = self._limits.connections_max
        if len(self.app.connections) <= most:
            self._since = self._loop.time()
            self._look()
            return
        words = f"expected at most {most} connections at a time; try again in a moment"
        self._say(ProblemError(Code.OVERLOADED, words, FULL_RETRY_AFTER_S))
        self.transport.close()  # at once: lingering connections count, too

    def connection_lost(self, error: Exception | None) -> None:
        self.app.connections.pop(self, None)
        self._end()
        for request in self._requests:
            request.lose()
        self._requests.clear()
        self.resume_writing()

    def _end(self) -> None:
        self._hears = False
        if self._timer is not None:
            self._timer.cancel()

    def shutdown(self) -> None:
        """Answer complete requests, then close. Incomplete requests are not waited for."""
        if self._hears and (self._in_head or self._in_body):
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

    # -- bytes in

    def data_received(self, data: bytes) -> None:
        if not self._hears:
            return
        if self._idle_s == KEEP_ALIVE_S:
            self._since, self._idle_s = self._loop.time(), self._limits.head_within_s
        if self._unread or len(data) > READ_BYTES:
            self._unread += data
            self._read_on()
        else:
            self._feed(data)
            self._after_reading()

    def eof_received(self) -> None:
        """Close: an incomplete request will never be completed."""

    def _read_on(self) -> None:
        """Read while few requests wait: a client that pipelines waits for its own requests."""
        while self._unread and self._hears and self._has_room():
            size = max(READ_BYTES, min(self._body_left, BODY_READ_BYTES))
            piece = bytes(self._unread[:size])
            del self._unread[:size]
            self._feed(piece)
        self._after_reading()

    def _after_reading(self) -> None:
        if not self._hears:
            self._unread.clear()
        elif self._unread or not self._has_room():
            self._pause_reading()
        elif self._is_paused:
            self._resume_reading()
        self._advance()

    def _has_room(self) -> bool:
        latest = self._latest
        return len(self._requests) <= REQUESTS_MAX and (
            latest is None or latest.body_bytes <= latest.body_bytes_max
        )

    def _pause_reading(self) -> None:
        if not self._is_paused and not self.transport.is_closing():
            self._is_paused = True
            self.transport.pause_reading()

    def _resume_reading(self) -> None:
        """Resume reading, starting with buffered input."""
        if self._unread:
            self._loop.call_soon(self._read_on)
        elif self._is_paused and self._hears and not self.transport.is_closing():
            self._is_paused = False
            self.transport.resume_reading()

    def wants_body(self, request: Request) -> None:
        """An operation waits for the body."""
        if request.expects_continue:
            request.expects_continue = False
            self.transport.write(CONTINUE)
        self._resume_reading()

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # later input is not parsed
            self._in_body = False
            self._unread.clear()
            self._upgrade()
        except httptools.HttpParserError as error:
            self._refuse(_problem(error))
        else:
            if self._in_head or self._in_body:
                self._beside_body += len(data)
                # a head may begin after other bytes, which were counted too
                if self._beside_body > HEAD_BYTES_MAX + READ_BYTES:
                    self._refuse(_too_long(HEAD if self._in_head else TRAILERS))

    # -- called by httptools

    def on_message_begin(self) -> None:
        self._url = b""
        self._headers = {}
        self._repeated = []
        self._in_head = True
        self._beside_body = 0
        self._since = self._loop.time()

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Ignore trailers: they come too late to change anything."""
        if self._in_head:
            name = name.lower()
            if name in self._headers:
                self._repeated.append((name, value))
            else:
                self._headers[name] = value

    def on_headers_complete(self) -> None:
        parser, headers = self._parser, self._headers
        is_lasting = parser.should_keep_alive()
        # Only HTTP/1.1 keeps connections open by default. Asking the parser is slower.
        version = "1.1"
        if not is_lasting or b"connection" in headers:
            version = parser.get_http_version()
        if version != "1.1" or b"host" not in headers or self._repeated:
            self._check_head(version)
        request = Request(self, parser.get_method().decode(), self._url, version, headers)
        request.repeated = self._repeated
        request.client = self._client(request) if self._is_proxy else self._peer
        # After an upgrade the protocol is unknown, so this request is the last.
        is_upgrade = parser.should_upgrade()
        request.keep_alive = is_lasting and version == "1.1" and not is_upgrade
        if b"expect" in headers and version == "1.1":
            request.expects_continue = headers[b"expect"].lower() == b"100-continue"
        self._body_left = request.size
        if is_upgrade and self._is_session(request):
            self._handshake = request
        else:
            self._latest = request
            self._requests.append(request)
        self._in_head, self._in_body = False, True
        self._beside_body = 0
        self._since = self._loop.time()

    def _check_head(self, version: str) -> None:
        if version not in VERSIONS:
            raise bad_request(f"expected a request of HTTP/1.1 or 1.0, found one of {version}")
        hosts = [*self._headers, *[name for name, _ in self._repeated]].count(b"host")
        if hosts != 1 and version == "1.1":
            raise bad_request(f"expected the header host once, found it {hosts} times")

    def _client(self, request: Request) -> str:
        """The client that a trusted proxy names: the last address that is no trusted proxy
        itself."""
        if b"x-forwarded-for" not in request.headers:
            return self._peer
        sent = request.all_of(b"x-forwarded-for").decode("latin-1")
        hosts = [host.strip() for host in sent.split(",")]
        return next((host for host in reversed(hosts) if not self.app.trusts(host)), hosts[0])

    def on_body(self, piece: bytes) -> None:
        self._beside_body -= len(piece)
        self._body_left -= len(piece)
        request = self._latest
        # ignore the body of a request that was answered early or asked for a session
        if request is not None and not request.is_started and self._handshake is None:
            request.add(piece)

    def on_message_complete(self) -> None:
        self._in_body = False
        self._body_left = 0
        if self._latest is not None and self._handshake is None:
            self._latest.complete()

    # -- WebSocket

    def _is_session(self, request: Request) -> bool:
        if self.app.sessions is None or request.path != SESSION:
            return False
        wanted = request.all_of(b"upgrade").lower().split(b",")
        return b"websocket" in [one.strip() for one in wanted]

    def _upgrade(self) -> None:
        """Hand the connection over to a session. Other upgrades are ignored."""
        request = self._handshake
        if request is None:
            return
        if self._requests:
            self._refuse(bad_request(SESSION_LATER))
            return
        headers = [*request.headers.items(), *request.repeated]
        start = b"%b %b HTTP/1.1\r\n" % (request.method.encode(), request.target)
        lines = b"".join([b"%b: %b\r\n" % header for header in headers])
        session = Connection(self.app, self.transport, request.client, headers)
        problem = session.read_handshake(b"%b%b\r\n" % (start, lines))
        if problem is not None:
            self._refuse(problem)
            return
        self._end()
        self.app.connections.pop(self)
        self.transport.set_protocol(cast(asyncio.Protocol, session))
        session.begin()

    # -- requests to the application

    def _advance(self) -> None:
        """Begin the next request once all earlier ones are answered and the peer reads."""
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
        # never delay a console file: it is sent from memory, and a page that lacks one is broken
        path = request.path
        if self._queue.may_begin() or path in NEVER_WAIT or path.startswith(CONSOLE):
            self.app.serve(request)
            return
        principal = self._caller(request)
        line = line_of_address(request.scope) if principal is None else principal.holder
        self._queue.wait(line, Queued(self, request, principal))

    def turn_away(self, request: Request, principal: Principal | None) -> None:
        self._gateway.refusals.note(_OVERLOADED, OTHER, principal, request.scope)
        request.answer(*_TURNED_AWAY)

    def _caller(self, request: Request) -> Principal | None:
        """The principal of a request, if it has a valid key."""
        try:
            return authenticated(self.app.site, request, changes=False)
        except ProblemError:
            return None

    def authenticate(self, authorization: bytes) -> Principal | None:
        """The principal of an `Authorization` header. Consecutive requests mostly have the same
        one, which need not be hashed again."""
        keys = self._gateway.exchange.keys
        known, principal = self._known
        if (
            principal is None
            or not compare_digest(authorization, known)
            or keys[principal.key].revoked_at is not None
        ):
            principal = authenticate(keys, read_secret(authorization))
            self._known = authorization, principal
        return principal

    def go_on(self, work: Coroutine[Any, Any, None]) -> None:
        """Serve a request in a task."""
        self._queue.begun()
        self.app.start(work)

    # -- answers out

    async def until_writable(self) -> None:
        if self._writable is not None:
            await self._writable.wait()

    def answered(self, request: Request) -> None:
        """The answer is written: go on with the next request."""
        assert self._requests[0] is request
        self._requests.popleft()
        request.discard_body()
        if not request.keep_alive:
            self._hears = False
            self.transport.close()
            return
        if self._refusal is not None and not self._requests:
            self._say(self._refusal)
            return
        self._idle_s = KEEP_ALIVE_S
        self._since = self._loop.time()
        if self._is_paused:
            self._resume_reading()
        if self._requests and not self._is_advancing:
            # not here: answers to other clients may have to leave first
            self._loop.call_soon(self._advance)

    # -- deadlines

    def _look(self) -> None:
        """Enforce the current deadline of the peer, if any. No deadline is shorter than the time
        between two looks, so none is missed."""
        if not self._hears:
            return
        expected, within_s = self._must_send()
        now = self._loop.time()
        if self._is_paused or not expected:  # the peer waits for us
            self._since = now
        due = self._since + within_s
        if now < due:
            shortest_s = min(self._limits.head_within_s, self._limits.body_within_s)
            self._timer = self._loop.call_at(min(due, now + shortest_s), self._look)
        elif expected == "idle":
            self.transport.close()
        else:
            words = LATE[expected].format(within_s)
            self._refuse(ProblemError(Code.REQUEST_TIMEOUT, words))

    def _must_send(self) -> tuple[str, float]:
        """The input that the peer must send now, and the time it has; empty if the peer waits for
        us."""
        if self._in_head:
            return "head", self._limits.head_within_s
        if self._in_body:
            return "body", self._limits.body_within_s
        return "" if self._requests else "idle", self._idle_s

    # -- refusals of unreadable requests

    def _refuse(self, problem: ProblemError) -> None:
        """Refuse, after the answers to all earlier requests."""
        latest = self._latest
        if self._in_body and self._handshake is None and latest is not None:
            if latest.is_started:  # it was answered early
                self.transport.close()
                return
            latest.lose()
            self._requests.pop()
        if self._requests:
            self._refusal = problem
            self._hears = False
            self._pause_reading()
        else:
            self._say(problem)

    def _say(self, problem: ProblemError) -> None:
        """Send a final refusal and close."""
        self._gateway.refusals.note(problem, OTHER, None, {"client": (self._peer, 0)})
        self._hears = False
        if self.transport.is_closing():
            return
        head, body = problem_parts(problem)
        self.transport.write(written(head, "connection: close\r\n") + body)
        self.transport.write_eof()
        self.transport.resume_reading()
        self._loop.call_later(LINGER_S, self.transport.close)


def _problem(error: httptools.HttpParserError) -> ProblemError:
    cause = error.__context__  # an error in a callback of ours
    if isinstance(cause, ProblemError):
        return cause
    words = str(error).strip() if cause is None else f"invalid request target: {cause}"
    return bad_request(f"expected a request of HTTP/1.1, found an invalid one: {words[:200]}")


def _too_long(what: str) -> ProblemError:
    return bad_request(f"expected {what} of at most {HEAD_BYTES_MAX} bytes, found more")
