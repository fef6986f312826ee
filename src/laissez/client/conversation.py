"""A session without its connection: what has been asked, what has been answered, which events have
been seen.

Every message gets an id and stays pending until it is answered. A connection that is lost changes
nothing about that: on the next one all pending messages are sent again, in their order and with the
same ids, and the server answers those it knew with their first answer. Events are counted: one seen
before is ignored, and a hole in the count means that the connection must be made anew. So each
event is told once and in order.

Feed it frames, take frames from it; it does no I/O, so any history can be tried in a test.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol, get_args

import msgspec

from laissez.client.call import checked_id
from laissez.client.errors import (
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
from laissez.client.following import Told
from laissez.client.messages import Codec, Sendable
from laissez.wire import session as wire
from laissez.wire.events import Numbered
from laissez.wire.limits import BATCH_BYTES_MAX, BATCH_COMMANDS_MAX
from laissez.wire.problems import Code
from laissez.wire.requests import Hello, Ping, Question

_QUESTIONS: Final = get_args(Question)
_FRAME_BYTES: Final = 8  # of a frame's own
_MESSAGE_BYTES_MAX: Final = BATCH_BYTES_MAX - _FRAME_BYTES


class Waiter(Protocol):
    """Who waits for an answer; futures of every kind are such."""

    def done(self) -> bool: ...

    def set_result(self, result: Any, /) -> None: ...

    def set_exception(self, exception: Any, /) -> None: ...


class _Pending:
    """A message as it travels, encoded once however often it is sent."""

    __slots__ = ("content", "is_question", "waiter", "was_sent")

    def __init__(self, content: bytes, is_question: bool, waiter: Waiter) -> None:
        self.content = content
        self.is_question = is_question
        self.waiter = waiter
        self.was_sent = False


class Conversation:
    """The state of a session over all its connections."""

    def __init__(
        self, codec: Codec, hello: Hello, *, in_flight_max: int, pending_max: int, told_max: int
    ) -> None:
        if not 0 < in_flight_max <= pending_max or told_max < 1:
            raise UsageError(
                "expected 0 < in_flight_max <= pending_max and told_max > 0, found"
                f" {in_flight_max}, {pending_max}, {told_max}"
            )
        self.codec: Final = codec
        self.welcome: wire.Welcome | None = None  # of the connection there is
        self.last = hello.resume_after  # the number of the last event seen
        # for the reader; where something is missing, that is said in its place
        self.told: Final[deque[Told | EventsMissed]] = deque()
        self._hello: Final = hello
        self._in_flight_max: Final = in_flight_max
        self._pending_max: Final = pending_max
        self._told_max: Final = told_max
        self._pending: Final[dict[str, _Pending]] = {}  # in the order of asking
        self._unsent: deque[str] = deque()  # those of them that this connection has not carried yet
        self._prefix: Final = secrets.token_hex(8)  # no two sessions make the same ids
        self._count = 0
        self._has_begun = False
        self._is_closing = False
        self._on: Final[dict[type, Callable[[Any], None]]] = {
            wire.Welcome: self._welcomed,
            wire.Reply: self._replied,
            wire.Refused: self._refused,
            wire.QuoteReply: lambda message: self._answer(message.id, message.quote),
            wire.OrdersReply: lambda message: self._answer(message.id, message),
            wire.LeasesReply: lambda message: self._answer(message.id, message),
            wire.EventSent: lambda message: self._tell(message.told),
            wire.NoticeSent: self._notice,
            wire.Pong: lambda message: None,
            wire.Heartbeat: lambda message: self._check_complete(message.n),
            wire.Closing: self._closing,
        }

    @property
    def is_full(self) -> bool:
        return len(self._pending) >= self._pending_max

    @property
    def is_idle(self) -> bool:
        return not self._pending

    @property
    def has_work(self) -> bool:
        """Whether `next_frame` has something to send."""
        return bool(self._unsent) and self._room() > 0 and not self._is_closing

    def _room(self) -> int:
        return self._in_flight_max - (len(self._pending) - len(self._unsent))

    # What goes out.

    def ask(self, message: Sendable, waiter: Waiter) -> None:
        """Take on a message; `waiter` will hear the answer."""
        if len(self._pending) >= self._pending_max:
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
        content = self._encoded(message)
        if len(content) > _MESSAGE_BYTES_MAX:
            raise UsageError(
                f"expected a message of at most {_MESSAGE_BYTES_MAX} bytes, found one of"
                f" {len(content)}"
            )
        self._pending[id] = _Pending(content, isinstance(message, _QUESTIONS), waiter)
        self._unsent.append(id)

    def _encoded(self, message: Sendable) -> bytes:
        """Checked by reading it back: the server turns away a whole frame for one message that it
        cannot read."""
        try:
            content = self.codec.encode(message)
            self.codec.check(content)
        except (TypeError, msgspec.MsgspecError) as error:
            raise UsageError(
                f"expected a message as the API describes it, found a {type(message).__name__} with"
                f" a fault: {error}"
            ) from None
        return content

    def hello(self) -> bytes:
        """The first frame of a new connection. From here on, everything pending counts as not yet
        sent."""
        self.welcome = None
        self._is_closing = False
        self._unsent = deque(self._pending)
        return self.codec.encode(msgspec.structs.replace(self._hello, resume_after=self.last))

    def ping(self) -> bytes:
        return self.codec.encode(Ping(id="ping"))

    def next_frame(self) -> bytes | None:
        """As many messages as may go out now in one frame, or None. Those whose waiter has gone are
        dropped."""
        taken: list[msgspec.Raw] = []
        messages_max, bytes_left = self._bounds()
        most = 0 if self._is_closing else min(self._room(), messages_max)
        while self._unsent and len(taken) < most:
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

    def _bounds(self) -> tuple[int, int]:
        """Of a frame: how many messages, and how many bytes of them. An operator may have set less
        than is usual."""
        if self.welcome is None:
            return BATCH_COMMANDS_MAX, _MESSAGE_BYTES_MAX
        return min(BATCH_COMMANDS_MAX, self.welcome.frame_messages_max), min(
            _MESSAGE_BYTES_MAX, self.welcome.frame_bytes_max - _FRAME_BYTES
        )

    # What comes in.

    def receive(self, frame: bytes) -> None:
        """Take in a frame. Raises `UnexpectedAnswer` for what cannot be read, `ConnectionFailed` if
        events are missing."""
        try:
            messages = self.codec.decode(frame)
        except msgspec.DecodeError as error:
            raise UnexpectedAnswer(
                f"the server sent a frame that this client cannot read: {error}"
            ) from None
        on = self._on
        if isinstance(messages, list):
            for message in messages:
                on[type(message)](message)
        else:
            on[type(messages)](messages)

    def _welcomed(self, welcome: wire.Welcome) -> None:
        if self.last is None:
            self.last = welcome.n
        if welcome.n < self.last:
            raise UnexpectedAnswer(
                f"expected a server that knows event {self.last}, found one that knows {welcome.n}:"
                " it is not the same market"
            )
        self.welcome = welcome
        self._has_begun = True

    def _replied(self, reply: wire.Reply) -> None:
        for told in reply.events:
            self._tell(told)
        self._answer(reply.id, reply)

    def _refused(self, message: wire.Refused) -> None:
        if self.welcome is None or not message.id:
            raise refusal(message)  # the greeting, or a frame as a whole
        if message.code == Code.STOPPING:
            # nothing was done, the connection is about to end, and the next server gets the message
            return
        self._answer_error(message.id, refusal(message))

    def _closing(self, message: wire.Closing) -> None:
        """The end of the connection follows and says why. Until then only answers come; what is
        asked now is for the next connection."""
        self._is_closing = True

    def _answer(self, id: str, answer: object) -> None:
        pending = self._pending.pop(id, None)
        if pending is not None and not pending.waiter.done():
            pending.waiter.set_result(answer)

    def _answer_error(self, id: str, error: LaissezError) -> None:
        pending = self._pending.pop(id, None)
        if pending is not None and not pending.waiter.done():
            pending.waiter.set_exception(error)

    def _tell(self, told: Numbered) -> None:
        last = self.last or 0
        if told.n <= last:
            return
        self._check_complete(told.n - 1)
        self.last = told.n
        if len(self.told) < self._told_max:
            self.told.append(told)
        else:
            self._miss(last, f"{self._told_max} events waited unread")

    def _miss(self, after: int, why: str) -> None:
        # else this is part of the same hole
        if not self.told or not isinstance(self.told[-1], EventsMissed):
            self.told.append(EventsMissed(after, why))

    def _notice(self, message: wire.NoticeSent) -> None:
        if len(self.told) < self._told_max:
            # else it is let go: a notice tells a level, and the next one tells it again
            self.told.append(message.notice)

    def _check_complete(self, n: int) -> None:
        if n > (self.last or 0):
            raise ConnectionFailed(
                f"expected events up to {n}, found them up to {self.last}; they are asked for again"
                " on a new connection"
            )

    # How it ends, and goes on.

    def lost(self, error: LaissezError) -> LaissezError:
        """A connection ended. If events that old are no longer kept, or not for this key, go on
        without them and say so; otherwise the error stays what it is."""
        if (
            not isinstance(error, HistoryGone | Forbidden)
            or not self._has_begun
            or self.last is None
        ):
            return error
        self._miss(self.last, error.detail)
        self.last = None
        return ConnectionFailed(str(error))

    def fail(self, error: LaissezError) -> None:
        """There will be no other connection. Who waits learns the truth: unknown for a command that
        was sent, `error` for everything else."""
        for id, pending in self._pending.items():
            if pending.waiter.done():
                continue
            may_have_happened = pending.was_sent and not pending.is_question
            pending.waiter.set_exception(
                OutcomeUnknown(id, f"no answer came: {error}") if may_have_happened else error
            )
        self._pending.clear()
        self._unsent.clear()


_CLOSES: Final[dict[int, tuple[str, int, str]]] = {
    wire.CLOSE_STOPPING: (Code.STOPPING, 503, "the server is being stopped"),
    wire.CLOSE_BAD_MESSAGE: (Code.BAD_REQUEST, 400, "the server could not read a message"),
    wire.CLOSE_UNAUTHENTICATED: (
        Code.UNAUTHENTICATED,
        401,
        "the key is missing, unknown or revoked",
    ),
    wire.CLOSE_HISTORY_GONE: (Code.HISTORY_GONE, 410, "events that old are no longer kept"),
    wire.CLOSE_TOO_MANY: (Code.TOO_MANY_SESSIONS, 429, "too many sessions are open"),
    wire.CLOSE_FAILED: (Code.JOURNAL_FAILED, 503, "the server failed"),
}


def closing_error(code: int | None, reason: str) -> LaissezError:
    """What a WebSocket close code means. Codes without a meaning of ours, and none at all, mean a
    lost connection."""
    if code not in _CLOSES:
        return ConnectionFailed(
            f"the connection ended with code {code}" + (f" ({reason})" if reason else "")
        )
    name, status, meaning = _CLOSES[code]
    return api_error(name, reason or meaning, status)
