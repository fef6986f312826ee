"""The state of a session, tested without a connection."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import Any

import msgspec
import pytest

from laissez.client import (
    ConnectionFailed,
    EventsMissed,
    Forbidden,
    HistoryGone,
    OutcomeUnknown,
    Refused,
    SessionFull,
    Unavailable,
    UnexpectedAnswer,
    UsageError,
)
from laissez.client.errors import is_transient
from laissez.client.messages import CODECS, Sendable
from laissez.client.protocol import SessionProtocol, close_error
from laissez.wire import session as wire
from laissez.wire.events import Numbered, OrderCancelled, RateChanged
from laissez.wire.limits import BATCH_BYTES_MAX, BATCH_COMMANDS_MAX
from laissez.wire.requests import Alternative, AskQuote, CancelOrder, Hello, PlaceOrder, SetLimit
from laissez.wire.views import Quote

pytestmark = pytest.mark.once

AT = "2026-11-15T08:30:00Z"
CANCEL = CancelOrder(order="ord_a1")


def numbered(n: int) -> Numbered:
    return Numbered(n, OrderCancelled(at=AT, order=f"ord_a{n}"))


class Harness:
    """A session's protocol, with the test as the server."""

    def __init__(
        self,
        resume_after: int | None = None,
        encoding: str = "msgpack",
        in_flight: int = 1000,
        pending: int = 1000,
        events: int = 100,
    ) -> None:
        hello = Hello(resume_after=resume_after)
        self.state = SessionProtocol(
            CODECS[encoding], hello, in_flight_max=in_flight, pending_max=pending, events_max=events
        )
        self.decode: Any = msgspec.msgpack.decode if encoding == "msgpack" else msgspec.json.decode

    def connect(self, n: int = 0, **bounds: int) -> dict[str, Any]:
        hello: dict[str, Any] = self.decode(self.state.hello())
        self.receive(
            wire.Welcome(
                holder="ann",
                n=n,
                server="test",
                heartbeat_s=15,
                dead_after_s=60,
                **bounds,  # type: ignore[arg-type]
            )
        )
        return hello

    def receive(self, *messages: wire.Sent) -> None:
        self.state.receive(self.state.codec.encode(messages if len(messages) != 1 else messages[0]))  # type: ignore[arg-type]

    def submit(self, message: Sendable = CANCEL) -> Future[Any]:
        future: Future[Any] = Future()
        self.state.submit(message, future)
        return future

    def sent(self) -> list[dict[str, Any]]:
        """All messages that leave now, in one list."""
        found: list[dict[str, Any]] = []
        while (frame := self.state.next_frame()) is not None:
            found += self.decode(frame)
        return found

    def sent_ids(self) -> list[str]:
        return [message["id"] for message in self.sent()]


@pytest.mark.parametrize("encoding", ["msgpack", "json"])
def test_messages_submitted_together_share_one_frame(encoding: str) -> None:
    session = Harness(encoding=encoding)
    session.connect()
    asked = [session.submit() for _ in range(3)]
    frame = session.decode(session.state.next_frame())
    assert [
        {"type": "cancel_order", "order": "ord_a1", "id": message["id"]} for message in frame
    ] == frame
    assert 3 == len({message["id"] for message in frame})
    assert None is session.state.next_frame()
    session.receive(*(wire.Reply(id=message["id"]) for message in reversed(frame)))
    assert [message["id"] for message in frame] == [future.result(0).id for future in asked]
    assert session.state.is_idle


def test_two_sessions_make_different_ids() -> None:
    first, second = Harness(), Harness()
    for session in (first, second):
        session.connect()
        session.submit()
    assert first.sent_ids() != second.sent_ids()


def test_frames_respect_the_default_limits() -> None:
    session = Harness(in_flight=2000, pending=2000)
    session.connect()
    for _ in range(BATCH_COMMANDS_MAX + 1):
        session.submit()
    assert [BATCH_COMMANDS_MAX, 1] == [
        len(session.decode(session.state.next_frame())) for _ in range(2)
    ]
    large = PlaceOrder(alternatives=(Alternative("x" * 60_000, "1"),))
    for _ in range(9):
        session.submit(large)
    frames = []
    while (frame := session.state.next_frame()) is not None:
        frames.append(frame)
    assert all(len(frame) <= BATCH_BYTES_MAX for frame in frames)
    assert [4, 4, 1] == [len(session.decode(frame)) for frame in frames]


