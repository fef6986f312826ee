"""The WebSocket connection of a session: handshake, frames, pings and closing.

A complete data frame goes straight to the session, and the session writes its own frames: for
thousands of small frames, a general parser would cost more than the commands. Everything else
(handshake, pings, closing, fragmented messages, violations) goes through the parser of
`websockets`.

The first message is a hello. Nothing more is read until it is answered: with a session, or with a
refusal that closes the connection.
"""

from __future__ import annotations

import asyncio
import logging
import random
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol

try:
    from websockets.speedups import apply_mask
except ImportError:  # no compiled version for this platform
    from websockets.utils import apply_mask

from laissez.server.http.messages import line_of_address
from laissez.server.websocket.sessions import HELLO
from laissez.wire.codec import FRAME_CODECS, FrameCodec
from laissez.wire.problems import Code, ProblemError
from laissez.wire.session import JSON

if TYPE_CHECKING:
    from laissez.server.http.app import App

LAST_WORD_WITHIN_S = 1.0  # a peer that does not read by then gets no reason for the close
CLOSE_WITHIN_S = 10.0  # for the peer to answer a close

_BINARY, _TEXT = 0x82, 0x81  # the first byte of a message in one frame
_MASKED: Final = 0x80
_MASK_BYTES: Final = 4
_FRAMES_MAX = 1_000  # of one message: empty frames do not count against its size
_FRAMES_PER_REFUSAL = 32  # parsing this many frames costs about as much as a refusal
_CLOSE_NOT_TEXT, _CLOSE_TOO_BIG, _CLOSE_DEAD, _CLOSE_STOPPING = 1007, 1009, 1011, 1012
_SWITCHING = 101

# The parser logs headers, and keys in them, below this level.
_parser_log = logging.getLogger("laissez.websocket")
_parser_log.setLevel(logging.WARNING)
log = logging.getLogger(__name__)


class Receiver(Protocol):
    """The session of a connection, as the connection uses it."""

    def receive(self, payload: bytes) -> None:
        """Carry out a frame."""

    def flush(self) -> None:
        """The peer reads again."""

    def pay(self) -> float:
        """Count an answer that no rate limit covers; returns how long to delay the next."""

    def note(self, problem: ProblemError, operation: str) -> None:
        """Write a refusal to the audit log."""

    def lost(self) -> None:
        """The connection is lost, or will be closed."""


