"""Sessions over real connections, to a server that the test scripts."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from http import HTTPStatus
from typing import Any, assert_type

import msgspec
import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from laissez.client import (
    AsyncSession,
    ConnectionFailed,
    EventsMissed,
    LaissezError,
    NotFound,
    OutcomeUnknown,
    Session,
    SessionClosed,
    Unauthenticated,
    UnexpectedAnswer,
    UsageError,
    alternative,
    retries,
)
from laissez.wire import session as wire
from laissez.wire.events import Numbered, OrderCancelled
from laissez.wire.requests import AskQuote, CancelOrder, Hello, SessionMessage
from laissez.wire.session import Reply
from laissez.wire.views import Quote

pytestmark = pytest.mark.once

KEY = "lz_4f2a_" + "S" * 43
ENCODE: dict[str, Callable[[object], bytes | str]] = {
    wire.MSGPACK: msgspec.msgpack.encode,
    wire.JSON: lambda messages: msgspec.json.encode(messages).decode(),
}
FRAME: Any = SessionMessage | list[SessionMessage]
DECODE = {
    wire.MSGPACK: msgspec.msgpack.Decoder(FRAME).decode,
    wire.JSON: msgspec.json.Decoder(FRAME).decode,
}


@pytest.fixture(autouse=True)
def no_long_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "DELAY_FIRST_S", 0.001)


class Peer:
    """The server's end of one connection."""

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket

    async def hear(self) -> list[Any]:
        frame = DECODE[str(self.socket.subprotocol)](await self.socket.recv(decode=False))
        return frame if isinstance(frame, list) else [frame]

    async def say(self, *messages: wire.Sent) -> None:
        await self.socket.send(ENCODE[str(self.socket.subprotocol)](messages))

    async def greet(self, n: int = 0, heartbeat_s: float = 15, dead_after_s: float = 60) -> Hello:
        (hello,) = await self.hear()
        await self.say(
            wire.Welcome(
                holder="ann", n=n, server="test", heartbeat_s=heartbeat_s, dead_after_s=dead_after_s
            )
        )
        assert isinstance(hello, Hello)
        return hello

    async def answer_all(self) -> None:
        """Carry out every command, each with one event."""
        n = 0
        while True:
            replies: list[wire.Sent] = []
            for message in await self.hear():
                replies.append(answer(message, n + 1))
                n += isinstance(replies[-1], Reply)
            await self.say(*replies)


def answer(message: Any, n: int) -> wire.Sent:
    if isinstance(message, AskQuote):
        return wire.QuoteReply(
            id=message.id, quote=Quote(message.scope, "2", "2026-11-15T08:30:00Z")
        )
    if isinstance(message, CancelOrder) and message.order == "ord_unknown":
        return wire.Refused(
            id=message.id, code="not_your_order", detail="no such order", status=404
        )
    return wire.Reply(id=message.id, events=(numbered(n),))


def numbered(n: int) -> Numbered:
    return Numbered(n, OrderCancelled(at="2026-11-15T08:30:00Z", order=f"ord_a{n}"))


Play = Callable[[Peer], Awaitable[None]]


