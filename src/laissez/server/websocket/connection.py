"""The WebSocket connection of a session.

A complete data frame goes straight to the session, and the session writes its own frames: for
thousands of small frames, a general parser would cost more than the commands. Everything else
(handshake, pings, closing, fragmented messages, violations) goes through the parser of
`websockets`.
"""

from __future__ import annotations

import asyncio
import logging
import random
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

from websockets.datastructures import Headers
from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol

try:
    from websockets.speedups import apply_mask
except ImportError:  # no compiled part for this platform
    from websockets.utils import apply_mask

from laissez.server.admission import stopping
from laissez.server.http.request import line_of_address
from laissez.server.http.response import EVERY, PROBLEM, encode, problem_headers
from laissez.wire.problems import Code, ProblemError

if TYPE_CHECKING:
    from laissez.server.http.app import App
    from laissez.server.websocket.session import Session

SELF = "laissez.connection"  # where the scope of a session holds its connection

_BINARY, _TEXT = 0x82, 0x81  # the first byte of a message in one frame
_DATA = frozenset({_BINARY, _TEXT})
_MASKED = 0x80
_MASK_BYTES = 4
_FRAMES_MAX = 1_000  # of one message: empty frames do not count against its size
_FRAMES_PER_REFUSAL = 32  # parsing this many frames costs about as much as a refusal
_CLOSE_NOT_TEXT, _CLOSE_TOO_BIG, _CLOSE_DEAD, _CLOSE_STOPPING = 1007, 1009, 1011, 1012
_CLOSE_WITHIN_S = 10.0  # for the peer to answer a close
_SWITCHING = 101

# The parser logs headers, and keys in them, below this level.
_parser_log = logging.getLogger("laissez.websocket")
_parser_log.setLevel(logging.WARNING)
log = logging.getLogger(__name__)


class Disconnected(Exception):
    """The peer is gone, or was told goodbye."""