class Connection:
    """A protocol of asyncio."""

    def __init__(
        self,
        app: App,
        transport: asyncio.Transport,
        client: str,
        headers: list[tuple[bytes, bytes]],
    ) -> None:
        limits = app.site.gateway.limits
        self._app = app
        self._gateway = app.site.gateway
        self._limits = limits
        self.transport = transport
        self.headers = headers
        self.scope: dict[str, Any] = {"client": (client, 0)}  # for the audit log
        self._loop = asyncio.get_running_loop()
        self._bytes_max = limits.batch_bytes_max
        # No compression: replies are small, and it would cost more than the commands.
        self._parser = ServerProtocol(max_size=self._bytes_max, logger=_parser_log)
        self._response: Response | None = None  # to the handshake
        self._codec: FrameCodec = FRAME_CODECS[JSON]
        self._session: Receiver | None = None
        self._is_opening = False  # the hello has come
        self._is_lost = False
        self._close_sent = False
        self._close_later: tuple[int, str] | None = None  # once the peer reads again
        self.is_full = False  # the peer reads too slowly
        self._drained: asyncio.Future[None] | None = None
        # timers: the hello or the end of the connection is due, a ping, its answer
        self._due: asyncio.TimerHandle | None = None
        self._next_ping: asyncio.TimerHandle | None = None
        self._pong_due: asyncio.TimerHandle | None = None
        self._ping = b""  # the payload of the unanswered ping
        # incoming
        self._arrived = bytearray()  # not yet cut into frames
        self._left_to_parser = False
        self._fragments: list[bytes] = []  # of a message that is not complete
        self._is_text = False
        self._holds = 0  # reasons not to read
        self._parsed = 0  # frames

    # -- the handshake

    def read_handshake(self, head: bytes) -> ProblemError | None:
        """Read the upgrade request; returns the problem with it, if any."""
        self._parser.receive_data(head)
        read = self._parser.events_received()
        if read:
            self._response = self._parser.accept(cast(Request, read[0]))
            if self._response.status_code == _SWITCHING:
                return None
        error = self._parser.handshake_exc
        why = error.__cause__ or error if error is not None else ""
        return ProblemError(
            Code.BAD_REQUEST,
            f"expected the handshake of a WebSocket, found an invalid one: {str(why)[:200]}",
        )

    def begin(self) -> None:
        """Take over the connection: accept the handshake and expect a hello."""
        self._app.connections[self] = None
        sent = [value for name, value in self.headers if name == b"sec-websocket-protocol"]
        names = b",".join(sent).decode("latin-1").split(",") if sent else []
        known = [name for name in map(str.strip, names) if name in FRAME_CODECS]
        if names and not known:
            problem = ProblemError(Code.BAD_REQUEST, "unknown encoding of a session")
            self._gateway.refusals.note(problem, HELLO, None, self.scope)
            self._parser.send_response(self._parser.reject(HTTPStatus.FORBIDDEN, ""))
            self._write_parsed()
            self._close_sent = True
            self.transport.close()
            return
        assert self._response is not None
        if known:
            self._codec = FRAME_CODECS[known[0]]
            self._response.headers["Sec-WebSocket-Protocol"] = known[0]
        self._parser.send_response(self._response)
        self._write_parsed()
        self._next_ping = self._loop.call_later(self._limits.heartbeat_s, self._send_ping)
        # A silent connection must not hold a place.
        self._due = self._loop.call_later(self._limits.head_within_s, self._hello_is_late)

    def _hello_is_late(self) -> None:
        within_s = self._limits.head_within_s
        self._start_opening(
            ProblemError(Code.BAD_REQUEST, f"expected a hello within {within_s:g} seconds")
        )

    def _start_opening(self, hello: bytes | ProblemError) -> None:
        self._is_opening = True
        self._stop(self._due)
        self.hold()
        self._app.start(self._open(hello))

    async def _open(self, hello: bytes | ProblemError) -> None:
        sessions = self._app.sessions
        assert sessions is not None
        try:
            if isinstance(hello, ProblemError):
                await sessions.refuse(self, self._codec, hello)
            else:
                await sessions.open(self, self._codec, hello)
        except Exception:
            log.exception("bug in a session")
            self.transport.close()
        if self._session is None:  # refused: the peer's answer to the close is read
            self.let_go()

    def attach(self, session: Receiver) -> None:
        """Pass frames to the session from now on, starting with those that have arrived."""
        self._session = session
        if self._is_lost:
            session.lost()
        else:
            self.let_go()

    # -- the connection

    def connection_lost(self, error: Exception | None) -> None:
        self._app.connections.pop(self, None)
        self._is_lost = True
        for timer in (self._due, self._next_ping, self._pong_due):
            self._stop(timer)
        self._wake()
        if self._session is not None:
            self._session.lost()

    def eof_received(self) -> None:
        """The connection is closed."""

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        self._wake()
        if self._session is not None:
            self._session.flush()
        if self._close_later is not None:
            self.close(*self._close_later)

    def _wake(self) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    async def drained(self) -> None:
        """Wait until the peer has read enough, or is gone."""
        while self.is_full and not self.is_gone:
            self._drained = self._loop.create_future()
            await self._drained

    def shutdown(self) -> None:
        """Close because the server stops."""
        if not self.transport.is_closing():
            self.hang_up(_CLOSE_STOPPING, "")
            self.transport.close()

    @property
    def is_gone(self) -> bool:
        return self._is_lost or self.transport.is_closing()

    def _write_parsed(self) -> None:
        """Send what the parser has produced."""
        self.transport.write(b"".join(self._parser.data_to_send()))

    def _stop(self, timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()

    # -- keep-alive

    def _send_ping(self) -> None:
        if self._close_sent or self.is_gone:
            return
        self._ping = random.randbytes(4)  # only the answer to this ping counts
        self._parser.send_ping(self._ping)
        self._write_parsed()
        within_s = max(self._limits.dead_after_s - self._limits.heartbeat_s, 1.0)
        self._pong_due = self._loop.call_later(within_s, self._pong_is_late)

    def _pong_is_late(self) -> None:
        if not self._close_sent and not self.is_gone:
            self._parser.fail(_CLOSE_DEAD, "keepalive ping timeout")
            self._write_parsed()
            self._close_sent = True
            self.transport.close()

    def _hear_pong(self, payload: bytes) -> None:
        if self._pong_due is not None and payload == self._ping:
            self._stop(self._pong_due)
            self._pong_due = None
            self._next_ping = self._loop.call_later(self._limits.heartbeat_s, self._send_ping)

    # -- in

    def hold(self) -> None:
        """Stop reading, and hold back input that was read."""
        self._holds += 1
        if self._holds == 1 and not self.transport.is_closing():
            self.transport.pause_reading()

    def let_go(self) -> None:
        self._holds -= 1
        if not self._holds and not self.transport.is_closing():
            self.transport.resume_reading()
            self.data_received(b"")

    def rest(self, seconds: float) -> None:
        self.hold()
        self._loop.call_later(seconds, self.let_go)

    def data_received(self, data: bytes) -> None:
        """Cut what arrives into frames. Once the parser has been given part of a frame, it gets
        all the rest."""
        if self._left_to_parser:
            self._parse(data)
            return
        self._arrived += data
        while not self.transport.is_closing() and (frame := self._whole_frame()) is not None:
            self._parse(frame)
            self._parsed += 1
            if self._parsed % _FRAMES_PER_REFUSAL == 0:
                self._keep_pace()

    def _keep_pace(self) -> None:
        """Limit pings and other control frames, which no rate limit covers."""
        if self._session is None:
            self.rest(self._gateway.admission.delay_s(line_of_address(self.scope)))
        else:
            self.rest(self._session.pay())

    def _whole_frame(self) -> bytes | None:
        """The next complete frame for the parser; data frames before it go to the session. None if
        there is no complete one."""
        arrived = self._arrived
        begin = 0
        found: bytes | None = None
        while found is None and len(arrived) - begin >= 2 and not self._holds:
            size = arrived[begin + 1] & 0x7F
            head = begin + 2
            if size == 126:
                size, head = int.from_bytes(arrived[head : head + 2], "big"), head + 2
            elif size == 127:
                size, head = int.from_bytes(arrived[head : head + 8], "big"), head + 8
            end = head + _MASK_BYTES + size
            if size > self._bytes_max or not arrived[begin + 1] & _MASKED:
                self._left_to_parser = True  # it reports the violation
                end = len(arrived)
            if len(arrived) < end:
                break
            is_data = arrived[begin] == _BINARY or arrived[begin] == _TEXT
            if (
                is_data
                and self._session is not None
                and not self._left_to_parser
                and not self._fragments
            ):
                mask = bytes(arrived[head : head + _MASK_BYTES])
                payload = apply_mask(bytes(arrived[head + _MASK_BYTES : end]), mask)
                if not self._close_sent:
                    self._session.receive(payload)
            else:
                found = bytes(arrived[begin:end])
            begin = end
        del arrived[:begin]
        return found

    # -- out

    def write(self, payload: bytes, text: bool) -> None:
        """Send one frame. A server's frames are not masked: a short header and the payload."""
        if self._close_sent or self.transport.is_closing():
            return
        size = len(payload)
        opcode = _TEXT if text else _BINARY
        if size < 126:
            header = bytes((opcode, size))
        elif size < 65_536:
            header = bytes((opcode, 126)) + size.to_bytes(2, "big")
        else:
            header = bytes((opcode, 127)) + size.to_bytes(8, "big")
        self.transport.write(header + payload)

    def close(self, code: int, reason: str) -> None:
        """Close once the peer has read everything before, and wait for its answer. Do not wait for
        a peer that does not read."""
        if self.is_gone or self._close_sent:
            return
        self._stop(self._due)
        if self.is_full:
            self._close_later = code, reason
            self._due = self._loop.call_later(LAST_WORD_WITHIN_S, self._cut_off)
        else:
            self.hang_up(code, reason)
            self._due = self._loop.call_later(CLOSE_WITHIN_S, self.transport.close)

    def _cut_off(self) -> None:
        assert self._close_later is not None
        self.hang_up(*self._close_later)
        self.transport.close()

    def hang_up(self, code: int, reason: str) -> None:
        """Send a close frame, behind everything written before."""
        if not self._close_sent and not self.transport.is_closing():
            self._parser.send_close(code, reason)
            self._write_parsed()
            self._close_sent = True

    # -- frames and violations from the parser

    def _parse(self, data: bytes) -> None:
        self._parser.receive_data(data)
        if self._parser.parser_exc is not None:
            self._broken()
            return
        for event in self._parser.events_received():
            self._hear(cast(Frame, event))

    def _hear(self, frame: Frame) -> None:
        payload = bytes(frame.data)
        if frame.opcode is Opcode.PING:
            self._answer_ping()
        elif frame.opcode is Opcode.PONG:
            self._hear_pong(payload)
        elif frame.opcode is Opcode.CLOSE:
            self._hear_close()
        elif len(self._fragments) >= _FRAMES_MAX:
            self._break_off(_CLOSE_TOO_BIG, f"expected a message in at most {_FRAMES_MAX} frames")
        else:
            if frame.opcode is not Opcode.CONT:
                self._is_text = frame.opcode is Opcode.TEXT
            self._fragments.append(payload)
            if frame.fin:
                message, self._fragments = b"".join(self._fragments), []
                self._hear_message(message)

    def _answer_ping(self) -> None:
        if self.is_full:  # do not pile up pongs for a peer that does not read
            self._parser.data_to_send()
        else:
            self._write_parsed()

    def _hear_message(self, message: bytes) -> None:
        if self._close_sent:
            return
        if self._session is not None:
            self._session.receive(message)
        elif self._is_text and not _is_utf8(message):
            self._break_off(_CLOSE_NOT_TEXT, "expected text in UTF-8")
        elif not self._is_opening:
            self._start_opening(message)

    def _hear_close(self) -> None:
        if not self._close_sent:
            self._write_parsed()
        self.transport.close()

    def _break_off(self, code: int, reason: str) -> None:
        """Close as the parser does on a violation."""
        if not self._close_sent:
            self._parser.send_close(code, reason)
            self._broken()

    def _broken(self) -> None:
        problem = ProblemError(Code.BAD_REQUEST, "frames that break the protocol")
        if self._session is None:
            self._gateway.refusals.note(problem, "session", None, self.scope)
        else:
            self._session.note(problem, "session")
        self._write_parsed()
        self._close_sent = True
        self.transport.close()


def _is_utf8(payload: bytes) -> bool:
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True
