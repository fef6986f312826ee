"""The connection of a request, with bounds that uvicorn does not have: on how long heads and
trailers are, on how long they and bodies may take, on how many connections there are. And what
cannot be read is a problem like any other, told once what came before it has been answered.
"""

from __future__ import annotations

import re
from asyncio import TimerHandle, Transport
from typing import Any
from urllib.parse import unquote_to_bytes

import httptools
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from laissez.server.admission import stopping
from laissez.server.handshake import no_handshake
from laissez.server.http.outgoing import EVERY, PROBLEM, encode, problem_headers
from laissez.server.settings import Limits
from laissez.wire.limits import HEAD_BYTES_MAX
from laissez.wire.problems import Code, ProblemError

READ_BYTES = 1_024  # at a time: so many requests as that holds may be read beyond the bound
# requests that are read while one before them on the connection is not answered: each takes some
# kilobytes
WAITING_MAX = 16
# after a refusal what still comes is thrown away: to close at once could take the refusal from the
# peer before it reads it
LINGERS_S = 1.0
FULL_RETRY_AFTER_S = 5.0
VERSIONS = ("1.0", "1.1")

_PERCENT_BROKEN = re.compile(rb"%(?![0-9A-Fa-f]{2})")


class BoundedHeads(HttpToolsProtocol):
    def __init__(self, *arguments: Any, limits: Limits, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._limits = limits
        self._arrived = bytearray()  # and not read yet
        self._in_head = False
        self._in_body = False
        self._begun = 0  # requests
        self._head_bytes = 0
        self._body_bytes = 0
        self._frame_bytes = 0  # that came with a body and are not of it: sizes of chunks, trailers
        self._trailer_bytes = 0
        # what is answered now; `cycle` is what came last
        self._under_way: RequestResponseCycle | None = None
        self._deadline: TimerHandle | None = None
        # waits until what came before it has been answered
        self._refusal: ProblemError | None = None
        self._is_over = False  # nothing that still comes matters

    # -- the connection

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        most = self._limits.connections_max
        if len(self.connections) > most:
            self._say(
                ProblemError(
                    Code.OVERLOADED,
                    f"expected at most {most} connections at a time; try again in a moment",
                    FULL_RETRY_AFTER_S,
                )
            )
            self.transport.close()  # at once: those that linger would be too many, too
        else:
            self._arm(self._limits.head_within_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """Also for what is under way: to write to a connection that is gone is a bug to the event
        loop."""
        self._disarm()
        if self._under_way is not None and not self._under_way.response_complete:
            self._under_way.disconnected = True
            self._under_way.message_event.set()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """At the end of the server. What has come only in part is not waited for."""
        if self._is_over:
            self.transport.close()
        elif (self._in_head or self._in_body) and self._refusal is None:
            self._refuse(stopping())
        else:
            super().shutdown()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._under_way = cycle
        super()._start_asgi_task(cycle, app)

    def data_received(self, data: bytes) -> None:
        if not self._hears:
            return
        self._unset_keepalive_if_required()
        self._arrived += data
        self._read_on()

    @property
    def _hears(self) -> bool:
        return not self._is_over and self._refusal is None

    def _read_on(self) -> None:
        """As far as what was read before is answered: whoever sends requests ahead waits for
        itself."""
        while self._arrived and self._hears and len(self.pipeline) < WAITING_MAX:
            piece = bytes(self._arrived[:READ_BYTES])
            del self._arrived[:READ_BYTES]
            self._read(piece)
        if not self._hears:
            self._arrived.clear()
        elif self._arrived:
            self.flow.pause_reading()
        self._watch()

    def _read(self, data: bytes) -> None:
        was_in_body, body_before = self._in_body, self._body_bytes
        # if no more are begun, all that came is of one request
        alone = self._begun + (not self._in_head and not was_in_body)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._arrived.clear()
            self._upgrade()
        except httptools.HttpParserError as error:
            self._refuse(_problem(error))
        else:
            if self._begun <= alone:
                self._count(len(data), was_in_body, self._body_bytes - body_before)

    def _upgrade(self) -> None:
        """To a session; what else is asked for is passed over, and since nobody can tell in which
        protocol more would come, this is the last."""
        if self._should_upgrade():
            self._in_body = False
            problem = self._no_handshake()
            if problem is not None:
                self._refuse(problem)
                return
            self._is_over = True
            self._disarm()
            self.handle_websocket_upgrade()
        elif self.cycle is not None:
            self.cycle.keep_alive = False
            self._in_body = False

    def _no_handshake(self) -> ProblemError | None:
        """While an answer is under way, it would come in the middle of the session."""
        if self.cycle is not None and not self.cycle.response_complete:
            return ProblemError(
                Code.BAD_REQUEST,
                "expected a request for a session once all before it on the connection is answered",
            )
        return no_handshake(self.scope["method"].encode(), self.url, self.headers, self.logger)

    def _count(self, size: int, was_in_body: bool, body_size: int) -> None:
        """What comes piece by piece: of a head that is not complete yet, and of what is around a
        body. The piece in which a request begins behind others is not counted: nobody can tell how
        much of it is whose, and it is no longer than what is read at once."""
        if self._in_head:
            self._head_bytes += size
            if self._head_bytes > HEAD_BYTES_MAX:
                self._refuse(_head_too_long())
        elif was_in_body and self._in_body:
            self._frame_bytes += size - body_size
            if self._frame_bytes > HEAD_BYTES_MAX:
                self._refuse(_trailers_too_long())

    # -- in time

    def _watch(self) -> None:
        """Somebody must send something now: within so long, or the connection ends. Not so while an
        answer is worked out or waited for."""
        is_idle = self.cycle is None or self.cycle.response_complete
        if self._is_over or not (self._in_head or self._in_body or is_idle):
            self._disarm()
        elif self._deadline is None:
            self._arm(self._limits.body_within_s if self._in_body else self._limits.head_within_s)

    def _arm(self, within_s: float) -> None:
        self._disarm()
        self._deadline = self.loop.call_later(within_s, self._too_late)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        self._deadline = None
        if self.flow.read_paused:  # it is we who do not read
            self._watch()
        elif self._in_head:
            self._refuse(
                _timeout(
                    f"expected the address and the headers within {self._limits.head_within_s:g}"
                    " seconds, found a part of them"
                )
            )
        elif self._in_body:
            self._refuse(
                _timeout(
                    f"expected the whole body within {self._limits.body_within_s:g} seconds, found"
                    " a part of it; nothing was done"
                )
            )
        else:
            self.transport.close()

    # -- what is read

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._disarm()
        self._in_head = True
        self._begun += 1
        self._head_bytes = self._body_bytes = self._frame_bytes = self._trailer_bytes = 0

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > HEAD_BYTES_MAX:
            raise _head_too_long()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A trailer is not listened to: it comes after what it would change has been decided."""
        if self._in_head:
            super().on_header(name, value)
            return
        self._trailer_bytes += len(name) + len(value) + 4
        if self._trailer_bytes > HEAD_BYTES_MAX:
            raise _trailers_too_long()

    def on_headers_complete(self) -> None:
        self._check_head()
        super().on_headers_complete()
        self._in_head, self._in_body = False, True

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._disarm()
        self._in_body = False
        super().on_message_complete()

    def _check_head(self) -> None:
        if (
            len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
            > HEAD_BYTES_MAX
        ):
            raise _head_too_long()
        version = self.parser.get_http_version()
        if version not in VERSIONS:
            raise ProblemError(
                Code.BAD_REQUEST, f"expected a request of HTTP/1.1 or 1.0, found one of {version}"
            )
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts != 1 and version == "1.1":
            raise ProblemError(
                Code.BAD_REQUEST, f"expected the header host once, found it {hosts} times"
            )
        if not self.url.startswith(b"/") and httptools.parse_url(self.url).path is None:
            raise ProblemError(
                Code.BAD_REQUEST,
                f"expected an address with a path, found {self.url[:200].decode('latin-1')!r}",
            )
        if b"%" in self.url:
            _check_percent(self.url)

    # -- what is refused

    def _refuse(self, problem: ProblemError) -> None:
        """Tell it in its turn: answers go in the order of their requests."""
        cycle = self.cycle
        if self._in_body:  # the latest request itself, which may have been answered early
            if self.pipeline and self.pipeline[0][0] is cycle:
                self.pipeline.popleft()
            elif cycle.response_started:
                self.transport.close()
                return
            else:
                cycle.disconnected = True
                cycle.message_event.set()
                self._say(problem)
                return
        elif cycle is None or cycle.response_complete:
            self._say(problem)
            return
        self._refusal = problem
        self._disarm()
        self.flow.pause_reading()

    def on_response_complete(self) -> None:
        if self._refusal is not None and not self.pipeline:
            self.server_state.total_requests += 1
            self._say(self._refusal)
            return
        super().on_response_complete()
        if self._arrived:
            self._read_on()

    def send_400_response(self, msg: str) -> None:
        self._say(ProblemError(Code.BAD_REQUEST, msg))

    def _say(self, problem: ProblemError) -> None:
        """The last words of a connection."""
        if self.transport.is_closing():
            return
        self._is_over = True
        self._disarm()
        body = encode(problem.problem())
        headers = [
            (b"content-type", PROBLEM),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
            *EVERY,
            *problem_headers(problem),
        ]
        lines = [
            b"%b: %b\r\n" % header for header in (*self.server_state.default_headers, *headers)
        ]
        self.transport.write(b"".join((STATUS_LINE[problem.status], *lines, b"\r\n", body)))
        self.transport.write_eof()
        self.flow.resume_reading()
        self.loop.call_later(LINGERS_S, self.transport.close)


def _problem(error: httptools.HttpParserError) -> ProblemError:
    cause = error.__context__  # of an error in one of our own methods, which the parser calls
    if isinstance(cause, ProblemError):
        return cause
    words = str(error).strip() if cause is None else f"the address is none: {cause}"
    return ProblemError(
        Code.BAD_REQUEST,
        f"expected a request of HTTP/1.1, found what cannot be read as one: {words[:200]}",
    )


def _check_percent(url: bytes) -> None:
    try:
        if _PERCENT_BROKEN.search(url):
            raise ValueError
        unquote_to_bytes(url).decode()
    except ValueError:
        raise ProblemError(
            Code.BAD_REQUEST, "the address cannot be read: expected percent-encoded UTF-8"
        ) from None


def _head_too_long() -> ProblemError:
    return ProblemError(
        Code.BAD_REQUEST,
        f"expected an address and headers of at most {HEAD_BYTES_MAX} bytes, found more",
    )


def _trailers_too_long() -> ProblemError:
    return ProblemError(
        Code.BAD_REQUEST,
        f"expected chunk sizes and trailers of at most {HEAD_BYTES_MAX} bytes, found more",
    )


def _timeout(words: str) -> ProblemError:
    return ProblemError(Code.REQUEST_TIMEOUT, words)
