"""Every bound of `laissez.wire.limits` that the service enforces: the bound is allowed, one more is
not.

`test_settings.py` tests which bounds are settings. Other tests cover heads (`http/test_heads.py`),
history (`test_event_log.py`), rate limits (`test_gateway.py`), keys (`exchange/test_keys.py`) and
webhooks (`webhooks`).
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from laissez.server.settings import Limits
from laissez.wire import limits as bounds
from support.live_world import Live, place, with_live
from support.service_world import GENEROUS, World, unknown_order, with_service

pytestmark = pytest.mark.once

ORDER = {"alternatives": [{"scope": "h100", "limit": "1"}]}
JSON_BODY = {"Content-Type": "application/json"}


def padded(text: str, size: int) -> bytes:
    return text.encode() + b" " * (size - len(text))


@pytest.mark.parametrize(
    ("path", "body", "most"),
    [
        ("/v1/orders", ORDER, bounds.BODY_BYTES_MAX),
        ("/v1/batch", {"commands": [{"type": "place_order", **ORDER}]}, bounds.BATCH_BYTES_MAX),
    ],
)
def test_the_size_of_a_body_is_limited(tmp_path: Path, path: str, body: object, most: int) -> None:
    async def story(world: World) -> None:
        text = json.dumps(body)
        allowed = await world.ask(
            "ann", "POST", path, content=padded(text, most), headers=JSON_BODY
        )
        assert allowed.status_code in (200, 201)
        position = world.gateway.position
        refused = await world.ask(
            "ann", "POST", path, content=padded(text, most + 1), headers=JSON_BODY
        )
        assert (413, "body_too_large", position) == (
            refused.status_code,
            refused.json()["code"],
            world.gateway.position,
        )

    with_service(tmp_path / "data", story)


def test_commands_of_a_batch_are_limited(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        cancel = {"type": "cancel_order", "order": unknown_order("ann")}
        allowed = await world.ask(
            "ann", "POST", "/v1/batch", {"commands": [cancel] * bounds.BATCH_COMMANDS_MAX}
        )
        assert bounds.BATCH_COMMANDS_MAX == len(allowed.json()["results"])
        position = world.gateway.position
        refused = await world.ask(
            "ann", "POST", "/v1/batch", {"commands": [cancel] * (bounds.BATCH_COMMANDS_MAX + 1)}
        )
        assert (400, "bad_request", position) == (
            refused.status_code,
            refused.json()["code"],
            world.gateway.position,
        )

    with_service(tmp_path / "data", story, GENEROUS)


def test_messages_of_a_frame_are_limited(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.peer("ann") as peer:
            await peer.say(
                *[{"type": "ping", "id": str(index)} for index in range(bounds.BATCH_COMMANDS_MAX)]
            )
            assert [str(index) for index in range(bounds.BATCH_COMMANDS_MAX)] == [
                one["id"] for one in await peer.hear_all(bounds.BATCH_COMMANDS_MAX)
            ]
            position = live.world.gateway.position
            await peer.say(
                *[place(str(index), "h100", "1") for index in range(bounds.BATCH_COMMANDS_MAX + 1)]
            )
            refused = await peer.hear()
            assert ("refused", "bad_request", position) == (
                refused["type"],
                refused["code"],
                live.world.gateway.position,
            )
            assert "pong" == (await peer.ask(type="ping", id="p"))["type"]

    with_live(tmp_path / "data", tale)


def test_instances_per_request_are_limited(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        most = bounds.INSTANCES_PER_REQUEST_MAX
        allowed = await world.ask(
            "ann", "POST", "/v1/instances", {"type": "a100", "count": most, "max_price": "1"}
        )
        assert (201, most) == (allowed.status_code, len(allowed.json()["instances"]))
        refused = await world.ask(
            "ann", "POST", "/v1/instances", {"type": "a100", "count": most + 1, "max_price": "1"}
        )
        # one of them has the leaf
        assert (
            400 <= refused.status_code < 500
            and most - 1 == world.gateway.exchange.market.counts("ann").orders_open
        )

    with_service(tmp_path / "data", story, GENEROUS)


def test_open_orders_are_limited(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        await live.world.place("bob", "a100", "9")
        async with live.peer("ann") as peer:
            for first in range(0, bounds.OPEN_ORDERS_MAX, 500):
                await peer.say(
                    *[place(str(index), "a100", "1") for index in range(first, first + 500)]
                )
                assert {"reply"} == {one["type"] for one in await peer.hear_all(500)}
            assert ("too_many_orders", 409) == (
                (refused := await peer.ask(**place("more", "a100", "1")))["code"],
                refused["status"],
            )

    with_live(tmp_path / "data", tale)


def test_commands_at_once_and_per_second_are_limited(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        world = live.world

        async def sent(count: int, name: str) -> int:
            """The number of admitted requests."""
            await peer.say(
                *[
                    {"type": "cancel_order", "id": f"{name}{index}", "order": unknown_order("ann")}
                    for index in range(count)
                ]
            )
            return sum(one["code"] == "not_your_order" for one in await peer.hear_all(count))

        async with live.peer("ann") as peer:
            assert Limits().commands_burst == await sent(Limits().commands_burst, "a")
            assert 0 == await sent(1, "b")
            world.passing.pass_us(1_000_000)
            assert Limits().commands_per_second == await sent(
                Limits().commands_per_second + 10, "c"
            )

    with_live(tmp_path / "data", tale, Limits())


def test_sessions_per_tenant_are_limited(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with asyncio.TaskGroup() as group:
            leave = asyncio.Event()

            async def stay() -> None:
                async with live.peer("ann"):
                    await leave.wait()

            for _ in range(Limits().sessions_max):
                group.create_task(stay())
            while len(live.sessions) < Limits().sessions_max:
                await asyncio.sleep(0)
            async with live.connected("ann") as peer:
                assert "too_many_sessions" == (await peer.ask(type="hello"))["code"]
                assert (4429, []) == await peer.end()
            leave.set()

    with_live(tmp_path / "data", tale, Limits())


def test_the_welcome_has_the_heartbeat_interval_and_timeout(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.connected("ann") as peer:
            welcome = await peer.ask(type="hello")
            assert (Limits().heartbeat_s, bounds.DEAD_AFTER_S) == (
                welcome["heartbeat_s"],
                welcome["dead_after_s"],
            )

    with_live(tmp_path / "data", tale, Limits())


def test_the_welcome_has_the_limits_of_frames_unless_they_are_the_defaults(tmp_path: Path) -> None:
    async def usual(live: Live) -> None:
        async with live.connected("ann") as peer:
            assert (
                not {"frame_messages_max", "frame_bytes_max"}
                & (await peer.ask(type="hello")).keys()
            )

    async def little(live: Live) -> None:
        async with live.connected("ann") as peer:
            welcome = await peer.ask(type="hello")
            assert (2, 900) == (welcome["frame_messages_max"], welcome["frame_bytes_max"])
            await peer.say(*({"type": "ping", "id": str(number)} for number in range(3)))
            assert "bad_request" == (await peer.hear())["code"]

    with_live(tmp_path / "usual", usual, Limits())
    with_live(tmp_path / "little", little, Limits(batch_commands_max=2, batch_bytes_max=900))


def test_page_sizes_are_limited(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        waits = {"type": "place_order", "alternatives": [{"scope": "a100", "limit": "1"}]}
        await world.ask("ann", "POST", "/v1/batch", {"commands": [waits] * 102})
        unsaid = (await world.ask("ann", "GET", "/v1/orders")).json()
        assert (bounds.PAGE_DEFAULT, True) == (len(unsaid["data"]), unsaid["has_more"])
        assert (
            200
            == (await world.ask("ann", "GET", f"/v1/orders?limit={bounds.PAGE_MAX}")).status_code
        )
        assert (
            400
            == (
                await world.ask("ann", "GET", f"/v1/orders?limit={bounds.PAGE_MAX + 1}")
            ).status_code
        )

    with_service(tmp_path / "data", story, GENEROUS)


def test_the_length_of_an_id_is_limited(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        long = "x" * bounds.CLIENT_ID_MAX
        async with live.peer("ann") as peer:
            assert "reply" == (await peer.ask(**place(long, "h100", "1")))["type"]
            for wrong in (long + "x", "", "\u00e9", "a\nb"):
                assert "bad_request" == (await peer.ask(**place(wrong, "h100", "1")))["code"]
        assert (
            404
            == (
                await live.world.ask(
                    "ann", "DELETE", "/v1/orders/x", key="y" * bounds.CLIENT_ID_MAX
                )
            ).status_code
        )
        assert (
            400
            == (
                await live.world.ask(
                    "ann", "DELETE", "/v1/orders/x", key="y" * (bounds.CLIENT_ID_MAX + 1)
                )
            ).status_code
        )

    with_live(tmp_path / "data", tale)


@pytest.mark.parametrize(("messages_max", "kept"), [(4, True), (3, False)])
def test_queued_messages_of_a_slow_session_are_limited(
    tmp_path: Path, messages_max: int, kept: bool
) -> None:
    async def tale(live: Live) -> None:
        async with live.peer("ann") as peer:
            (session,) = live.sessions._open
            session._connection.is_full = True  # as when the peer does not read
            for _ in range(2):
                await live.world.place("ann", "h100", "1")
            assert (session.ended is None) is kept
            session._connection.is_full = False
            if kept:
                session.flush()
                assert [1, 2, 3, 4] == [one["told"]["n"] for one in await peer.hear_all(4)]
            else:
                code, heard = await peer.end()
                assert (4408, "slow_consumer", 0) == (code, heard[-1]["reason"], heard[-1]["n"])

    with_live(tmp_path / "data", tale, Limits(outbound_messages_max=messages_max))


def test_queued_bytes_of_a_slow_session_are_limited(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        gateway = live.world.gateway
        async with live.peer("ann"):
            (session,) = live.sessions._open
            session._connection.is_full = True
            await live.world.place("ann", "h100", "1")
            waiting = sum(len(msgspec.json.encode(message)) for message, _ in session._queue)
            for bytes_max, kept in ((waiting, True), (waiting - 1, False)):
                gateway.limits = msgspec.structs.replace(
                    gateway.limits, outbound_bytes_max=bytes_max
                )
                session.flush()
                assert (session.ended is None) is kept
            session._connection.is_full = False

    with_live(tmp_path / "data", tale)


def test_the_defaults_for_pending_commands_and_history_are_as_promised() -> None:
    limits = Limits()
    assert (20_000, 24) == (limits.pending_commands_max, limits.history_hours)
    assert (1_000_000, 1_000_000) == (limits.history_events_max, limits.history_commands_max)