@contextlib.asynccontextmanager
async def server(
    *plays: Play, subprotocols: tuple[str, ...] = (wire.MSGPACK, wire.JSON), **options: Any
) -> AsyncIterator[str]:
    """A server whose first connection follows the first play, and so on. All later connections
    follow the last play."""
    waiting = list(plays)

    async def play(socket: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            await (waiting.pop(0) if len(waiting) > 1 else waiting[0])(Peer(socket))

    listening = serve(
        play,
        "127.0.0.1",
        0,
        subprotocols=[Subprotocol(name) for name in subprotocols] or None,
        **options,
    )
    async with listening as running:
        yield f"http://127.0.0.1:{next(iter(running.sockets)).getsockname()[1]}"


async def willing(peer: Peer) -> None:
    await peer.greet()
    await peer.answer_all()


@pytest.mark.parametrize("encoding", ["msgpack", "json"])
def test_commands_are_pipelined_and_answered(encoding: Any) -> None:
    async def story() -> None:
        async with server(willing) as url, AsyncSession(url, KEY, encoding=encoding) as session:
            placed = assert_type(session.place(alternative("h100", "2.75")), asyncio.Future[Reply])
            quoted = session.quote("h100")
            refused = session.cancel("ord_unknown")
            assert (numbered(1),) == (await placed).events
            assert "2" == assert_type(await quoted, Quote).price
            with pytest.raises(NotFound):
                await refused

    asyncio.run(story())


def test_messages_of_one_turn_of_the_loop_share_one_frame() -> None:
    sizes: list[int] = []

    async def counting(peer: Peer) -> None:
        await peer.greet()
        messages = await peer.hear()
        sizes.append(len(messages))
        await peer.say(*(wire.Reply(id=message.id) for message in messages))
        await peer.socket.wait_closed()

    async def story() -> None:
        async with server(counting) as url, AsyncSession(url, KEY) as session:
            await asyncio.gather(*(session.relinquish("lse_a1") for _ in range(100)))

    asyncio.run(story())
    assert [100] == sizes


def test_send_many_respects_the_limits_and_keeps_the_order() -> None:
    async def story() -> list[Reply | LaissezError]:
        async with (
            server(willing) as url,
            AsyncSession(url, KEY, in_flight_max=7, pending_max=10) as session,
        ):
            return await session.send_many(
                CancelOrder(order="ord_unknown" if n == 50 else "ord_a1") for n in range(100)
            )

    outcomes = asyncio.run(story())
    assert [50] == [n for n, outcome in enumerate(outcomes) if isinstance(outcome, NotFound)]
    assert [*range(1, 100)] == [
        told.n for reply in outcomes if isinstance(reply, Reply) for told in reply.events
    ]


def test_a_session_reconnects_and_resends_unanswered_commands() -> None:
    heard: list[tuple[int | None, list[str]]] = []

    async def dropping(peer: Peer) -> None:
        await peer.greet()
        await peer.say(wire.EventSent(told=numbered(1)))
        heard.append((None, [message.id for message in await peer.hear()]))
        peer.socket.transport.abort()

    async def resuming(peer: Peer) -> None:
        hello = await peer.greet(n=1)
        messages = await peer.hear()
        heard.append((hello.resume_after, [message.id for message in messages]))
        await peer.say(
            wire.EventSent(told=numbered(2)),
            *(wire.Reply(id=message.id, events=(numbered(2),)) for message in messages),
        )
        await peer.socket.wait_closed()

    async def story() -> None:
        async with server(dropping, resuming) as url, AsyncSession(url, KEY) as session:
            assert (numbered(2),) == (await session.relinquish("lse_a1", id="mine")).events
            assert 2 == session.last_event
            events = session.events()
            assert [numbered(1), numbered(2)] == [await anext(events), await anext(events)]

    asyncio.run(story())
    assert [(None, ["mine"]), (1, ["mine"])] == heard


def test_giving_up_leaves_the_outcome_unknown_and_ends_the_session() -> None:
    async def dropping(peer: Peer) -> None:
        await peer.greet()
        await peer.hear()
        peer.socket.transport.abort()

    async def refusing(peer: Peer) -> None:
        await peer.hear()
        await peer.socket.close(wire.CLOSE_UNAUTHENTICATED)

    async def story() -> None:
        async with server(dropping, refusing) as url, AsyncSession(url, KEY) as session:
            with pytest.raises(OutcomeUnknown) as unknown:
                await session.relinquish("lse_a1", id="mine")
            assert "mine" == unknown.value.idempotency_key
            with pytest.raises(Unauthenticated):
                session.relinquish("lse_a1")
            with pytest.raises(Unauthenticated):
                await anext(session.events())

    asyncio.run(story())


def test_a_session_leaves_a_silent_server() -> None:
    async def silent(peer: Peer) -> None:
        await peer.greet(dead_after_s=0.05)
        await peer.socket.wait_closed()

    async def story() -> None:
        async with server(silent, willing) as url, AsyncSession(url, KEY) as session:
            assert 1 == len((await session.relinquish("lse_a1")).events)

    asyncio.run(story())


def test_an_idle_session_sends_pings() -> None:
    async def listening(peer: Peer) -> None:
        await peer.greet(heartbeat_s=0.01)
        (ping,) = await peer.hear()
        await peer.say(wire.Pong(id=ping.id), wire.EventSent(told=numbered(1)))
        await peer.socket.wait_closed()

    async def story() -> None:
        async with server(listening) as url, AsyncSession(url, KEY) as session:
            assert numbered(1) == await anext(session.events())

    asyncio.run(story())


def test_lost_history_is_reported_and_the_session_continues() -> None:
    async def dropping(peer: Peer) -> None:
        await peer.greet(n=5)
        peer.socket.transport.abort()

    async def forgetful(peer: Peer) -> None:
        await peer.hear()
        await peer.say(wire.Refused(code="history_gone", detail="gone", status=410))
        await peer.socket.close(wire.CLOSE_HISTORY_GONE)

    async def going_on(peer: Peer) -> None:
        assert None is (await peer.greet(n=50)).resume_after
        await peer.say(wire.EventSent(told=numbered(51)))
        await peer.socket.wait_closed()

    async def story() -> None:
        async with server(dropping, forgetful, going_on) as url, AsyncSession(url, KEY) as session:
            with pytest.raises(EventsMissed) as missed:
                await anext(session.events())
            assert 5 == missed.value.after
            assert numbered(51) == await anext(session.events())

    asyncio.run(story())


async def unauthenticated(connection: ServerConnection, request: Request) -> Response:
    return connection.respond(HTTPStatus.UNAUTHORIZED, "who?")


async def redirected(connection: ServerConnection, request: Request) -> Response:
    response = connection.respond(HTTPStatus.FOUND, "")
    response.headers["Location"] = "ws://127.0.0.1:1/elsewhere"
    return response


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"process_request": unauthenticated}, Unauthenticated),
        ({"process_request": redirected}, LaissezError),
        ({"subprotocols": ()}, UnexpectedAnswer),
    ],
)
def test_a_session_that_cannot_open_raises_the_reason(
    options: dict[str, Any], error: type[LaissezError]
) -> None:
    async def story() -> None:
        async with server(willing, **options) as url:
            with pytest.raises(error):
                await AsyncSession(url, KEY).open()

    asyncio.run(story())


