"""The WebSocket connection of a session, with nothing between it and the session once that has
begun.

uvicorn passes every frame through a parser and a queue to a task, and stops reading in between; for
a session that sends thousands of small frames that costs more than carrying them out. So here a
whole frame of data goes straight to the session, and the session writes by itself. All else
(handshake, pings, closing, messages in several frames, whatever breaks the protocol) stays with
uvicorn and its parser.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.datastructures import Headers
from websockets.http11 import Response

try:
    from websockets.speedups import apply_mask
except ImportError:  # no compiled part for this platform
    from websockets.utils import apply_mask

from laissez.server.admission import stopping
from laissez.server.http.incoming import line_of_address
from laissez.server.http.outgoing import EVERY, PROBLEM, encode, problem_headers
from laissez.wire.problems import Code, ProblemError

if TYPE_CHECKING:
    from laissez.server.desk import Desk
    from laissez.server.session import Session

SELF = "laissez.connection"  # where the scope of an ASGI call holds the connection

_BINARY, _TEXT = 0x82, 0x81  # the first byte of a message in one frame
_DATA = frozenset({_BINARY, _TEXT})
_MASKED = 0x80
_MASK_BYTES = 4
_FRAMES_MAX = 1_000  # of one message: empty ones add nothing to its size
_FRAMES_PER_REFUSAL = 32  # so many that are the parser's business cost about as much as a refusal
_CLOSE_NOT_TEXT, _CLOSE_TOO_BIG = 1007, 1009


class Connection(WebSocketsSansIOProtocol):
    def __init__(self, *arguments: Any, desk: Desk, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._desk = desk
        self._session: Session | None = None
        self._arrived = bytearray()  # not yet cut into frames
        self._left_to_parser = False
        self._holds = 0  # reasons not to read
        self._parsed = 0  # frames

    def attach(self, session: Session) -> None:
        """From here on frames go to the session; first those that have come already."""
        self._session = session
        waiting = [self.queue.get_nowait() for _ in range(self.queue.qsize())]
        for message in waiting:
            if message["type"] == "websocket.receive":
                session.receive(message.get("bytes") or message.get("text") or b"")
            else:
                self.queue.put_nowait(message)
        if self.read_paused:
            self.read_paused = False
            if not self._holds:
                self.transport.resume_reading()
        self.data_received(b"")

    def hold(self) -> None:
        """Read no more, and hear no more of what was read."""
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
        self.loop.call_later(seconds, self.let_go)

    def data_received(self, data: bytes) -> None:
        """Cut what arrives into frames. Once the parser has been given a part of one, it gets all
        the rest too."""
        if not self.handshake_initiated or self._left_to_parser:
            super().data_received(data)
            return
        self._arrived += data
        while not self.transport.is_closing() and (frame := self._whole_frame()) is not None:
            super().data_received(frame)
            self._parsed += 1
            if self._parsed % _FRAMES_PER_REFUSAL == 0:
                self._keep_pace()

    def _keep_pace(self) -> None:
        """Pings and the like are answered to anybody, and no allowance pays for them."""
        if self._session is None:
            self.rest(
                self._desk.admission.delay_s(line_of_address(cast(dict[str, Any], self.scope)))
            )
        else:
            self.rest(self._session.pay())

    def _whole_frame(self) -> bytes | None:
        """The next frame that is the parser's business; data frames on the way to it go to the
        session. None if there is no whole one."""
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
            if size > self.config.ws_max_size or not arrived[begin + 1] & _MASKED:
                self._left_to_parser = True  # it knows what to say
                end = len(arrived)
            if len(arrived) < end:
                break
            if (
                not self._left_to_parser
                and arrived[begin] in _DATA
                and self._session is not None
                and not self.frames
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
        """Send one frame. What a server sends is not masked, so a frame is a short header and the
        payload."""
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

    async def send(self, message: Any) -> None:
        """For uvicorn a last word after the last word is a mistake of ours. But it has said its own
        meanwhile, to a peer that answers no ping."""
        await self.writable.wait()
        if self.close_sent:
            raise ClientDisconnected
        await super().send(message)

    def hang_up(self, code: int, reason: str) -> None:
        """Close, behind all that the peer has not read yet."""
        if not self.close_sent and not self.transport.is_closing():
            self.conn.send_close(code, reason)
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.close_sent = True

    @property
    def is_full(self) -> bool:
        """The peer does not read as fast as it is sent to."""
        return not self.writable.is_set()

    @property
    def is_gone(self) -> bool:
        return bool(self.transport.is_closing())

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        if not self.handshake_complete:  # not refused
            cast(dict[str, Any], self.scope)[SELF] = self

    def handle_cont(self, event: Any) -> None:
        if len(self.frames) < _FRAMES_MAX:
            super().handle_cont(event)
        else:
            self._break_off(_CLOSE_TOO_BIG, f"expected a message in at most {_FRAMES_MAX} frames")

    def _break_off(self, code: int, reason: str) -> None:
        """As the parser does with what breaks the protocol."""
        if not self.close_sent:
            self.conn.send_close(code, reason)
            self.handle_parser_exception()

    def handle_parser_exception(self) -> None:
        problem = ProblemError(Code.BAD_REQUEST, "frames that break the protocol")
        if self._session is None:
            self._desk.refusals.note(problem, "session", None, cast(dict[str, Any], self.scope))
        else:
            self._session.note_broken(problem)
        super().handle_parser_exception()

    def handle_ping(self) -> None:
        if self.is_full:  # one that does not read its answers gets no more of them
            self.conn.data_to_send()
        else:
            super().handle_ping()

    def send_receive_event_to_app(self) -> None:
        if self._session is None:
            if self.curr_msg_data_type == "text" and not _is_text(b"".join(self.frames)):
                self._break_off(_CLOSE_NOT_TEXT, "expected text in UTF-8")
            else:
                super().send_receive_event_to_app()
            return
        frame = self.frames[0] if len(self.frames) == 1 else b"".join(self.frames)
        self.frames = []
        if not self.close_sent:
            self._session.receive(frame)

    def shutdown(self) -> None:
        """At the end of the server. One whose peer has said goodbye without reading the answer is
        closing already: nothing more is said to it."""
        if self.transport.is_closing():
            return
        if not self.handshake_complete:
            self._refuse_handshake(stopping())
        super().shutdown()

    def _refuse_handshake(self, problem: ProblemError) -> None:
        """In our words: uvicorn would tell of a bug."""
        self._desk.refusals.note(problem, "session", None, cast(dict[str, Any], self.scope))
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
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._session is not None:
            self._session.flush()


def _is_text(payload: bytes) -> bool:
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True