def test_frames_respect_lower_limits_of_the_server() -> None:
    session = Harness()
    session.connect(frame_messages_max=8, frame_bytes_max=1_000)
    for _ in range(10):
        session.submit()
    assert [8, 2] == [len(session.decode(session.state.next_frame())) for _ in range(2)]
    for _ in range(3):
        session.submit(PlaceOrder(alternatives=(Alternative("x" * 400, "1"),)))
    assert [2, 1] == [len(session.decode(session.state.next_frame())) for _ in range(2)]


def test_an_invalid_or_oversized_message_is_refused_before_it_is_queued() -> None:
    session = Harness()
    with pytest.raises(UsageError, match="at most"):
        session.submit(PlaceOrder(alternatives=(Alternative("x" * BATCH_BYTES_MAX, "1"),)))
    with pytest.raises(UsageError, match="limit"):
        session.submit(SetLimit(lease="lse_a1", limit=2.5))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="an id"):
        session.submit(CancelOrder(order="ord_a1", id="two words"))
    assert session.state.is_idle


def test_messages_in_flight_and_pending_are_limited() -> None:
    session = Harness(in_flight=2, pending=4)
    session.connect()
    for _ in range(4):
        session.submit()
    with pytest.raises(SessionFull, match="room"):
        session.submit()
    first, _ = session.sent_ids()
    assert [] == session.sent_ids()
    assert not session.state.can_send
    session.receive(wire.Reply(id=first))
    assert session.state.can_send
    assert not session.state.is_full
    assert 1 == len(session.sent_ids())


def test_a_new_connection_resends_pending_messages_in_order_with_the_same_ids() -> None:
    session = Harness()
    session.connect()
    futures = [session.submit() for _ in range(4)]
    ids = session.sent_ids()
    session.receive(wire.Reply(id=ids[1], events=(numbered(1),)))
    late = session.submit()
    assert 1 == session.connect(n=1)["resume_after"]
    again = session.sent_ids()
    assert [ids[0], ids[2], ids[3]] == again[:3]
    session.receive(*(wire.Reply(id=id) for id in again))
    assert all(future.done() for future in [*futures, late])


def test_nothing_is_sent_to_a_server_that_is_closing() -> None:
    session = Harness()
    session.connect()
    session.receive(wire.Closing(reason="stopping", n=0))
    future = session.submit()
    assert [] == session.sent_ids()
    session.connect()
    (id,) = session.sent_ids()
    session.receive(wire.Reply(id=id))
    assert future.done()


def test_a_command_refused_by_a_stopping_server_is_sent_to_the_next() -> None:
    session = Harness()
    session.connect()
    future = session.submit()
    (id,) = session.sent_ids()
    session.receive(wire.Refused(id=id, code="stopping", detail="bye", status=503))
    assert not future.done()
    session.connect()
    assert [id] == session.sent_ids()


def test_a_cancelled_message_is_not_sent() -> None:
    async def story() -> None:
        session = Harness()
        session.connect()
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        session.state.submit(CANCEL, future)
        future.cancel()
        assert [] == session.sent_ids()
        assert session.state.is_idle

    asyncio.run(story())


def test_a_refusal_is_an_error_with_its_code() -> None:
    session = Harness()
    session.connect()
    future = session.submit()
    session.receive(
        wire.Refused(id=session.sent_ids()[0], code="limit_below_bid", detail="why", status=422)
    )
    with pytest.raises(Refused, match="why"):
        future.result(0)


def test_a_refused_frame_or_hello_ends_the_connection() -> None:
    session = Harness()
    session.state.hello()
    with pytest.raises(Unavailable):
        session.receive(wire.Refused(code="stopping", detail="bye", status=503))
    session.connect()
    with pytest.raises(Refused):
        session.receive(wire.Refused(code="bad_request", detail="unreadable", status=400))


def test_a_question_is_answered_with_its_result() -> None:
    session = Harness()
    session.connect()
    future = session.submit(AskQuote(scope="h100"))
    quote = Quote("h100", "2", AT)
    session.receive(wire.QuoteReply(id=session.sent_ids()[0], quote=quote))
    assert quote == future.result(0)


def test_a_repeated_event_is_delivered_once() -> None:
    session = Harness()
    session.connect(n=4)
    session.submit()
    (id,) = session.sent_ids()
    session.receive(wire.EventSent(told=numbered(5)))
    assert 5 == session.connect(n=5)["resume_after"]
    session.receive(wire.EventSent(told=numbered(6)), wire.EventSent(told=numbered(7)))
    session.receive(wire.Reply(id=id, events=(numbered(6),)), wire.Heartbeat(n=7))
    assert [numbered(5), numbered(6), numbered(7)] == list(session.state.events)


def test_events_start_at_the_servers_number_or_at_resume_after() -> None:
    fresh, resuming = Harness(), Harness(resume_after=3)
    assert "resume_after" not in fresh.connect(n=9)
    assert 3 == resuming.connect(n=3)["resume_after"]
    assert (9, 3) == (fresh.state.last, resuming.state.last)


