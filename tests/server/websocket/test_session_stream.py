"""The stream of a session: events once each and in order, notices, heartbeats, and its end."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from laissez.server.background import every
from laissez.server.event_reader import EventReader
from laissez.server.rates import notify_rates, sample_rates
from laissez.server.settings import Limits
from laissez.server.websocket import connection
from laissez.wire.session import CLOSE_STOPPING, JSON, MSGPACK
from support.live_world import (
    Closed,
    Live,
    Message,
    Peer,
    events_of,
    eventually,
    place,
    settle_loop,
    slow_socket,
    with_live,
)
from support.service_world import GENEROUS, with_page_size

pytestmark = pytest.mark.once

LEAF = "a100/east/rack1/gpu1"
BURST = 100_000


def numbers(messages: list[Message]) -> list[int]:
    """The numbers of all received events, in replies and separate."""
    told: list[int] = []
    for message in messages:
        told += [one["n"] for one in message.get("events", ())] + (
            [message["told"]["n"]] if "told" in message else []
        )
    return told


async def places(peer: Peer, count: int) -> list[Message]:
    await peer.say(*[place(f"h100{index}", "h100", "1") for index in range(count)])
    return await peer.hear_all(count)


# -- events


def test_events_come_in_order_even_if_a_question_in_the_frame_causes_some(tmp_path: Path) -> None:
    """The possible fee of the order spends the budget, which acts on the next read."""

    async def tale(live: Live) -> None:
        await live.world.place("bob", "a100", "9")
        await live.world.ask("operator", "PUT", "/v1/controls/a100", {"flash_s": 600})
        await live.world.ask("ann", "PUT", "/v1/budget", {"amount": "0.01", "action": "warn"})
        async with live.peer("ann") as peer:
            await peer.say(
                place("1", "a100", "5", bid="5"), {"type": "quote", "id": "q", "scope": "a100"}
            )
            heard = [await peer.hear()]
            while heard[-1]["type"] != "quote":
                heard.append(await peer.hear())
            assert ["reply", "event", "event", "event", "quote"] == [
                message["type"] for message in heard
            ]
            assert [2, 3, 4, 5] == numbers(heard)

    with_live(tmp_path / "data", tale)


def test_own_events_come_in_the_reply_and_other_events_separately(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with (
            live.peer("ann") as one,
            live.peer("ann", MSGPACK) as two,
            live.peer("bob") as bob,
        ):
            mine = await one.ask(**place("1", "a100", "1"))
            assert [(1, "order.placed"), (2, "lease.started")] == events_of(mine)
            told = await two.hear_all(2)
            assert ["event", "event"] == [message["type"] for message in told]
            assert mine["events"] == [message["told"] for message in told]
            theirs = await bob.ask(**place("1", "a100", "2"))
            assert [(1, "order.placed"), (2, "lease.started")] == events_of(theirs)
            for peer in (one, two):
                lost = await peer.hear()
                assert ("event", 3, "lease.ended", LEAF) == (
                    lost["type"],
                    lost["told"]["n"],
                    lost["told"]["event"]["type"],
                    lost["told"]["event"]["leaf"],
                )
            assert "pong" == (await bob.ask(type="ping", id="p"))["type"]

    with_live(tmp_path / "data", tale)


def test_an_event_over_http_reaches_every_session_of_the_tenant(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.peer("ann") as peer:
            done = await live.world.place("ann", "a100", "1")
            assert done["events"] == [message["told"] for message in await peer.hear_all(2)]

    with_live(tmp_path / "data", tale)


SOME_PAGES, NO_PAGE = 3, 500


@pytest.mark.parametrize("page", [SOME_PAGES, NO_PAGE])
@pytest.mark.parametrize("form", [JSON, MSGPACK])
def test_a_session_resumes_where_the_previous_one_broke_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, page: int
) -> None:
    with_page_size(monkeypatch, page)
    secrets: dict[str, str] = {}

    async def before(live: Live) -> None:
        async with live.peer("ann", form) as peer:
            assert list(range(1, 9)) == numbers(await places(peer, 4))
        await live.world.place("ann", "h100", "1")

    async def after(live: Live) -> None:
        for last in (0, 3, 9, 10):
            async with live.peer("ann", form, resume_after=last) as peer:
                await live.world.place("bob", "h100", "0.5")
                missed = await peer.hear_all(10 - last)
                assert list(range(last + 1, 11)) == numbers(missed)
                assert "pong" == (await peer.ask(type="ping", id="p"))["type"]

    async def both(live: Live) -> None:
        await before(live)
        await after(live)

    with_live(tmp_path / "data", both, secrets=secrets)
    with_live(tmp_path / "data", after, secrets=secrets)


def test_a_welcome_does_not_wait_for_missed_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catching up may take long when many reconnect together, and a client without a welcome gives
    up and reconnects."""

    async def tale(live: Live) -> None:
        await live.world.place("ann", "h100", "1")
        may_read = asyncio.Event()
        read = EventReader.read

        async def late(self: EventReader, *arguments: Any) -> None:
            await may_read.wait()
            await read(self, *arguments)

        monkeypatch.setattr(EventReader, "read", late)
        async with live.connected("ann") as peer:
            await peer.say({"type": "hello", "resume_after": 0})
            assert "welcome" == (await peer.hear())["type"]
            may_read.set()
            assert [1, 2] == numbers(await peer.hear_all(2))

    with_live(tmp_path / "data", tale)


