"""How the service ends a session: told only what is durable, and always after which event to
resume."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from websockets.exceptions import InvalidStatus

from laissez.journal import JournalFailed
from laissez.server.commands import OPERATOR, CancelOrder, RevokeKey
from laissez.server.commands import PlaceOrder as Placed
from laissez.server.connection import Connection
from laissez.server.desk import Desk
from laissez.server.forms import FORMS
from laissez.server.keyring import authenticate
from laissez.server.reading import read_alternatives
from laissez.server.session import Session
from laissez.server.upkeep import cancel_orphans, last_done
from laissez.wire.problems import Problem
from laissez.wire.requests import Alternative, Hello
from laissez.wire.session import JSON
from live_world import SOON_S, Live, eventually, many_turns, place, with_live
from service_world import GENEROUS, World, with_pages_of, with_service

pytestmark = pytest.mark.once

ORDER = Placed(read_alternatives((Alternative("h100", "1"),)))


@contextmanager
def held_up(desk: Desk) -> Iterator[None]:
    """The journal stores, and the desk does not hear of it until the block ends."""
    release, stored = desk._release, [desk.durable]
    desk._release = stored.append  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        desk._release = release  # type: ignore[method-assign]
        release(max(stored[-1], desk._commit.durable))


class Wire:
    """A connection that keeps what is written to it."""

    def __init__(self) -> None:
        self.is_full = self.is_gone = False
        self.writable = asyncio.Event()
        self.said: list[Any] = []

    def attach(self, session: Session) -> None:
        pass

    def write(self, payload: bytes, text: bool) -> None:
        read = msgspec.json.decode(payload)
        self.said += read if isinstance(read, list) else [read]


def session_of(world: World, who: str, hello: Hello) -> tuple[Session, Wire]:
    principal = authenticate(world.desk.exchange.keys, world.secrets[who])
    assert principal is not None
    wire = Wire()
    return Session(world.desk, principal, FORMS[JSON], hello, wire), wire  # type: ignore[arg-type]


def test_a_revoked_key_is_not_heard_from_that_instant_and_told_so_once_it_is_durable(
    tmp_path: Path,
) -> None:
    async def tale(live: Live) -> None:
        desk = live.world.desk
        secret = live.world.new_secret("ann", "read", "trade")
        id = (await live.world.ask(secret, "GET", "/v1/me")).json()["key"]
        async with live.peer(secret) as revoked:
            ending, heard_before = asyncio.create_task(revoked.end()), revoked.frames
            with held_up(desk):
                desk.enter(OPERATOR, "", "", RevokeKey(id))
                position = desk.position
                await revoked.say(place("late", "h100", "1"))
                await asyncio.sleep(0.02)
                await many_turns()
                assert (heard_before, position) == (revoked.frames, desk.position)
            code, heard = await ending
            assert (4401, ["key_revoked"]) == (code, [message["reason"] for message in heard])

    with_live(tmp_path / "data", tale)


def test_a_refused_hello_tells_nothing_that_is_not_durable(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        desk = live.world.desk
        async with live.connected("ann") as ahead:
            with held_up(desk):
                desk.enter("ann", "", "", ORDER)
                hearing = asyncio.create_task(ahead.ask(type="hello", resume_after=9))
                await asyncio.sleep(0.02)
                await many_turns()
                assert not hearing.done()
            refused = await hearing
            assert (
                "bad_request" == refused["code"]
                and f"from 0 to {desk.latest('ann')}" in refused["detail"]
            )

    with_live(tmp_path / "data", tale)


def test_a_session_that_ends_before_it_has_caught_up_resumes_where_it_began(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.place("ann", "h100", "1")
        session, wire = session_of(world, "ann", Hello(resume_after=1))
        with held_up(world.desk):
            world.desk.enter("ann", "", "", ORDER)
            greeting = asyncio.create_task(session.greet(Hello(resume_after=1)))
            await many_turns()
            session.end(1001, "stopping")
        await greeting
        await many_turns()
        assert [("closing", 1)] == [(message["type"], message["n"]) for message in wire.said]
        session.leave()

    with_service(tmp_path / "data", story)


@pytest.mark.parametrize("reason", ["slow_consumer", "key_revoked"])
def test_a_session_that_ends_while_it_catches_up_resumes_after_the_last_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    with_pages_of(monkeypatch, 3)

    async def story(world: World) -> None:
        for _ in range(20):
            world.desk.enter("ann", "", "", ORDER)
        session, wire = session_of(world, "ann", Hello(resume_after=0))
        greeting = asyncio.create_task(session.greet(Hello(resume_after=0)))
        await eventually(lambda: bool(wire.said))  # and the peer reads no further
        if reason == "key_revoked":
            world.desk.enter(OPERATOR, "", "", RevokeKey(session.key))
            await eventually(lambda: session.ended is not None)
            wire.writable.set()
        await greeting
        assert session.ended is not None and reason == session.ended[1]
        assert ["welcome", "event", "event", "event", "closing"] == [
            message["type"] for message in wire.said
        ]
        assert 3 == wire.said[-1]["n"]
        session.leave()
        assert not world.desk.following() and not world.desk._others

    with_service(
        tmp_path / "data",
        story,
        msgspec.structs.replace(
            GENEROUS, dead_after_s=0.05 if reason == "slow_consumer" else 600, heartbeat_s=0.01
        ),
    )


def test_a_slow_session_resumes_before_events_that_became_durable_with_its_end(
    tmp_path: Path,
) -> None:
    async def story(world: World) -> None:
        session, wire = session_of(world, "ann", Hello())
        await session.greet(Hello())
        await many_turns()
        assert ["welcome"] == [message["type"] for message in wire.said]
        wire.is_full = True
        with held_up(world.desk):
            world.desk.enter("bob", "", "", ORDER)
            session.receive(
                msgspec.json.encode([{"type": "ping", "id": str(number)} for number in range(20)])
            )
            world.desk.enter("ann", "", "", ORDER)
            # all of it becomes known at once
            await eventually(lambda: world.desk._commit.durable == world.desk.position)
        await many_turns()
        assert (4408, "slow_consumer") == session.ended
        assert ("closing", 0) == (wire.said[-1]["type"], wire.said[-1]["n"])
        session.leave()

    with_service(
        tmp_path / "data", story, msgspec.structs.replace(GENEROUS, outbound_messages_max=10)
    )


def test_orders_left_behind_are_cancelled_also_while_what_came_last_is_still_being_stored(
    tmp_path: Path,
) -> None:
    async def story(world: World) -> None:
        desk, stored = world.desk, threading.Event()
        blocked = Placed(read_alternatives((Alternative("a100", "1"),)), of_session=True)
        desk.enter("bob", "", "", Placed(read_alternatives((Alternative("a100", "9"),))))
        desk.enter("ann", "", "", blocked)
        await desk.all_durable()
        append = desk._journal.append
        desk._journal.append = lambda *group: stored.wait(SOON_S) and append(*group)  # type: ignore[method-assign, assignment]
        desk.enter("ann", "", "", CancelOrder("ord_x"))  # later than anything the market knows of
        assert 1 == cancel_orphans(desk, last_done(desk))
        stored.set()
        await desk.all_durable()
        assert desk.failure is None and 0 == desk.exchange.accounts["ann"].open_orders

    with_service(tmp_path / "data", story)


def test_session_orders_left_by_a_journal_failure_are_cancelled_at_the_next_start(
    tmp_path: Path,
) -> None:
    async def story(world: World) -> None:
        session, _ = session_of(world, "ann", Hello(cancel_on_disconnect=True))
        await session.greet(Hello(cancel_on_disconnect=True))
        session.receive(
            msgspec.json.encode(
                [place("1", "a100", "9"), place("2", "a100", "1"), place("3", "a100", "2")]
            )
        )
        await eventually(lambda: len(session._placed or ()) == 2)

        def fail(*_: object) -> int:
            raise JournalFailed("the disk is full")

        world.desk._commit.put = fail  # type: ignore[method-assign, assignment]
        session.leave()
        assert "the disk is full" == world.desk.failure and not world.desk.following()

    with_service(tmp_path / "data", story)


def test_a_handshake_that_a_stop_overtakes_is_told_that_the_server_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """And not of a bug: our own session would give up for that."""
    connect = Connection.handle_connect

    def connect_and_stop(self: Connection, event: Any) -> None:
        connect(self, event)
        self.shutdown()

    async def tale(live: Live) -> None:
        monkeypatch.setattr(Connection, "handle_connect", connect_and_stop)
        with pytest.raises(InvalidStatus) as refused:
            async with live.connected("ann"):
                pass
        response = refused.value.response
        problem = msgspec.json.decode(response.body or b"{}", type=Problem)
        assert (503, "stopping", "application/problem+json") == (
            response.status_code,
            problem.code,
            response.headers["content-type"],
        )
        await many_turns()

    with_live(tmp_path / "data", tale)
    assert [] == [record.getMessage() for record in caplog.records if record.exc_info]


def test_a_session_forgets_its_orders_that_were_cancelled_elsewhere(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        desk = live.world.desk
        async with live.peer("ann", cancel_on_disconnect=True) as peer:
            await peer.say(place("blocks", "a100", "9"), place("1", "a100", "1"))
            order = [message["events"][0]["event"]["order"] for message in await peer.hear_all(2)][
                1
            ]
            (session,) = live.sessions._open
            assert {order} == session._placed
            desk.enter("ann", "", "", CancelOrder(order))
            await eventually(lambda: not session._placed)

    with_live(tmp_path / "data", tale)