@pytest.mark.parametrize(
    "message",
    [
        wire.EventSent(told=numbered(7)),
        wire.Heartbeat(n=6),
        wire.Reply(id="x", events=(numbered(7),)),
    ],
)
def test_a_gap_in_event_numbers_forces_a_new_connection(message: wire.Sent) -> None:
    session = Harness()
    session.connect(n=5)
    with pytest.raises(ConnectionFailed, match="up to 6"):
        session.receive(message)
    assert 5 == session.connect(n=5)["resume_after"]


def test_a_server_behind_resume_after_is_another_market() -> None:
    session = Harness(resume_after=9)
    with pytest.raises(UnexpectedAnswer, match="not the same market"):
        session.connect(n=8)


def test_a_slow_reader_gets_events_missed_instead_of_dropped_events() -> None:
    session = Harness(events=2)
    session.connect()
    session.receive(*(wire.EventSent(told=numbered(n)) for n in (1, 2, 3, 4)))
    session.receive(
        wire.NoticeSent(
            notice=RateChanged(at=AT, lease="lse_a1", leaf="h100/g0", rate="1", limit=None)
        )
    )
    one, two, missed = session.state.events
    assert [numbered(1), numbered(2)] == [one, two]
    assert isinstance(missed, EventsMissed) and 2 == missed.after
    session.state.events.popleft()
    session.state.events.popleft()
    session.receive(wire.EventSent(told=numbered(5)))
    assert [missed, numbered(5)] == list(session.state.events)


def test_lost_history_is_reported_and_the_session_continues() -> None:
    session = Harness()
    session.connect(n=5)
    gone = close_error(wire.CLOSE_HISTORY_GONE, "")
    assert is_transient(session.state.connection_lost(gone))
    (missed,) = session.state.events
    assert isinstance(missed, EventsMissed) and 5 == missed.after
    assert "resume_after" not in session.connect(n=99)
    assert 99 == session.state.last


def test_a_key_without_read_misses_events_and_the_session_continues() -> None:
    session = Harness()
    session.connect(n=5)
    assert 5 == session.decode(session.state.hello())["resume_after"]
    with pytest.raises(Forbidden) as forbidden:
        session.receive(
            wire.Refused(id="", code="forbidden", detail="resume_after: ...", status=403)
        )
    assert is_transient(session.state.connection_lost(forbidden.value))
    (missed,) = session.state.events
    assert isinstance(missed, EventsMissed) and 5 == missed.after
    assert "resume_after" not in session.connect(n=99)
    # before the first welcome the caller gets the error
    assert isinstance(Harness(resume_after=1).state.connection_lost(forbidden.value), Forbidden)


def test_lost_history_before_the_first_welcome_is_an_error() -> None:
    gone = close_error(wire.CLOSE_HISTORY_GONE, "")
    assert isinstance(Harness(resume_after=1).state.connection_lost(gone), HistoryGone)


def test_giving_up_leaves_only_sent_commands_unknown() -> None:
    session = Harness(in_flight=2)
    session.connect()
    sent, question, never_sent = (
        session.submit(),
        session.submit(AskQuote(scope="h100")),
        session.submit(),
    )
    id, _ = session.sent_ids()
    session.state.fail(ConnectionFailed("lost"))
    with pytest.raises(OutcomeUnknown) as unknown:
        sent.result(0)
    assert id == unknown.value.idempotency_key
    for future in (question, never_sent):
        with pytest.raises(ConnectionFailed):
            future.result(0)


def test_a_callers_id_is_refused_while_it_is_pending() -> None:
    session = Harness()
    session.connect()
    session.submit(CancelOrder(order="ord_a1", id="mine"))
    with pytest.raises(UsageError, match="'mine'"):
        session.submit(CancelOrder(order="ord_a1", id="mine"))
    assert ["mine"] == session.sent_ids()


@pytest.mark.parametrize("frame", [b"", b"\xc1", b"\x81\xa4type\xa3wat"])
def test_an_unreadable_frame_is_an_error(frame: bytes) -> None:
    session = Harness()
    session.connect()
    with pytest.raises(UnexpectedAnswer):
        session.state.receive(frame)


@pytest.mark.parametrize(
    ("code", "passes"),
    [
        (1001, True),
        (1006, True),
        (None, True),
        (4400, False),
        (4401, False),
        (4408, True),
        (4410, False),
        (4429, True),
        (4503, True),
    ],
)
def test_a_close_code_says_whether_to_reconnect(code: int | None, passes: bool) -> None:
    assert passes == is_transient(close_error(code, ""))
