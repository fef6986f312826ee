"""The end of a session: only durable state is sent, always with the number to resume after."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import msgspec
import pytest

from laissez.exchange.commands import OPERATOR, SERVICE, Request, RevokeKey
from laissez.journal import JournalFailed
from laissez.market.commands import CancelOrder, PlaceOrder
from laissez.server.auth import authenticate
from laissez.server.maintenance import cancel_orphans, last_done
from laissez.server.websocket.session import MESSAGES_PER_FRAME, Session
from laissez.wire.decoding import read_alternatives
from laissez.wire.requests import Alternative, Hello
from laissez.wire.session import Pong
from support.live_world import SOON_S, Live, eventually, place, settle_loop, with_live
from support.service_world import (
    GENEROUS,
    World,
    Written,
    journal_held,
    session_on,
    with_page_size,
    with_service,
)

pytestmark = pytest.mark.once


def order(tenant: str, scope: str = "h100", limit: str = "1") -> PlaceOrder:
    return PlaceOrder(tenant, read_alternatives((Alternative(scope, limit),)))


def session_of(world: World, who: str, hello: Hello) -> tuple[Session, Written]:
    principal = authenticate(world.gateway.exchange.keys, world.secrets[who])
    assert principal is not None
    wire = Written()
    return session_on(wire, world.gateway, principal, hello), wire


def test_a_revoked_key_is_ignored_at_once_and_notified_when_durable(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        gateway = live.world.gateway
        secret = live.world.new_secret("ann", "read", "trade")
        id = (await live.world.ask(secret, "GET", "/v1/me")).json()["key"]
        async with live.peer(secret) as revoked:
            ending, heard_before = asyncio.create_task(revoked.end()), revoked.frames
            with journal_held(gateway):
                gateway.enter(OPERATOR, SERVICE, "", RevokeKey(id))
                position = gateway.position
                await revoked.say(place("late", "h100", "1"))
                await asyncio.sleep(0.02)
                await settle_loop()
                assert (heard_before, position) == (revoked.frames, gateway.position)
            code, heard = await ending
            assert (4401, ["key_revoked"]) == (code, [message["reason"] for message in heard])

    with_live(tmp_path / "data", tale)


def test_a_refused_hello_reveals_only_durable_state(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        gateway = live.world.gateway
        async with live.connected("ann") as ahead:
            with journal_held(gateway):
                gateway.enter("ann", SERVICE, "", order("ann"))
                hearing = asyncio.create_task(ahead.ask(type="hello", resume_after=9))
                await asyncio.sleep(0.02)
                await settle_loop()
                assert not hearing.done()
            refused = await hearing
            assert (
                "bad_request" == refused["code"]
                and f"from 0 to {gateway.latest('ann')}" in refused["detail"]
            )

    with_live(tmp_path / "data", tale)


def test_a_session_that_ends_before_catching_up_resumes_at_its_start(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.place("ann", "h100", "1")
        session, wire = session_of(world, "ann", Hello(resume_after=1))
        with journal_held(world.gateway):
            world.gateway.enter("ann", SERVICE, "", order("ann"))
            greeting = asyncio.create_task(session.greet(Hello(resume_after=1)))
            await settle_loop()
            session.end(1001, "stopping")
        await greeting
        await settle_loop()
        assert [("closing", 1)] == [(message["type"], message["n"]) for message in wire.said]
        session.lost()

    with_service(tmp_path / "data", story)


@pytest.mark.parametrize("reason", ["slow_consumer", "key_revoked"])
def test_a_session_that_ends_while_catching_up_resumes_after_the_last_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    with_page_size(monkeypatch, 3)

    async def story(world: World) -> None:
        for _ in range(20):
            world.gateway.enter("ann", SERVICE, "", order("ann"))
        session, wire = session_of(world, "ann", Hello(resume_after=0))
        wire.is_full = True
        greeting = asyncio.create_task(session.greet(Hello(resume_after=0)))
        await eventually(lambda: bool(wire.said))  # the peer has stopped reading
        if reason == "key_revoked":
            world.gateway.enter(OPERATOR, SERVICE, "", RevokeKey(session.key))
            await eventually(lambda: session.ended is not None)
            wire.is_full = False
        await greeting
        assert session.ended is not None and reason == session.ended[1]
        assert ["welcome", "event", "event", "event", "closing"] == [
            message["type"] for message in wire.said
        ]
        assert 3 == wire.said[-1]["n"]
        session.lost()
        assert not world.gateway.following() and not world.gateway._others

    with_service(
        tmp_path / "data",
        story,
        msgspec.structs.replace(
            GENEROUS, dead_after_s=0.05 if reason == "slow_consumer" else 600, heartbeat_s=0.01
        ),
    )


def test_a_slow_session_resumes_before_unsent_events(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        session, wire = session_of(world, "ann", Hello())
        await session.greet(Hello())
        await settle_loop()
        assert ["welcome"] == [message["type"] for message in wire.said]
        wire.is_full = True
        with journal_held(world.gateway):
            world.gateway.enter("bob", SERVICE, "", order("bob"))
            session.receive(
                msgspec.json.encode([{"type": "ping", "id": str(number)} for number in range(20)])
            )
            world.gateway.enter("ann", SERVICE, "", order("ann"))
            # everything becomes durable at once
            await eventually(lambda: world.gateway._commit.durable == world.gateway.position)
        await settle_loop()
        assert (4408, "slow_consumer") == session.ended
        assert ("closing", 0) == (wire.said[-1]["type"], wire.said[-1]["n"])
        session.lost()

    with_service(
        tmp_path / "data", story, msgspec.structs.replace(GENEROUS, outbound_messages_max=10)
    )


def test_session_orders_are_cancelled_even_while_the_last_commands_are_stored(
    tmp_path: Path,
) -> None:
    async def story(world: World) -> None:
        gateway, stored = world.gateway, threading.Event()
        gateway.enter("bob", SERVICE, "", order("bob", "a100", "9"))
        request = Request("ann", SERVICE, "", b"", order("ann", "a100"), of_session=True)
        gateway.submit(request, gateway.clock.now())
        await gateway.all_durable()
        append = gateway._journal.append
        gateway._journal.append = lambda *group: stored.wait(SOON_S) and append(*group)  # type: ignore[method-assign, assignment]
        # later than the market's own time
        gateway.enter("ann", SERVICE, "", CancelOrder("ann", 9))
        assert 1 == cancel_orphans(gateway, last_done(gateway))
        stored.set()
        await gateway.all_durable()
        assert gateway.failure is None and 0 == gateway.exchange.market.counts("ann").orders_open

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

        world.gateway._commit.put = fail  # type: ignore[method-assign, assignment]
        session.lost()
        assert "the disk is full" == world.gateway.failure and not world.gateway.following()

    with_service(tmp_path / "data", story)


def test_a_session_forgets_orders_cancelled_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("laissez.server.websocket.session.PLACED_MAX", 1)

    async def tale(live: Live) -> None:
        gateway = live.world.gateway
        async with live.peer("ann", cancel_on_disconnect=True) as peer:
            await peer.say(place("blocks", "a100", "9"), place("1", "a100", "1"))
            await peer.hear_all(2)
            (session,) = live.sessions._open
            assert {2} == session._placed
            gateway.enter("ann", SERVICE, "", CancelOrder("ann", 2))
            await peer.ask(**place("2", "a100", "1"))
            assert {3} == session._placed

    with_live(tmp_path / "data", tale)


def test_a_session_with_a_revoked_key_resumes_before_later_events(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        gateway = live.world.gateway
        secret = live.world.new_secret("ann", "read", "trade")
        id = (await live.world.ask(secret, "GET", "/v1/me")).json()["key"]
        async with live.peer(secret) as revoked:
            with journal_held(gateway):  # everything becomes durable together
                gateway.enter("ann", SERVICE, "", order("ann"))
                sent = gateway.latest("ann")
                gateway.enter(OPERATOR, SERVICE, "", RevokeKey(id))
                gateway.enter("ann", SERVICE, "", order("ann"))
            _, heard = await revoked.end()
            assert sent < gateway.latest("ann")
            assert sent == heard[-1]["n"] == heard[-2]["told"]["n"]

    with_live(tmp_path / "data", tale)


def test_a_queued_repeated_reply_does_not_move_the_resume_number_back(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        session, wire = session_of(world, "ann", Hello())
        await session.greet(Hello())
        for id in ("one", "two", "one"):
            session.receive(msgspec.json.encode(place(id, "h100", "1")))
            await world.gateway.all_durable()
            wire.is_full = wire.is_full or id == "two"
        session.end(4408, "slow_consumer")
        assert world.gateway.latest("ann") == wire.said[-1]["n"]
        session.lost()

    with_service(tmp_path / "data", story)


def test_a_peer_that_kept_reading_may_get_more_than_the_bounds_at_once(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        session, wire = session_of(world, "ann", Hello())
        await session.greet(Hello())
        write = wire.write

        def fill(payload: bytes, text: bool) -> None:
            write(payload, text)
            wire.is_full = True

        wire.write = fill  # type: ignore[method-assign]
        most = world.gateway.limits.outbound_messages_max
        for _ in range(MESSAGES_PER_FRAME + most + 1):
            session.deliver(Pong(id=""))
        session.flush()
        assert wire.is_full and session.ended is None
        session.deliver(Pong(id=""))
        session.flush()
        assert (4408, "slow_consumer") == session.ended
        session.lost()

    with_service(
        tmp_path / "data", story, msgspec.structs.replace(GENEROUS, outbound_messages_max=3)
    )