def test_no_server_is_a_failed_connection() -> None:
    async def story() -> None:
        async with server(willing) as url:
            pass
        with pytest.raises(ConnectionFailed):
            await AsyncSession(url, KEY, timeout=0.01).open()

    asyncio.run(story())


def test_a_closed_session_refuses_commands_and_ends_its_events() -> None:
    async def story() -> None:
        async with server(willing) as url:
            session = AsyncSession(url, KEY)
            with pytest.raises(UsageError, match="not open"):
                session.relinquish("lse_a1")
            async with session:
                await session.relinquish("lse_a1")
            assert [numbered(1)] == [told async for told in session.events()]
            with pytest.raises(SessionClosed):
                session.relinquish("lse_a1")
            with pytest.raises(UsageError, match="once"):
                await session.open()

    asyncio.run(story())


def test_leaving_the_block_waits_for_outstanding_answers() -> None:
    async def story() -> None:
        async with server(willing) as url:
            async with AsyncSession(url, KEY) as session:
                futures = [session.relinquish("lse_a1") for _ in range(20)]
            assert all(future.done() and future.exception() is None for future in futures)

    asyncio.run(story())


def test_the_key_is_in_the_header_and_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[str] = []

    async def noting(peer: Peer) -> None:
        assert peer.socket.request is not None
        seen.append(peer.socket.request.headers["Authorization"])
        hello = await peer.greet()
        assert None is hello.key
        await peer.answer_all()

    async def story() -> None:
        quiet = logging.getLogger("test.server")
        quiet.propagate = False
        async with server(noting, logger=quiet) as url, AsyncSession(url, KEY) as session:
            await session.relinquish("lse_a1")

    for name in (None, "websockets", "websockets.client", "laissez.client"):
        caplog.set_level(logging.DEBUG, name)
    asyncio.run(story())
    assert [f"Bearer {KEY}"] == seen
    assert KEY not in caplog.text


