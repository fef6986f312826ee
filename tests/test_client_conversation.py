"""A session's state without a connection: fed with messages, asked for frames."""

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
from laissez.client.conversation import Conversation, closing_error
from laissez.client.errors import is_passing
from laissez.client.messages import CODECS, Sendable
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


class Talk:
    """A conversation, with the server's side played by the test."""

    def __init__(
        self,
        resume_after: int | None = None,
        encoding: str = "msgpack",
        in_flight: int = 1000,
        pending: int = 1000,
        told: int = 100,
    ) -> None:
        hello = Hello(resume_after=resume_after)
        self.state = Conversation(
            CODECS[encoding], hello, in_flight_max=in_flight, pending_max=pending, told_max=told
        )
        self.decode: Any = msgspec.msgpack.decode if encoding == "msgpack" else msgspec.json.decode

    def connect(self, n: int = 0, **bounds: int) -> dict[str, Any]:
        hello: dict[str, Any] = self.decode(self.state.hello())
        self.hear(
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

    def hear(self, *messages: wire.Sent) -> None:
        self.state.receive(self.state.codec.encode(messages if len(messages) != 1 else messages[0]))  # type: ignore[arg-type]

    def ask(self, message: Sendable = CANCEL) -> Future[Any]:
        future: Future[Any] = Future()
        self.state.ask(message, future)
        return future

    def sent(self) -> list[dict[str, Any]]:
        """All that goes out now, in one list."""
        found: list[dict[str, Any]] = []
        while (frame := self.state.next_frame()) is not None:
            found += self.decode(frame)
        return found

    def sent_ids(self) -> list[str]:
        return [message["id"] for message in self.sent()]


@pytest.mark.parametrize("encoding", ["msgpack", "json"])
def test_what_is_asked_together_goes_out_as_one_frame(encoding: str) -> None:
    talk = Talk(encoding=encoding)
    talk.connect()
    asked = [talk.ask() for _ in range(3)]
    frame = talk.decode(talk.state.next_frame())
    assert [
        {"type": "cancel_order", "order": "ord_a1", "id": message["id"]} for message in frame
    ] == frame
    assert 3 == len({message["id"] for message in frame})
    assert None is talk.state.next_frame()
    talk.hear(*(wire.Reply(id=message["id"]) for message in reversed(frame)))
    assert [message["id"] for message in frame] == [future.result(0).id for future in asked]
    assert talk.state.is_idle


def test_two_sessions_make_different_ids() -> None:
    first, second = Talk(), Talk()
    for talk in (first, second):
        talk.connect()
        talk.ask()
    assert first.sent_ids() != second.sent_ids()


def test_frames_keep_to_the_bounds_of_the_server() -> None:
    talk = Talk(in_flight=2000, pending=2000)
    talk.connect()
    for _ in range(BATCH_COMMANDS_MAX + 1):
        talk.ask()
    assert [BATCH_COMMANDS_MAX, 1] == [len(talk.decode(talk.state.next_frame())) for _ in range(2)]
    large = PlaceOrder(alternatives=(Alternative("x" * 60_000, "1"),))
    for _ in range(9):
        talk.ask(large)
    frames = []
    while (frame := talk.state.next_frame()) is not None:
        frames.append(frame)
    assert all(len(frame) <= BATCH_BYTES_MAX for frame in frames)
    assert [4, 4, 1] == [len(talk.decode(frame)) for frame in frames]


def test_frames_keep_to_lower_bounds_that_the_server_names() -> None:
    talk = Talk()
    talk.connect(frame_messages_max=8, frame_bytes_max=1_000)
    for _ in range(10):
        talk.ask()
    assert [8, 2] == [len(talk.decode(talk.state.next_frame())) for _ in range(2)]
    for _ in range(3):
        talk.ask(PlaceOrder(alternatives=(Alternative("x" * 400, "1"),)))
    assert [2, 1] == [len(talk.decode(talk.state.next_frame())) for _ in range(2)]


def test_what_no_frame_can_carry_is_refused_before_it_is_taken_on() -> None:
    talk = Talk()
    with pytest.raises(UsageError, match="at most"):
        talk.ask(PlaceOrder(alternatives=(Alternative("x" * BATCH_BYTES_MAX, "1"),)))
    with pytest.raises(UsageError, match="limit"):
        talk.ask(SetLimit(lease="lse_a1", limit=2.5))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="an id"):
        talk.ask(CancelOrder(order="ord_a1", id="two words"))
    assert talk.state.is_idle