class Connection(asyncio.Protocol):
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
        self.transport = transport
        self._loop = asyncio.get_running_loop()
        self._bytes_max = limits.batch_bytes_max
        # No compression: replies are small, and it would cost more than the commands.
        self.conn = ServerProtocol(max_size=self._bytes_max, logger=_parser_log)
        self.scope: dict[str, Any] = {"client": (client, 0), "headers": headers, SELF: self}
        self._events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._response: Response | None = None  # to the handshake
        self._is_open = False  # the handshake is complete
        self.close_sent = False
        self._closing: asyncio.TimerHandle | None = None
        self.read_paused = False
        self.writable = asyncio.Event()
        self.writable.set()
        # keep-alive
        self._ping_every_s = limits.heartbeat_s
        self._pong_within_s = max(limits.dead_after_s - limits.heartbeat_s, 1.0)
        self._next_ping: asyncio.TimerHandle | None = None
        self._pong_due: asyncio.TimerHandle | None = None
        self._ping = b""  # the payload of the one that is not answered
        # incoming
        self._frames: list[bytes] = []  # of a message that is not complete
        self._is_text = False
        self._session: Session | None = None
        self._arrived = bytearray()  # not yet cut into frames
        self._left_to_parser = False
        self._holds = 0  # reasons not to read
        self._parsed = 0  # frames

    # -- the handshake

    def read_handshake(self, head: bytes) -> ProblemError | None:
        """Returns what is wrong with the upgrade request, if anything."""
        self.conn.receive_data(head)
        read = self.conn.events_received()
        if read:
            self._response = self.conn.accept(cast(Request, read[0]))
            if self._response.status_code == _SWITCHING:
                return None
        error = self.conn.handshake_exc
        why = error.__cause__ or error if error is not None else ""
        return ProblemError(
            Code.BAD_REQUEST,
            "expected the handshake of a WebSocket, found what cannot be read as one:"
            f" {str(why)[:200]}",
        )

    def begin(self) -> None:
        """Take over the connection."""
        self._app.connections[self] = None
        asked = [
            value for name, value in self.scope["headers"] if name == b"sec-websocket-protocol"
        ]
        names = b",".join(asked).decode("latin-1").split(",") if asked else []
        self.scope["subprotocols"] = [name.strip() for name in names]
        self._events.put_nowait({"type": "websocket.connect"})
        self._app.start(self._serve())

    async def _serve(self) -> None:
        sessions = self._app.sessions
        assert sessions is not None
        try:
            await sessions.serve(self.scope, self._receive, self._send)
        except Disconnected:
            pass
        except Exception:
            log.exception("bug in a session")
            if not self._is_open:
                self._reject(HTTPStatus.INTERNAL_SERVER_ERROR)
        if self._closing is None:
            self.transport.close()

    async def _receive(self) -> dict[str, Any]:
        event = await self._events.get()
        if self.read_paused and self._events.empty():
            self.read_paused = False
            self._resume_reading()
        return event

    async def _send(self, message: Any) -> None:
        """Send `websocket.accept` or `websocket.close`; the session writes everything else."""
        await self.writable.wait()
        if self.close_sent or self.transport.is_closing():
            raise Disconnected
        if message["type"] == "websocket.accept":
            self._accept(message.get("subprotocol"))
        elif not self._is_open:
            self._reject(HTTPStatus.FORBIDDEN)
        else:
            self.hang_up(message.get("code", 1000), message.get("reason", ""))
            self._closing = self._loop.call_later(_CLOSE_WITHIN_S, self.transport.close)

    def _accept(self, subprotocol: str | None) -> None:
        assert self._response is not None
        if subprotocol is not None:
            self._response.headers["Sec-WebSocket-Protocol"] = subprotocol
        self.conn.send_response(self._response)
        self._write_parsed()
        self._is_open = True
        self._next_ping = self._loop.call_later(self._ping_every_s, self._send_ping)

    def _reject(self, status: HTTPStatus) -> None:
        self.conn.send_response(self.conn.reject(status, ""))
        self._write_parsed()
        self.close_sent = True

    def _refuse_handshake(self, problem: ProblemError) -> None:
        self._gateway.refusals.note(problem, "session", None, self.scope)
        body = encode(problem.problem())
        said = [
            (b"content-type", PROBLEM),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
            *EVERY,
            *problem_headers(problem),
        ]
        headers = Headers((name.decode(), value.decode()) for name, value in said)
        self.conn.send_response(
            Response(problem.status, HTTPStatus(problem.status).phrase, headers, body)
        )
        self._write_parsed()
        self.close_sent = True

    # -- the connection

    def connection_lost(self, error: Exception | None) -> None:
        self._app.connections.pop(self, None)
        self._stop_pings()
        if self._closing is not None:
            self._closing.cancel()
        self._gone()
        # Wake everything that waits for the peer to read.
        self.writable.set()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()
        if self._session is not None:
            self._session.flush()

    def shutdown(self) -> None:
        """At the end of the server."""
        self._stop_pings()
        if self.transport.is_closing():
            return
        if not self._is_open:
            if not self.close_sent:
                self._refuse_handshake(stopping())
        elif not self.close_sent:
            self._gone()
            self.hang_up(_CLOSE_STOPPING, "")
        if self._closing is not None:
            self._closing.cancel()
        self.transport.close()

    def _gone(self) -> None:
        self._events.put_nowait({"type": "websocket.disconnect"})

    def _write_parsed(self) -> None:
        """Send what the parser has produced."""
        self.transport.write(b"".join(self.conn.data_to_send()))

    # -- keep-alive

    def _send_ping(self) -> None:
        if self.close_sent or self.transport.is_closing():
            return
        self._ping = random.randbytes(4)  # only the answer to this ping counts
        self.conn.send_ping(self._ping)
        self._write_parsed()
        self._pong_due = self._loop.call_later(self._pong_within_s, self._too_late)

    def _too_late(self) -> None:
        if not self.close_sent and not self.transport.is_closing():
            self.conn.fail(_CLOSE_DEAD, "keepalive ping timeout")
            self._write_parsed()
            self.close_sent = True
            self.transport.close()

    def _hear_pong(self, payload: bytes) -> None:
        if self._pong_due is not None and payload == self._ping:
            self._pong_due.cancel()
            self._pong_due = None
            self._next_ping = self._loop.call_later(self._ping_every_s, self._send_ping)

    def _stop_pings(self) -> None:
        for timer in (self._next_ping, self._pong_due):
            if timer is not None:
                timer.cancel()

    # -- in

    def attach(self, session: Session) -> None:
        """Pass frames to the session from now on, starting with those that have arrived."""
        self._session = session
        waiting = [self._events.get_nowait() for _ in range(self._events.qsize())]
        for message in waiting:
            if message["type"] == "websocket.receive":
                session.receive(message.get("bytes") or message.get("text") or b"")
            else:
                self._events.put_nowait(message)
        if self.read_paused:
            self.read_paused = False
            self._resume_reading()
        self.data_received(b"")

    def hold(self) -> None:
        """Stop reading, and keep back what was read."""
        self._holds += 1
        if self._holds == 1 and not self.transport.is_closing():
            self.transport.pause_reading()

    def let_go(self) -> None:
        self._holds -= 1
        if not self._holds and not self.transport.is_closing():
            self._resume_reading()
            self.data_received(b"")

    def _resume_reading(self) -> None:
        if not self._holds and not self.read_paused and not self.transport.is_closing():
            self.transport.resume_reading()

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
        while (
            found is None and len(arrived) - begin >= 2 and not self._holds and not self.read_paused
        ):
            size = arrived[begin + 1] & 0x7F
            head = begin + 2
            if size == 126:
                size, head = int.from_bytes(arrived[head : head + 2], "big"), head + 2
            elif size == 127:
                size, head = int.from_bytes(arrived[head : head + 8], "big"), head + 8
            end = head + _MASK_BYTES + size
            if size > self._bytes_max or not arrived[begin + 1] & _MASKED:
                self._left_to_parser = True  # which reports the violation
                end = len(arrived)
            if len(arrived) < end:
                break
            if (
                not self._left_to_parser
                and arrived[begin] in _DATA
                and self._session is not None
                and not self._frames
            ):
                payload = apply_mask(
                    bytes(arrived[head + _MASK_BYTES : end]),
                    bytes(arrived[head : head + _MASK_BYTES]),
                )
                if not self.close_sent:
                    self._session.receive(payload)
            else:
                found = bytes(arrived[begin:end])
            begin = end
        del arrived[:begin]
        return found

    def write(self, payload: bytes, text: bool) -> None:
        """Send one frame. A server's frames are not masked: a short header and the payload."""
        if self.close_sent or self.transport.is_closing():
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

    def hang_up(self, code: int, reason: str) -> None:
        """Send a close frame, behind everything written before."""
        if not self.close_sent and not self.transport.is_closing():
            self.conn.send_close(code, reason)
            self._write_parsed()
            self.close_sent = True

    @property
    def is_full(self) -> bool:
        """Whether the peer reads too slowly."""
        return not self.writable.is_set()

    @property
    def is_gone(self) -> bool:
        return bool(self.transport.is_closing())

    # -- what the parser finds

    def _parse(self, data: bytes) -> None:
        self.conn.receive_data(data)
        if self.conn.parser_exc is not None:
            self._broken()
            return
        for event in self.conn.events_received():
            self._hear(cast(Frame, event))

    def _hear(self, frame: Frame) -> None:
        payload = bytes(frame.data)
        if frame.opcode is Opcode.PING:
            self._answer_ping()
        elif frame.opcode is Opcode.PONG:
            self._hear_pong(payload)
        elif frame.opcode is Opcode.CLOSE:
            self._hear_close()
        elif len(self._frames) >= _FRAMES_MAX:
            self._break_off(_CLOSE_TOO_BIG, f"expected a message in at most {_FRAMES_MAX} frames")
        else:
            if frame.opcode is not Opcode.CONT:
                self._is_text = frame.opcode is Opcode.TEXT
            self._frames.append(payload)
            if frame.fin:
                message, self._frames = b"".join(self._frames), []
                self._hear_message(message)

    def _answer_ping(self) -> None:
        if self.is_full:  # do not pile up pongs for a peer that does not read
            self.conn.data_to_send()
        else:
            self._write_parsed()

    def _hear_message(self, message: bytes) -> None:
        if self.close_sent:
            return
        if self._session is not None:
            self._session.receive(message)
        elif self._is_text and not _is_utf8(message):
            self._break_off(_CLOSE_NOT_TEXT, "expected text in UTF-8")
        else:
            self._events.put_nowait(
                {"type": "websocket.receive", "text": message.decode()}
                if self._is_text
                else {"type": "websocket.receive", "bytes": message}
            )
            self.read_paused = True
            self.transport.pause_reading()

    def _hear_close(self) -> None:
        if self.close_sent:  # the peer answers ours
            if self._closing is not None:
                self._closing.cancel()
                self._closing = None
                self.transport.close()
        elif not self.transport.is_closing():
            self._gone()
            self._write_parsed()
            self.transport.close()

    def _break_off(self, code: int, reason: str) -> None:
        """Close as the parser does on a violation."""
        if not self.close_sent:
            self.conn.send_close(code, reason)
            self._broken()

    def _broken(self) -> None:
        problem = ProblemError(Code.BAD_REQUEST, "frames that break the protocol")
        if self._session is None:
            self._gateway.refusals.note(problem, "session", None, self.scope)
        else:
            self._session.note_broken(problem)
        self._gone()
        self._write_parsed()
        self.close_sent = True
        self.transport.close()


def _is_utf8(payload: bytes) -> bool:
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True