@pytest.mark.parametrize("page", [SOME_PAGES, NO_PAGE])
def test_events_during_the_catch_up_come_after_missed_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    with_page_size(monkeypatch, page)

    async def tale(live: Live) -> None:
        gateway = live.world.gateway
        for _ in range(40):
            await live.world.place("ann", "h100", "0.5")
        async with live.connected("operator") as peer:
            await peer.say({"type": "hello", "resume_after": 0})
            while "operator" not in gateway.following():
                await asyncio.sleep(0)
            for _ in range(20):
                await live.world.place("bob", "h100", "0.4")
            welcome = await peer.hear()
            assert ("welcome", 0) == (welcome["type"], welcome["n"])
            latest = gateway.latest("operator")
            assert list(range(1, latest + 1)) == numbers(await peer.hear_all(latest))

    with_live(tmp_path / "data", tale)


@pytest.mark.parametrize("page", [SOME_PAGES, NO_PAGE])
def test_commands_sent_right_after_the_hello_are_answered_after_the_welcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    with_page_size(monkeypatch, page)

    async def tale(live: Live) -> None:
        for _ in range(10):
            await live.world.place("ann", "h100", "0.5")
        async with live.connected("ann") as peer:
            await peer.say({"type": "hello", "resume_after": 0})
            await peer.say(place("1", "h100", "1"))
            await peer.say({"type": "ping", "id": "2"})
            heard = [await peer.hear()]
            while heard[-1]["type"] != "pong":
                heard.append(await peer.hear())
            kinds = [message["type"] for message in heard]
            assert ("welcome", {"event"}, ["reply", "pong"]) == (
                kinds[0],
                set(kinds[1:-2]),
                kinds[-2:],
            )
            told = numbers(heard)
            assert all(b == a + 1 for a, b in pairwise(told)) and 1 == told[0]

    with_live(tmp_path / "data", tale)