def test_only_so_many_are_on_their_way_and_only_so_many_held() -> None:
    talk = Talk(in_flight=2, pending=4)
    talk.connect()
    for _ in range(4):
        talk.ask()
    with pytest.raises(SessionFull, match="room"):
        talk.ask()
    first, _ = talk.sent_ids()
    assert [] == talk.sent_ids()
    assert not talk.state.has_work
    talk.hear(wire.Reply(id=first))
    assert talk.state.has_work
    assert not talk.state.is_full
    assert 1 == len(talk.sent_ids())


def test_a_lost_connection_sends_the_unanswered_again_in_order_with_the_same_ids() -> None:
    talk = Talk()
    talk.connect()
    futures = [talk.ask() for _ in range(4)]
    ids = talk.sent_ids()
    talk.hear(wire.Reply(id=ids[1], events=(numbered(1),)))
    late = talk.ask()
    assert 1 == talk.connect(n=1)["resume_after"]
    again = talk.sent_ids()
    assert [ids[0], ids[2], ids[3]] == again[:3]
    talk.hear(*(wire.Reply(id=id) for id in again))
    assert all(future.done() for future in [*futures, late])


def test_nothing_is_sent_while_the_server_says_goodbye() -> None:
    talk = Talk()
    talk.connect()
    talk.hear(wire.Closing(reason="stopping", n=0))
    future = talk.ask()
    assert [] == talk.sent_ids()
    talk.connect()
    (id,) = talk.sent_ids()
    talk.hear(wire.Reply(id=id))
    assert future.done()


def test_a_command_turned_away_by_a_stopping_server_goes_to_the_next() -> None:
    talk = Talk()
    talk.connect()
    future = talk.ask()
    (id,) = talk.sent_ids()
    talk.hear(wire.Refused(id=id, code="stopping", detail="bye", status=503))
    assert not future.done()
    talk.connect()
    assert [id] == talk.sent_ids()


def test_a_waiter_that_went_away_is_not_served() -> None:
    async def story() -> None:
        talk = Talk()
        talk.connect()
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        talk.state.ask(CANCEL, future)
        future.cancel()
        assert [] == talk.sent_ids()
        assert talk.state.is_idle

    asyncio.run(story())


def test_a_refusal_is_an_error_with_its_code() -> None:
    talk = Talk()
    talk.connect()
    future = talk.ask()
    talk.hear(wire.Refused(id=talk.sent_ids()[0], code="limit_below_bid", detail="why", status=422))
    with pytest.raises(Refused, match="why"):
        future.result(0)


def test_a_refused_frame_or_greeting_ends_the_connection() -> None:
    talk = Talk()
    talk.state.hello()
    with pytest.raises(Unavailable):
        talk.hear(wire.Refused(code="stopping", detail="bye", status=503))
    talk.connect()
    with pytest.raises(Refused):
        talk.hear(wire.Refused(code="bad_request", detail="unreadable", status=400))


def test_a_question_is_answered_with_what_it_asks_for() -> None:
    talk = Talk()
    talk.connect()
    future = talk.ask(AskQuote(scope="h100"))
    quote = Quote("h100", "2", AT)
    talk.hear(wire.QuoteReply(id=talk.sent_ids()[0], quote=quote))
    assert quote == future.result(0)


def test_every_event_is_told_once_whichever_way_it_comes() -> None:
    talk = Talk()
    talk.connect(n=4)
    talk.ask()
    (id,) = talk.sent_ids()
    talk.hear(wire.EventSent(told=numbered(5)))
    assert 5 == talk.connect(n=5)["resume_after"]
    talk.hear(wire.EventSent(told=numbered(6)), wire.EventSent(told=numbered(7)))
    talk.hear(wire.Reply(id=id, events=(numbered(6),)), wire.Heartbeat(n=7))
    assert [numbered(5), numbered(6), numbered(7)] == list(talk.state.told)