@pytest.fixture
def url() -> Iterator[str]:
    """A cooperative server in its own thread."""
    found: list[str] = []
    started, stopping = threading.Event(), threading.Event()

    async def run() -> None:
        async with server(willing) as url:
            found.append(url)
            started.set()
            await asyncio.to_thread(stopping.wait)

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    started.wait()
    yield found[0]
    stopping.set()
    thread.join()


def test_a_blocking_session_needs_no_event_loop(url: str) -> None:
    with Session(url, KEY) as session:
        assert (numbered(1),) == assert_type(session.place(alternative("h100", 2)), Reply).events
        with pytest.raises(NotFound):
            session.cancel("ord_unknown")
        outcomes = session.send_many(CancelOrder(order="ord_a1") for _ in range(50))
        assert [*range(2, 52)] == [
            told.n for reply in outcomes if isinstance(reply, Reply) for told in reply.events
        ]
    with pytest.raises(SessionClosed):
        session.cancel("ord_a1")


def test_events_are_read_in_one_thread_while_another_sends(url: str) -> None:
    seen: list[object] = []
    with Session(url, KEY) as session:
        reader = threading.Thread(target=lambda: seen.extend(session.events()))
        reader.start()
        for _ in range(5):
            session.relinquish("lse_a1")
    reader.join()
    assert [numbered(n) for n in range(1, 6)] == seen


def test_endless_work_is_cancelled_when_the_session_closes(url: str) -> None:
    raised: list[LaissezError] = []
    started = threading.Event()

    async def endless() -> None:
        started.set()
        await asyncio.Event().wait()

    def run() -> None:
        try:
            session._run(endless())
        except LaissezError as error:
            raised.append(error)

    with Session(url, KEY) as session:
        waiting = threading.Thread(target=run, daemon=True)
        waiting.start()
        started.wait()
    waiting.join(10)
    assert [SessionClosed] == [type(error) for error in raised]


def test_closing_waits_for_work_that_another_thread_is_starting(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    starting, start = threading.Event(), asyncio.run_coroutine_threadsafe

    def start_late(work: Any, loop: asyncio.AbstractEventLoop) -> Any:
        if threading.current_thread() is reader:
            starting.set()
            assert session._thread is not None
            session._thread.join(0.1)  # ends if the loop stops meanwhile
        return start(work, loop)

    seen: list[object] = []
    with Session(url, KEY) as session:
        session.relinquish("lse_a1")
        monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", start_late)
        reader = threading.Thread(target=lambda: seen.extend(session.events()), daemon=True)
        reader.start()
        starting.wait()
    reader.join(10)
    assert [numbered(1)] == seen  # received before the end, so delivered


def test_a_blocking_session_must_be_opened_before_use(url: str) -> None:
    session = Session(url, KEY)
    with pytest.raises(UsageError, match="not open"):
        session.relinquish("lse_a1")
    with pytest.raises(UsageError, match="not open"):
        next(session.events())


def test_a_blocking_session_that_cannot_open_leaves_no_thread() -> None:
    before = threading.active_count()
    with pytest.raises(ConnectionFailed), Session("http://127.0.0.1:1", KEY, timeout=0.01):
        pass
    assert before == threading.active_count()