def test_resuming_after_lost_events_closes_the_session(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        for _ in range(5):
            await live.world.place("ann", "h100", "1")
        async with live.connected("ann") as peer:
            refused = await peer.ask(type="hello", resume_after=2)
            assert ("refused", "history_gone", 410) == (
                refused["type"],
                refused["code"],
                refused["status"],
            )
            assert (4410, []) == await peer.end()
        assert 0 == len(live.world.quota) and [] == live.world.gateway.following()
        async with live.peer("ann", resume_after=6) as peer:
            assert [7, 8, 9, 10] == numbers(await peer.hear_all(4))

    with_live(tmp_path / "data", tale, Limits(history_events_max=4, commands_burst=BURST))


# -- notices and heartbeats


def test_rate_changes_are_notified_and_a_near_limit_once(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        world = live.world
        mine = await world.place("ann", "a100", "10")
        async with live.peer("ann", warn_within="0.2") as peer:

            async def looked_at() -> list[tuple[str, str]]:
                notify_rates(world.gateway, "ann")
                await peer.say({"type": "ping", "id": "p"})
                heard = []
                while (message := await peer.hear())["type"] != "pong":
                    heard.append((message["notice"]["type"], message["notice"]["rate"]))
                return heard

            assert [("rate.changed", "0")] == await looked_at()
            assert [] == await looked_at()
            theirs = (await world.place("bob", "a100", "7.9"))["id"]
            assert [("rate.changed", "7.9")] == await looked_at()
            for price, told in (
                ("8", ["rate.changed", "limit.near"]),
                ("9", ["rate.changed"]),
                ("7", ["rate.changed"]),
                ("8.5", ["rate.changed", "limit.near"]),
            ):
                await world.ask(
                    "bob",
                    "PUT",
                    f"/v1/orders/{theirs}",
                    {"alternatives": [{"scope": "a100", "limit": price}]},
                )
                assert [(kind, price) for kind in told] == await looked_at()
            await world.ask("ann", "PATCH", f"/v1/leases/{mine['lease']}", {"limit": None})
            assert "lease.limit_set" == (await peer.hear())["told"]["event"]["type"]
            assert [] == await looked_at()

    with_live(tmp_path / "data", tale)


def test_many_changes_between_two_samples_are_one_notice(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        world = live.world
        await world.place("ann", "a100", "10")
        theirs = (await world.place("bob", "a100", "1"))["id"]
        async with live.peer("ann") as peer:
            for price in ("2", "3", "4"):
                await world.ask(
                    "bob",
                    "PUT",
                    f"/v1/orders/{theirs}",
                    {"alternatives": [{"scope": "a100", "limit": price}]},
                )
            look = partial(sample_rates, world.gateway)
            looking = asyncio.create_task(every(0.001, world.gateway, look))
            notice = (await peer.until("notice"))["notice"]
            looking.cancel()
            assert ("rate.changed", "4", "10") == (notice["type"], notice["rate"], notice["limit"])

    with_live(tmp_path / "data", tale)


def test_a_heartbeat_has_the_number_of_the_last_event(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.peer("ann") as peer:
            assert 0 == (await peer.until("heartbeat"))["n"]
            await live.world.place("ann", "h100", "1")
            heard = [
                await peer.until("event"),
                await peer.until("event"),
                await peer.until("heartbeat"),
            ]
            assert [1, 2] == numbers(heard) and 2 == heard[-1]["n"]

    with_live(tmp_path / "data", tale, Limits(heartbeat_s=0.02))


# -- the end


def test_a_revoked_key_ends_its_sessions_at_once_and_no_others(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        secret = live.world.new_secret("ann", "read", "trade")
        id = (await live.world.ask(secret, "GET", "/v1/me")).json()["key"]
        async with live.peer(secret) as revoked, live.peer("ann") as other:
            (one,) = [
                follower for follower in live.world.gateway.followers("ann") if follower.key == id
            ]
            await live.world.ask("operator", "DELETE", f"/v1/keys/{id}")
            position = live.world.gateway.position
            one.receive(b'{"type": "cancel_order", "id": "late", "order": "ord_x"}')  # type: ignore[attr-defined]
            code, heard = await revoked.end()
            assert (4401, ["closing"], "key_revoked") == (
                code,
                [message["type"] for message in heard],
                heard[0]["reason"],
            )
            assert position == live.world.gateway.position
            assert "pong" == (await other.ask(type="ping", id="p"))["type"]
            await live.until_open(1)

    with_live(tmp_path / "data", tale)


def test_a_planned_stop_is_announced_and_refuses_new_sessions(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        gateway = live.world.gateway
        async with live.peer("ann") as peer:
            await places(peer, 1)
            gateway.stopping = True
            refused = await peer.ask(**place("late", "h100", "1"))
            assert ("refused", "stopping", 503) == (
                refused["type"],
                refused["code"],
                refused["status"],
            )
            gateway.end_streams(CLOSE_STOPPING, "stopping")
            code, heard = await peer.end()
            assert (1001, [("closing", "stopping", 2)]) == (
                code,
                [(one["type"], one["reason"], one["n"]) for one in heard],
            )
        async with live.connected("ann") as peer:
            assert "stopping" == (await peer.ask(type="hello"))["code"]
            assert (1001, []) == await peer.end()

    with_live(tmp_path / "data", tale)


def test_a_slow_session_is_cut_off_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "LAST_WORD_WITHIN_S", 0.05)

    async def tale(live: Live) -> None:
        world = live.world
        options: dict[str, Any] = {"sock": slow_socket(live.port), "max_queue": 1}
        async with live.peer("operator", socket_options=options) as deaf, live.peer("ann") as ann:
            last = world.gateway.latest("operator")
            for turn in range(400):
                if "operator" not in world.gateway.following():
                    break
                order = [place(f"{turn}-{index}", "a100", "0.1") for index in range(20)]
                await ann.say(*order)
                replies = await ann.hear_all(20)
                await ann.say(
                    *[
                        {
                            "type": "cancel_order",
                            "id": f"c{turn}-{index}",
                            "order": reply["events"][0]["event"]["order"],
                        }
                        for index, reply in enumerate(replies)
                        if len(reply["events"]) == 1
                    ]
                )
                await ann.hear_all(sum(len(reply["events"]) == 1 for reply in replies))
            await live.until_open(1)
            code, heard = await deaf.end()
            told = numbers(heard)
            assert list(range(last + 1, last + 1 + len(told))) == told
            closing = heard[-1]
            assert (4408, "closing", "slow_consumer", told[-1]) == (
                code,
                closing["type"],
                closing["reason"],
                closing["n"],
            )
        async with live.peer("operator", resume_after=closing["n"]) as resumed:
            latest = world.gateway.latest("operator")
            assert list(range(told[-1] + 1, latest + 1)) == numbers(
                await resumed.hear_all(latest - told[-1])
            )

    with_live(
        tmp_path / "data",
        tale,
        Limits(outbound_messages_max=50, commands_burst=BURST, commands_per_second=BURST),
    )


@pytest.mark.parametrize("page", [SOME_PAGES, NO_PAGE])
def test_missed_events_do_not_make_a_session_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    with_page_size(monkeypatch, page)

    async def tale(live: Live) -> None:
        for _ in range(60):
            await live.world.place("ann", "h100", "1")
        async with live.peer(
            "ann", resume_after=0, socket_options={"sock": slow_socket(live.port)}
        ) as peer:
            await live.world.place("ann", "h100", "1")
            latest = live.world.gateway.latest("ann")
            assert list(range(1, latest + 1)) == numbers(await peer.hear_all(latest))

    with_live(tmp_path / "data", tale, Limits(outbound_messages_max=3, commands_burst=BURST))


def test_a_dead_peer_is_noticed(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.peer("ann") as peer:
            peer.socket.transport.abort()
            await live.until_open()
        assert 0 == len(live.world.quota) and [] == live.world.gateway.following()

    with_live(tmp_path / "data", tale)


def test_sessions_and_streams_of_a_tenant_are_limited(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.peer("ann"), live.peer("ann") as second, live.peer("bob"):
            async with live.connected("ann") as third:
                refused = await third.ask(type="hello")
                assert ("too_many_sessions", 429, 1) == (
                    refused["code"],
                    refused["status"],
                    refused["retry_after"],
                )
                assert (4429, []) == await third.end()
            stream = await live.world.ask(
                "ann", "GET", "/v1/events", headers={"Accept": "text/event-stream"}
            )
            assert 429 == stream.status_code
            await second.socket.close()
            await eventually(lambda: live.world.quota.taken["ann"] == 1)
            async with live.peer("ann"):
                assert 3 == len(live.world.quota)

    with_live(tmp_path / "data", tale, Limits(sessions_max=2))


def test_a_tenants_own_cap_of_sessions_counts(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        await live.world.ask("operator", "PATCH", "/v1/tenants/ann", {"caps": {"sessions": 0}})
        async with live.connected("ann") as peer:
            assert "too_many_sessions" == (await peer.ask(type="hello"))["code"]

    with_live(tmp_path / "data", tale)


def test_an_oversized_frame_closes_the_session_without_effect(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        most = live.world.gateway.limits.batch_bytes_max
        before = live.world.gateway.position
        async with live.peer("ann") as peer:
            whole = '{"type": "ping", "id": "p"}'
            await peer.say_raw(whole + " " * (most - len(whole)))
            assert "pong" == (await peer.hear())["type"]
            await peer.say_raw(
                '[{"type": "cancel_order", "id": "1", "order": "x"}' + " " * most + "]"
            )
            with pytest.raises(Closed) as closed:
                await peer.hear()
            assert 1009 == closed.value.code
            await live.until_open()
            await settle_loop()
            assert before == live.world.gateway.position

    with_live(tmp_path / "data", tale, GENEROUS)