def test_events_begin_where_the_server_says_or_where_the_caller_left_off() -> None:
    fresh, resuming = Talk(), Talk(resume_after=3)
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
def test_a_hole_in_the_count_breaks_the_connection_and_loses_nothing(message: wire.Sent) -> None:
    talk = Talk()
    talk.connect(n=5)
    with pytest.raises(ConnectionFailed, match="up to 6"):
        talk.hear(message)
    assert 5 == talk.connect(n=5)["resume_after"]


def test_a_server_that_forgot_events_is_another_market() -> None:
    talk = Talk(resume_after=9)
    with pytest.raises(UnexpectedAnswer, match="not the same market"):
        talk.connect(n=8)


def test_a_reader_who_is_too_far_behind_is_told_what_it_missed() -> None:
    talk = Talk(told=2)
    talk.connect()
    talk.hear(*(wire.EventSent(told=numbered(n)) for n in (1, 2, 3, 4)))
    talk.hear(
        wire.NoticeSent(
            notice=RateChanged(at=AT, lease="lse_a1", leaf="h100/g0", rate="1", limit=None)
        )
    )
    one, two, missed = talk.state.told
    assert [numbered(1), numbered(2)] == [one, two]
    assert isinstance(missed, EventsMissed) and 2 == missed.after
    talk.state.told.popleft()
    talk.state.told.popleft()
    talk.hear(wire.EventSent(told=numbered(5)))
    assert [missed, numbered(5)] == list(talk.state.told)


def test_history_that_is_gone_is_said_and_the_session_goes_on() -> None:
    talk = Talk()
    talk.connect(n=5)
    gone = closing_error(wire.CLOSE_HISTORY_GONE, "")
    assert is_passing(talk.state.lost(gone))
    (missed,) = talk.state.told
    assert isinstance(missed, EventsMissed) and 5 == missed.after
    assert "resume_after" not in talk.connect(n=99)
    assert 99 == talk.state.last


def test_a_key_that_may_not_resume_misses_what_happened_meanwhile_and_the_session_goes_on() -> None:
    talk = Talk()
    talk.connect(n=5)
    assert 5 == talk.decode(talk.state.hello())["resume_after"]
    with pytest.raises(Forbidden) as forbidden:
        talk.hear(wire.Refused(id="", code="forbidden", detail="resume_after: ...", status=403))
    assert is_passing(talk.state.lost(forbidden.value))
    (missed,) = talk.state.told
    assert isinstance(missed, EventsMissed) and 5 == missed.after
    assert "resume_after" not in talk.connect(n=99)
    # before the start it is the caller's to know
    assert isinstance(Talk(resume_after=1).state.lost(forbidden.value), Forbidden)


def test_history_that_is_gone_before_the_start_is_the_callers_to_know() -> None:
    gone = closing_error(wire.CLOSE_HISTORY_GONE, "")
    assert isinstance(Talk(resume_after=1).state.lost(gone), HistoryGone)


def test_giving_up_tells_each_waiter_what_is_known() -> None:
    talk = Talk(in_flight=2)
    talk.connect()
    sent, question, never_sent = talk.ask(), talk.ask(AskQuote(scope="h100")), talk.ask()
    id, _ = talk.sent_ids()
    talk.state.fail(ConnectionFailed("lost"))
    with pytest.raises(OutcomeUnknown) as unknown:
        sent.result(0)
    assert id == unknown.value.idempotency_key
    for future in (question, never_sent):
        with pytest.raises(ConnectionFailed):
            future.result(0)


def test_an_id_may_be_the_callers_own_but_only_one_at_a_time() -> None:
    talk = Talk()
    talk.connect()
    talk.ask(CancelOrder(order="ord_a1", id="mine"))
    with pytest.raises(UsageError, match="'mine'"):
        talk.ask(CancelOrder(order="ord_a1", id="mine"))
    assert ["mine"] == talk.sent_ids()


@pytest.mark.parametrize("frame", [b"", b"\xc1", b"\x81\xa4type\xa3wat"])
def test_a_frame_that_cannot_be_read_is_not_guessed_at(frame: bytes) -> None:
    talk = Talk()
    talk.connect()
    with pytest.raises(UnexpectedAnswer):
        talk.state.receive(frame)


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
def test_a_close_code_says_whether_to_come_back(code: int | None, passes: bool) -> None:
    assert passes == is_passing(closing_error(code, ""))
