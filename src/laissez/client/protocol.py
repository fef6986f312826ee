"""The state of a session, without I/O: pending messages, their answers, and the events received.

A message keeps its id until it is answered. After a lost connection, all pending messages are sent
again in order and with the same ids; the server repeats its first answer to those it knows. Events
are numbered: a number seen before is ignored, and a gap means that a new connection must resume. So
every command is carried out at most once, and every event is delivered once and in order.

Frames go in and come out, so a test can play any history.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, get_args

import msgspec

from laissez.client.errors import (
    ApiError,
    ConnectionFailed,
    EventsMissed,
    Forbidden,
    HistoryGone,
    LaissezError,
    OutcomeUnknown,
    SessionFull,
    UnexpectedAnswer,
    UsageError,
    api_error,
    refusal,
)
from laissez.client.messages import Codec, Sendable
from laissez.client.request import checked_id
from laissez.client.sse import EventOrNotice
from laissez.wire import session as wire
from laissez.wire.events import Numbered
from laissez.wire.limits import BATCH_BYTES_MAX, BATCH_COMMANDS_MAX
from laissez.wire.problems import Code
from laissez.wire.requests import Hello, Ping, Question

_QUESTIONS: Final = get_args(Question)
_FRAME_BYTES: Final = 8  # the overhead of a frame
_MESSAGE_BYTES_MAX: Final = BATCH_BYTES_MAX - _FRAME_BYTES


Waiter: TypeAlias = asyncio.Future[Any] | concurrent.futures.Future[Any]  # receives an answer


@dataclass(slots=True)
class _Pending:
    """A message that awaits its answer, encoded once however often it is sent."""

    content: bytes
    is_question: bool
    waiter: Waiter
    was_sent: bool = False


class SessionProtocol:
    """The state of a session over all its connections."""

    def __init__(
        self, codec: Codec, hello: Hello, *, in_flight_max: int, pending_max: int, events_max: int
    ) -> None:
        if not 0 < in_flight_max <= pending_max or events_max < 1:
            raise UsageError(
                "expected 0 < in_flight_max <= pending_max and events_max > 0, found"
                f" {in_flight_max}, {pending_max}, {events_max}"
            )
        self.codec: Final = codec
        self.welcome: wire.Welcome | None = None  # of the current connection
        self.last = hello.resume_after  # the number of the last event received
        # Unread events, with an error in the place of those that were dropped.
        self.events: Final[deque[EventOrNotice | EventsMissed]] = deque()
        self._hello: Final = hello
        self._in_flight_max: Final = in_flight_max
        self._pending_max: Final = pending_max
        self._events_max: Final = events_max
        self._pending: Final[dict[str, _Pending]] = {}  # by id, oldest first
        self._unsent: deque[str] = deque()  # pending ids that this connection has not carried yet
        self._prefix: Final = secrets.token_hex(8)  # keeps ids unique across sessions
        self._count = 0
        self._was_welcomed = False
        self._is_closing = False
        self._on: Final[dict[type, Callable[[Any], None]]] = {
            wire.Welcome: self._on_welcome,
            wire.Reply: self._on_reply,
            wire.Refused: self._on_refused,
            wire.QuoteReply: lambda message: self._answer(message.id, message.quote),
            wire.OrdersReply: lambda message: self._answer(message.id, message),
            wire.LeasesReply: lambda message: self._answer(message.id, message),
            wire.EventSent: lambda message: self._on_event(message.told),
            wire.NoticeSent: self._on_notice,
            wire.Pong: lambda message: None,
            wire.Heartbeat: lambda message: self._check_complete(message.n),
            wire.Closing: self._on_closing,
        }

    @property
    def is_full(self) -> bool:
        return len(self._pending) >= self._pending_max

    @property
    def is_idle(self) -> bool:
        return not self._pending

    @property
    def can_send(self) -> bool:
        """Whether `next_frame` has something to send."""
        return bool(self._unsent) and self._window() > 0

    def _window(self) -> int:
        """The number of messages that may still be sent; 0 once the server is closing."""
        in_flight = len(self._pending) - len(self._unsent)
        return 0 if self._is_closing else self._in_flight_max - in_flight

    # Sending

    def submit(self, message: Sendable, waiter: Waiter) -> None:
        """Queue a message; `waiter` gets its answer."""
        if self.is_full:
            raise SessionFull(
                f"{len(self._pending)} messages wait for an answer, the most this session may hold;"
                " await session.room() before sending"
            )
        if message.id:
            id = checked_id(message.id, "an id")
            if id in self._pending:
                raise UsageError(
                    f"a message with the id {id!r} waits for its answer already; use another id"
                )
        else:
            self._count += 1
            id = f"{self._prefix}-{self._count}"
            message = msgspec.structs.replace(message, id=id)
        self._pending[id] = _Pending(self._encode(message), isinstance(message, _QUESTIONS), waiter)
        self._unsent.append(id)

    def _encode(self, message: Sendable) -> bytes:
        """Encode a message and decode it again as a check: the server refuses a whole frame for one
        invalid message."""
        try:
            content = self.codec.encode(message)
            self.codec.check(content)
        except (TypeError, msgspec.MsgspecError) as error:
            raise UsageError(
                f"expected a message as the API describes it, found an invalid"
                f" {type(message).__name__}: {error}"
            ) from None
        if len(content) > _MESSAGE_BYTES_MAX:
            raise UsageError(
                f"expected a message of at most {_MESSAGE_BYTES_MAX} bytes, found one of"
                f" {len(content)}"
            )
        return content

    def hello(self) -> bytes:
        """The first frame of a new connection. All pending messages become unsent."""
        self.welcome = None
        self._is_closing = False
        self._unsent = deque(self._pending)
        return self.codec.encode(msgspec.structs.replace(self._hello, resume_after=self.last))

    def ping(self) -> bytes:
        return self.codec.encode(Ping(id="ping"))

    def next_frame(self) -> bytes | None:
        """As many messages as may go out now in one frame, or None. A message whose waiter is done
        is dropped."""
        if self.welcome is None:
            return None
        taken: list[msgspec.Raw] = []
        messages_max = self.welcome.frame_messages_max or BATCH_COMMANDS_MAX
        messages_max = min(self._window(), messages_max)
        bytes_left = (self.welcome.frame_bytes_max or BATCH_BYTES_MAX) - _FRAME_BYTES
        while self._unsent and len(taken) < messages_max:
            pending = self._pending.get(self._unsent[0])
            if pending is None or pending.waiter.done():
                self._pending.pop(self._unsent.popleft(), None)
                continue
            bytes_left -= len(pending.content) + 1  # and a comma
            if bytes_left < 0 and taken:
                break
            self._unsent.popleft()
            pending.was_sent = True
            taken.append(msgspec.Raw(pending.content))
        return self.codec.encode(taken) if taken else None

    # Receiving

    def receive(self, frame: bytes) -> None:
        """Process a frame. Raises `UnexpectedAnswer` if it cannot be decoded, `ConnectionFailed` if
        events are missing."""
        try:
            messages = self.codec.decode(frame)
        except msgspec.DecodeError as error:
            raise UnexpectedAnswer(
                f"the server sent a frame that this client cannot read: {error}"
            ) from None
        on = self._on
        for message in messages if isinstance(messages, list) else (messages,):
            on[type(message)](message)

    def _on_welcome(self, welcome: wire.Welcome) -> None:
        if self.last is None:
            self.last = welcome.n
        if welcome.n < self.last:
            raise UnexpectedAnswer(
                f"expected a server that knows event {self.last}, found one that knows {welcome.n}:"
                " it is not the same market"
            )
        self.welcome = welcome
        self._was_welcomed = True

    def _on_reply(self, reply: wire.Reply) -> None:
        for event in reply.events:
            self._on_event(event)
        self._answer(reply.id, reply)

    def _on_refused(self, message: wire.Refused) -> None:
        if self.welcome is None or not message.id:
            raise refusal(message)  # of the hello, or of a frame as a whole
        if message.code == Code.STOPPING:
            return  # nothing was done, so the message stays pending for the next connection
        self._answer(message.id, refusal(message))

    def _on_closing(self, message: wire.Closing) -> None:
        """The server will close with a reason. Until then only answers come."""
        self._is_closing = True

    def _answer(self, id: str, answer: object) -> None:
        pending = self._pending.pop(id, None)
        if pending is None or pending.waiter.done():
            return
        if isinstance(answer, ApiError):
            pending.waiter.set_exception(answer)
        else:
            pending.waiter.set_result(answer)

    def _on_event(self, event: Numbered) -> None:
        last = self.last or 0
        if event.n <= last:
            return
        self._check_complete(event.n - 1)
        self.last = event.n
        if len(self.events) < self._events_max:
            self.events.append(event)
        else:
            self._miss(last, f"{self._events_max} events waited unread")

    def _miss(self, after: int, why: str) -> None:
        if not self.events or not isinstance(self.events[-1], EventsMissed):
            self.events.append(EventsMissed(after, why))  # else this extends the same gap

    def _on_notice(self, message: wire.NoticeSent) -> None:
        if len(self.events) < self._events_max:
            self.events.append(message.notice)  # else drop it: the next one replaces it anyway

    def _check_complete(self, n: int) -> None:
        if n > (self.last or 0):
            raise ConnectionFailed(
                f"expected events up to {n}, found them up to {self.last}; they are asked for again"
                " on a new connection"
            )

    # Losing the connection

    def connection_lost(self, error: LaissezError) -> LaissezError:
        """Returns the error to act on. If the missing events are no longer kept, or this key may
        not read them, report the gap and go on without them."""
        if not isinstance(error, HistoryGone | Forbidden):
            return error
        if not self._was_welcomed or self.last is None:
            return error
        self._miss(self.last, error.detail)
        self.last = None
        return ConnectionFailed(str(error))

    def fail(self, error: LaissezError) -> None:
        """Give up. The outcome of a command that was sent is unknown; everything else failed with
        `error`."""
        for id, pending in self._pending.items():
            if pending.waiter.done():
                continue
            may_have_happened = pending.was_sent and not pending.is_question
            pending.waiter.set_exception(
                OutcomeUnknown(id, f"no answer came: {error}") if may_have_happened else error
            )
        self._pending.clear()
        self._unsent.clear()


_CLOSE_CODES: Final[dict[int, tuple[Code, str]]] = {
    wire.CLOSE_STOPPING: (Code.STOPPING, "the server is being stopped"),
    wire.CLOSE_BAD_MESSAGE: (Code.BAD_REQUEST, "the server could not read a message"),
    wire.CLOSE_UNAUTHENTICATED: (Code.UNAUTHENTICATED, "the key is missing, unknown or revoked"),
    wire.CLOSE_HISTORY_GONE: (Code.HISTORY_GONE, "events that old are no longer kept"),
    wire.CLOSE_TOO_MANY: (Code.TOO_MANY_SESSIONS, "too many sessions are open"),
    wire.CLOSE_FAILED: (Code.JOURNAL_FAILED, "the server failed"),
}


def close_error(status: int | None, reason: str) -> LaissezError:
    """The error that a WebSocket close code stands for. Other codes, and none, mean a lost
    connection."""
    if status not in _CLOSE_CODES:
        return ConnectionFailed(
            f"the connection ended with code {status}" + (f" ({reason})" if reason else "")
        )
    code, meaning = _CLOSE_CODES[status]
    return api_error(code, reason or meaning, code.status)
