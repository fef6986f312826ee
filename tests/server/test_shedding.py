"""Overload: shedding, delayed answers and backpressure. The test moves the clock of the service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace

from laissez.server.audit.refusals import address
from laissez.server.fair_queue import TURN_US, FairQueue, Work
from laissez.server.http.messages import line_of_address
from laissez.server.settings import Limits
from laissez.server.websocket.session import FRAMES_WAITING_MAX
from laissez_check.wire.bad_inputs import TEXT, frame
from support.live_world import Live, Peer, eventually, with_live
from support.service_world import GENEROUS, World, unknown_order, with_service

pytestmark = pytest.mark.once

ORDER = {"alternatives": [{"scope": "h100", "limit": "1"}]}
PATIENCE_S = 1_000
PATIENT = replace(GENEROUS, wait_s_max=PATIENCE_S)
UNREADABLE = b"{"
JSON_BODY = {"Content-Type": "application/json"}
PING = {"type": "ping", "id": "p"}


class StuckWork:
    """Work that is not done until it is released, or until everything in its line has waited too
    long."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.is_done = False

    def carry_out(self, may_go_on: Callable[[], bool]) -> bool:
        self._world.passing.pass_us(TURN_US)
        return self.is_done

    def turn_away(self) -> int:
        return 0

    def let_time_pass(self) -> None:
        self._world.passing.pass_us(2 * PATIENCE_S * 1_000_000)


@asynccontextmanager
async def blocked(live: Live, who: str) -> AsyncIterator[StuckWork]:
    """No work of this holder proceeds in the block, and none is late until the test advances
    time."""
    boulder = StuckWork(live.world)
    live.world.gateway.admission.queue.wait(who, boulder)
    try:
        yield boulder
    finally:
        boulder.is_done = True


def client_of(live: Live) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{live.port}")


def recorded(live: Live) -> list[tuple[str, str, int]]:
    """The pending lines of the log of refusals: code, holder, count."""
    return [
        (one.code, one.holder, one.times) for one in live.world.gateway.refusals.take(whole=True)
    ]


def key_of(live: Live, who: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {live.world.secrets[who]}"}


def test_a_request_that_waited_too_long_is_shed_before_its_body_is_read(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        gateway, turns = live.world.gateway, live.world.gateway.admission.queue
        position = gateway.position
        async with client_of(live) as http, blocked(live, "ann") as boulder:
            asked = asyncio.create_task(
                http.post(
                    "/v1/orders", content=UNREADABLE, headers={**JSON_BODY, **key_of(live, "ann")}
                )
            )
            await eventually(lambda: len(turns) == 2)
            boulder.let_time_pass()
            answer = await asked
            assert (503, "overloaded", "1") == (
                answer.status_code,
                answer.json()["code"],
                answer.headers["retry-after"],
            )
            assert "application/problem+json" == answer.headers["content-type"]
            assert (1, position) == (turns.shed, gateway.position)
            assert [("overloaded", "ann", 1)] == recorded(live)
            # on the same connection
            again = await http.post("/v1/orders", json=ORDER, headers=key_of(live, "ann"))
            assert 201 == again.status_code

    with_live(tmp_path / "data", tale, PATIENT)


def test_other_tenants_the_operator_and_health_checks_are_served_while_one_holder_waits(
    tmp_path: Path,
) -> None:
    async def tale(live: Live) -> None:
        async with client_of(live) as http, blocked(live, "ann"):
            assert (
                201
                == (
                    await http.post("/v1/orders", json=ORDER, headers=key_of(live, "bob"))
                ).status_code
            )
            assert (
                200 == (await http.get("/v1/tenants", headers=key_of(live, "operator"))).status_code
            )
            assert 200 == (await http.get("/healthz")).status_code
            assert (
                401
                == (
                    await http.get(
                        "/v1/orders", headers={"Authorization": "Bearer lz_none_of_ours"}
                    )
                ).status_code
            )

    with_live(tmp_path / "data", tale, PATIENT)


def test_messages_that_waited_too_long_are_each_refused_under_their_id(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        turns = live.world.gateway.admission.queue
        position = live.world.gateway.position
        async with live.peer("ann") as peer, blocked(live, "ann") as boulder:
            await peer.say(
                {"type": "place_order", "id": "1", **ORDER},
                {"type": "quote", "id": "2", "scope": "h100"},
            )
            await eventually(lambda: len(turns) == 2)
            boulder.let_time_pass()
            refused = await peer.hear_all(2)
            assert [("1", "overloaded", 503), ("2", "overloaded", 503)] == [
                (one["id"], one["code"], one["status"]) for one in refused
            ]
            assert all(one["retry_after"] > 0 for one in refused)
            assert (2, position) == (turns.shed, live.world.gateway.position)
            assert [("overloaded", "ann", 2)] == recorded(live)

    with_live(tmp_path / "data", tale, PATIENT)


def test_an_unreadable_frame_that_waited_too_long_is_refused_once(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        turns = live.world.gateway.admission.queue
        async with live.peer("ann") as peer, blocked(live, "ann") as boulder:
            peer.socket.transport.write(frame(TEXT, b"{nonsense"))
            await eventually(lambda: len(turns) == 2)
            boulder.let_time_pass()
            assert "bad_request" == (await peer.hear())["code"]
            assert [("bad_request", "ann", 1)] == recorded(live)

    with_live(tmp_path / "data", tale, PATIENT)


def is_read(live: Live) -> bool:
    (connection,) = live.connections
    return bool(connection.transport.is_reading())


def test_a_session_is_not_read_while_too_many_frames_wait(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        turns = live.world.gateway.admission.queue
        async with live.peer("ann") as peer, blocked(live, "ann") as boulder:
            for _ in range(FRAMES_WAITING_MAX):
                await peer.say(PING)
            await eventually(lambda: len(turns) == FRAMES_WAITING_MAX + 1)
            assert is_read(live)
            await peer.say(PING)
            await eventually(lambda: not is_read(live))
            await peer.say(PING)
            boulder.is_done = True
            assert ["pong"] * (FRAMES_WAITING_MAX + 2) == [
                one["type"] for one in await peer.hear_all(FRAMES_WAITING_MAX + 2)
            ]
            assert is_read(live)

    with_live(tmp_path / "data", tale, PATIENT)


def written(*messages: dict[str, str]) -> bytes:
    """Frames in one piece, so that they arrive together."""
    return b"".join(frame(TEXT, json.dumps(message).encode()) for message in messages)


def test_frames_are_processed_in_order_even_above_the_bound(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        turns = live.world.gateway.admission.queue
        ids = [str(number) for number in range(3 * FRAMES_WAITING_MAX)]
        async with live.peer("ann") as peer, blocked(live, "ann") as boulder:
            peer.socket.transport.write(written(*({"type": "ping", "id": id} for id in ids)))
            await eventually(lambda: len(turns) == FRAMES_WAITING_MAX + 2)
            boulder.is_done = True
            assert ids == [one["id"] for one in await peer.hear_all(len(ids))]

    with_live(tmp_path / "data", tale, PATIENT)


def test_a_session_delayed_from_its_first_message_is_not_read(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.connected("ann") as peer:
            peer.socket.transport.write(
                written({"type": "hello"}, *[{"type": "ping", "id": ""}] * 9)
            )
            await eventually(lambda: len(live.sessions) == 1)
            assert not is_read(live)
            peer.socket.transport.abort()  # a closing message would not be read for seconds

    with_live(tmp_path / "data", tale, replace(PATIENT, refusals_per_second=1, refusals_burst=1))


def test_frames_sent_before_the_connection_was_lost_count(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        turns = live.world.gateway.admission.queue
        async with blocked(live, "ann"):
            async with live.peer("ann") as peer:
                await peer.say({"type": "place_order", "id": "1", **ORDER})
                await eventually(lambda: len(turns) == 2)
            await eventually(lambda: not live.connections)
            # not before its turn in the fair queue
            assert 0 == live.world.gateway.exchange.market.counts("ann").orders_placed
        await eventually(lambda: not live.world.quota.taken)
        assert 1 == live.world.gateway.exchange.market.counts("ann").orders_placed

    with_live(tmp_path / "data", tale, PATIENT)


def test_a_session_that_is_refused_too_often_is_not_read_for_a_while(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        admission = live.world.gateway.admission
        async with live.peer("ann") as peer:
            await _say_nonsense(peer, 3)
            assert (0, True) == (admission.delayed, is_read(live))
            await _say_nonsense(peer, 1)
            assert (1, False) == (admission.delayed, is_read(live))
            assert "pong" == (await peer.ask(**PING))["type"]  # delayed, not lost

    with_live(tmp_path / "data", tale, Limits(refusals_per_second=20, refusals_burst=3))


async def _say_nonsense(peer: Peer, times: int) -> None:
    await peer.say(*[{"type": "cancel_order", "id": "", "order": "x"}] * times)
    assert ["refused"] * times == [one["type"] for one in await peer.hear_all(times)]


def test_frequent_refusals_are_delayed_except_for_the_operator(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        admission = world.gateway.admission
        for who, late in (("ann", 1), ("lz_wrong", 2), ("operator", 2)):
            codes = [
                (await world.ask(who, "GET", "/v1/orders?nonsense=1")).status_code for _ in range(3)
            ]
            assert ([401] * 3 if who == "lz_wrong" else [400] * 3) == codes
            assert late == admission.delayed, who

    with_service(tmp_path / "data", story, Limits(refusals_per_second=50, refusals_burst=2))


def test_answers_covered_by_a_rate_limit_are_never_delayed(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for _ in range(5):
            assert (
                404
                == (
                    await world.ask("ann", "DELETE", f"/v1/orders/{unknown_order('ann')}")
                ).status_code
            )
            assert 200 == (await world.ask("ann", "GET", "/v1/orders")).status_code
        assert 0 == world.gateway.admission.delayed

    with_service(tmp_path / "data", story, Limits(refusals_per_second=1, refusals_burst=1))


def test_a_rate_limited_caller_is_refused_before_the_body_is_read(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        first = await world.ask("ann", "POST", "/v1/orders", content=UNREADABLE, headers=JSON_BODY)
        assert 400 == first.status_code
        assert 201 == (await world.ask("ann", "POST", "/v1/orders", ORDER)).status_code
        refused = await world.ask(
            "ann", "POST", "/v1/orders", content=UNREADABLE, headers=JSON_BODY
        )
        assert (429, "rate_limited") == (refused.status_code, refused.json()["code"])
        world.passing.pass_us(1_000_000)
        assert 201 == (await world.ask("ann", "POST", "/v1/orders", ORDER)).status_code

    with_service(tmp_path / "data", story, Limits(commands_per_second=1, commands_burst=1))


def test_refusing_a_long_body_costs_as_much_as_reading_it(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        long = b"[" * 8_192
        assert (
            400
            == (
                await world.ask("ann", "POST", "/v1/orders", content=long, headers=JSON_BODY)
            ).status_code
        )
        assert 0 == world.gateway.admission.delayed
        assert (
            400
            == (
                await world.ask("ann", "POST", "/v1/orders", content=UNREADABLE, headers=JSON_BODY)
            ).status_code
        )
        assert 1 == world.gateway.admission.delayed

    with_service(tmp_path / "data", story, Limits(refusals_per_second=50, refusals_burst=5))


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/nothing"),
        ("DELETE", "/v1/prices"),
        ("OPTIONS", "/v1/orders"),
        ("GET", "/openapi.json"),
        ("GET", "/"),
        ("GET", "/healthz"),
        ("GET", "/metrics"),
    ],
)
def test_answers_without_a_key_are_paced(tmp_path: Path, method: str, path: str) -> None:
    async def story(world: World) -> None:
        for _ in range(3):
            await world.ask(None, method, path)
        assert 2 == world.gateway.admission.delayed

    with_service(tmp_path / "data", story, Limits(refusals_per_second=1_000, refusals_burst=1))


def test_monitoring_is_not_delayed_by_wrong_keys_from_the_same_address(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for path, late in (
            ("/nothing", 0),
            ("/nothing", 1),
            ("/healthz", 1),
            ("/", 1),
            ("/healthz", 2),
            ("/", 3),
        ):
            await world.ask(None, "GET", path)
            assert late == world.gateway.admission.delayed, path

    with_service(tmp_path / "data", story, Limits(refusals_per_second=1_000, refusals_burst=1))


def test_a_hello_costs_a_read_and_refused_ones_are_paced(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        admission = live.world.gateway.admission
        for _ in range(3):
            async with live.connected("lz_0000000000000000_wrong") as peer:
                await peer.say({"type": "hello"})
                assert "unauthenticated" == (await peer.hear())["code"]
        assert 2 == admission.delayed
        async with live.peer("ann"), live.peer("ann"):
            assert 0 == admission.read_limit("ann").remaining
            async with live.connected("ann") as third:
                await third.say({"type": "hello"})
                assert "rate_limited" == (await third.hear())["code"]

    with_live(
        tmp_path / "data",
        tale,
        Limits(refusals_per_second=1_000, refusals_burst=1, commands_burst=2),
    )


def test_only_a_valid_key_uses_the_holders_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    wait = FairQueue.wait

    def noted(self: FairQueue, name: str, work: Work) -> None:
        lines.append(name)
        wait(self, name, work)

    async def tale(live: Live) -> None:
        world = live.world
        revoked = world.new_secret("operator", "operate")
        assert (
            200
            == (
                await world.ask("operator", "DELETE", f"/v1/keys/key_{revoked.split('_')[1]}")
            ).status_code
        )
        forged = f"{world.secrets['operator'].rpartition('_')[0]}_{'0' * 64}"
        async with client_of(live) as http, blocked(live, "ann"):
            monkeypatch.setattr(FairQueue, "wait", noted)
            for key in (revoked, forged):
                assert (
                    401
                    == (
                        await http.get("/v1/orders", headers={"Authorization": f"Bearer {key}"})
                    ).status_code
                )
        assert ["/127.0.0.1"] * 2 == lines

    with_live(tmp_path / "data", tale, PATIENT)


def test_addresses_of_one_network_share_a_line() -> None:
    lines = {
        host: line_of_address({"client": (host, 1)})
        for host in ("2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "::ffff:10.0.0.1", "10.0.0.1")
    }
    assert lines["2001:db8::1"] == lines["2001:db8::2"] != lines["2001:db8:0:1::1"]
    assert "/10.0.0.1" == lines["10.0.0.1"] == lines["::ffff:10.0.0.1"]


@pytest.mark.parametrize(
    "sent",
    ["a:b:c", "1::2::3", "lz_0123456789abcdef_" + "k" * 43, "fe80::1%" + "k" * 43, "z" * 99, ""],
)
def test_a_forwarded_address_is_used_only_if_valid(sent: str) -> None:
    """The address chooses the line in the fair queue, and is logged."""
    assert (
        "k" * 43 not in address({"client": (sent, 0)})
        and len(line_of_address({"client": (sent, 0)})) < 50
    )
