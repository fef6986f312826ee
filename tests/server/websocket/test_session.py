"""Sessions over real connections: the handshake, answers to each message, and refusals."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from websockets.frames import Frame, Opcode

from laissez.wire.session import JSON, MSGPACK
from laissez_check.wire.bad_inputs import TEXT, frame
from support.live_world import Live, Peer, events_of, eventually, place, with_live
from support.service_world import GENEROUS, unknown_order

pytestmark = pytest.mark.once

PING = b"\x89\x80abcd"
BOTH = pytest.mark.parametrize("form", [JSON, MSGPACK])


async def refused_hello(peer: Peer, *messages: Any) -> tuple[str, int | None]:
    await peer.say(*messages)
    code, heard = await peer.end()
    assert ["refused"] == [message["type"] for message in heard]
    return heard[0]["code"], code


# -- the beginning


@BOTH
def test_a_hello_is_answered_by_a_welcome_in_the_requested_encoding(
    tmp_path: Path, form: str
) -> None:
    async def tale(live: Live) -> None:
        async with live.connected("ann", form) as peer:
            assert form == peer.socket.subprotocol
            welcome = await peer.ask(type="hello", id="h")
            assert ("welcome", "h", "ann", 0) == (
                welcome["type"],
                welcome["id"],
                welcome["holder"],
                welcome["n"],
            )
            assert (15, 60) == (welcome["heartbeat_s"], welcome["dead_after_s"])
            assert {"type": "pong", "id": "p"} == await peer.ask(type="ping", id="p")

    with_live(tmp_path / "data", tale)


def test_json_is_the_default_encoding_and_unknown_ones_are_refused(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.connected("ann", None) as peer:
            assert "welcome" == (await peer.ask(type="hello"))["type"]
        with pytest.raises(Exception, match="403"):
            async with live.connected("ann", "laissez.v2.json"):
                pass

    with_live(tmp_path / "data", tale)


def test_the_key_may_come_in_the_hello(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.connected() as peer:
            assert "bob" == (await peer.ask(type="hello", key=live.world.secrets["bob"]))["holder"]

    with_live(tmp_path / "data", tale)


def test_wrong_missing_and_revoked_keys_are_indistinguishable(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        revoked = live.world.new_secret("ann", "read")
        id = (await live.world.ask(revoked, "GET", "/v1/me")).json()["key"]
        await live.world.ask("operator", "DELETE", f"/v1/keys/{id}")
        for who, hello in (
            (None, {}),
            ("lz_x", {}),
            (None, {"key": "lz_0_x"}),
            (revoked, {}),
            (live.world.secrets["ann"] + "x", {}),
        ):
            async with live.connected(who) as peer:
                assert ("unauthenticated", 4401) == await refused_hello(
                    peer, {"type": "hello", **hello}
                )
        assert 0 == len(live.sessions) == len(live.world.quota)

    with_live(tmp_path / "data", tale)


@pytest.mark.parametrize(
    "first",
    [
        [{"type": "ping", "id": "p"}],
        [{"type": "hello"}, {"type": "ping", "id": "p"}],
        [[]],
        [{"type": "hello", "colour": "red"}],
        [{"type": "hello", "warn_within": "much"}],
        [{"type": "hello", "resume_after": -1}],
        [{"type": "hello", "resume_after": 1}],
        [7],
    ],
)
def test_a_session_without_a_valid_hello_is_closed(tmp_path: Path, first: list[Any]) -> None:
    async def tale(live: Live) -> None:
        async with live.connected("ann") as peer:
            assert ("bad_request", 4400) == await refused_hello(peer, *first)
        assert 0 == len(live.world.quota) and [] == live.world.gateway.following()

    with_live(tmp_path / "data", tale)


def test_a_silent_connection_is_closed(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.connected("ann") as peer:
            code, heard = await peer.end()
            assert (4400, ["bad_request"]) == (code, [message["code"] for message in heard])

    with_live(tmp_path / "data", tale, msgspec.structs.replace(GENEROUS, head_within_s=0.05))


def test_a_connection_lost_before_the_hello_leaves_nothing(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.connected("ann"):
            pass
        await live.until_open()
        assert 0 == len(live.world.quota)

    with_live(tmp_path / "data", tale)


# -- messages and answers


@BOTH
def test_every_message_is_answered_under_its_id(tmp_path: Path, form: str) -> None:
    async def tale(live: Live) -> None:
        async with live.peer("ann", form) as peer:
            placed = await peer.ask(**place("1", "a100", "5"))
            assert ("reply", "1", [(1, "order.placed"), (2, "lease.started")]) == (
                placed["type"],
                placed["id"],
                events_of(placed),
            )
            lease = placed["events"][1]["event"]["lease"]
            waiting = await peer.ask(**place("2", "a100", "1"))
            order = waiting["events"][0]["event"]["order"]
            better = [{"scope": "a100", "limit": "2", "bid": "1.5"}]
            assert [(4, "order.amended")] == events_of(
                await peer.ask(type="amend_order", id="3", order=order, alternatives=better)
            )
            orders = await peer.ask(type="orders", id="4")
            assert ("orders", "4", 4, [order]) == (
                orders["type"],
                orders["id"],
                orders["n"],
                [one["id"] for one in orders["orders"]],
            )
            assert [(5, "lease.limit_set")] == events_of(
                await peer.ask(type="set_limit", id="5", lease=lease, limit=None)
            )
            leases = await peer.ask(type="leases", id="6")
            assert (5, [(lease, None)]) == (
                leases["n"],
                [(one["id"], one["limit"]) for one in leases["leases"]],
            )
            quote = await peer.ask(type="quote", id="7", scope="h100")
            assert ("quote", "7", "h100", "0") == (
                quote["type"],
                quote["id"],
                quote["quote"]["scope"],
                quote["quote"]["price"],
            )
            assert [(6, "order.cancelled")] == events_of(
                await peer.ask(type="cancel_order", id="8", order=order)
            )
            assert [(7, "lease.ended")] == events_of(
                await peer.ask(type="relinquish", id="9", lease=lease)
            )

    with_live(tmp_path / "data", tale)


@BOTH
def test_messages_of_one_frame_are_answered_individually_in_one_frame(
    tmp_path: Path, form: str
) -> None:
    async def tale(live: Live) -> None:
        async with live.peer("ann", form) as peer:
            before = peer.frames
            wrong = {"type": "cancel_order", "id": "2", "order": "ord_x"}
            dear = place("4", "a100", "cheap")
            foreign = {"type": "take_offline", "id": "5", "leaf": "a100/east/rack1/gpu1"}
            nameless = place("", "a100", "1")
            await peer.say(
                place("1", "a100", "5"),
                wrong,
                place("3", "h100", "1"),
                dear,
                foreign,
                nameless,
                {"type": "hello"},
                {"type": "ping", "id": "8"},
            )
            heard = await peer.hear_all(8)
            assert before + 1 == peer.frames
            assert [
                "reply",
                "refused",
                "reply",
                "refused",
                "refused",
                "refused",
                "refused",
                "pong",
            ] == [one["type"] for one in heard]
            codes = [
                (one.get("code"), one.get("status")) for one in heard if one["type"] == "refused"
            ]
            assert [
                ("not_your_order", 404),
                ("bad_request", 400),
                ("forbidden", 403),
                ("bad_request", 400),
                ("bad_request", 400),
            ] == codes
            assert [
                (1, "order.placed"),
                (2, "lease.started"),
                (3, "order.placed"),
                (4, "lease.started"),
            ] == events_of(heard[0]) + events_of(heard[2])

    with_live(tmp_path / "data", tale)


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "{",
        "null",
        '{"type": "ping"} x',
        '{"type": "steal", "id": "1"}',
        '[{"type": "ping", "id": "1"}, {"type": "ping", "id": 2}]',
        (
            '[{"type": "place_order", "id": "1", "alternatives": [{"scope": "h100", "limit":'
            ' "1"}]}, {"type": "place_order", "id": "2"}]'
        ),
        '[{"type": "place_order", "id": "1", "alternatives": [{"scope": "h100", "limit": 1}]}]',
        "[" * 5_000,
    ],
)
def test_an_unreadable_frame_is_refused_as_a_whole(tmp_path: Path, frame: str) -> None:
    async def tale(live: Live) -> None:
        async with live.peer("ann") as peer:
            position = live.world.gateway.position
            await peer.say_raw(frame)
            assert ("refused", "bad_request") == (
                (refused := await peer.hear())["type"],
                refused["code"],
            )
            assert "id" not in refused and position == live.world.gateway.position
            assert "pong" == (await peer.ask(type="ping", id="p"))["type"]

    with_live(tmp_path / "data", tale)


def test_text_in_a_binary_session_is_refused(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.peer("ann", MSGPACK) as peer:
            await peer.say_raw(json.dumps(place("1", "h100", "1")))
            assert "bad_request" == (await peer.hear())["code"]
            assert 0 == live.world.gateway.latest("ann")

    with_live(tmp_path / "data", tale)


def test_invalid_utf_8_is_refused(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.peer("ann", MSGPACK) as peer:
            await peer.say_raw(b"\x82\xa4type\xa4ping\xa2id\xa1\xff")
            assert "bad_request" == (await peer.hear())["code"]

    with_live(tmp_path / "data", tale)


def test_a_fragmented_message_is_one_message(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.peer("ann") as peer:
            await peer.socket.send(['{"type": "pi', 'ng", "id"', ': "p"}'])
            assert {"type": "pong", "id": "p"} == await peer.hear()

    with_live(tmp_path / "data", tale)


def test_frames_may_arrive_in_any_pieces(tmp_path: Path) -> None:
    """Plain frames mixed with control, long, fragmented and empty ones, cut in every place."""
    long = '{"type": "ping", "id": "long"}' + " " * 300
    frames = [
        Frame(Opcode.TEXT, b'{"type": "ping", "id": "1"}'),
        Frame(Opcode.PING, b"are you there"),
        Frame(Opcode.TEXT, long.encode()),
        Frame(Opcode.TEXT, b'{"type": "ping",', fin=False),
        Frame(Opcode.PING, b""),
        Frame(Opcode.CONT, b' "id": "2"}'),
        Frame(Opcode.TEXT, b""),
        Frame(Opcode.BINARY, b'{"type": "ping", "id": "3"}'),
    ]

    async def tale(live: Live) -> None:
        stream = b"".join(frame.serialize(mask=True) for frame in frames)
        async with live.peer("ann") as peer:
            for piece in (len(stream), 1, 2, 3, 7, 64):
                for begin in range(0, len(stream), piece):
                    peer.socket.transport.write(stream[begin : begin + piece])
                    await asyncio.sleep(0)
                    await asyncio.sleep(0)
                assert ["1", "long", "2", None, "3"] == [
                    one.get("id") for one in await peer.hear_all(5)
                ]

    with_live(tmp_path / "data", tale)


@pytest.mark.parametrize(
    ("first_bytes", "code"),
    [
        (b"\x81\x05hello", 1002),  # not masked
        (b"\xc1\x80abcd", 1002),  # a reserved bit
        (b"\x83\x80abcd", 1002),  # unknown opcode
        (b"\x80\x80abcd", 1002),  # continues a message that never began
        (b"\x81\xff" + (2**40).to_bytes(8, "big") + b"abcd", 1009),
        (b"\x01\x81abcda" + b"\x81\x80abcd", 1002),  # a new message inside another
    ],
)
def test_protocol_violations_close_the_connection(
    tmp_path: Path, first_bytes: bytes, code: int
) -> None:
    async def tale(live: Live) -> None:
        async with live.peer("ann") as peer:
            peer.socket.transport.write(first_bytes)
            assert (code, []) == await peer.end()
            await live.until_open()

    with_live(tmp_path / "data", tale)


def test_pings_are_rate_limited(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.connected() as nobody, live.peer("ann") as ann:
            for peer in (nobody, ann):
                peer.socket.transport.write(PING * 10_000)
            await eventually(lambda: live.world.gateway.admission.delayed >= 2)
            assert all(
                connection._parsed < 1_000 and not connection.transport.is_reading()
                for connection in live.connections
            )
            for peer in (nobody, ann):  # a closing message would not be read for seconds
                peer.socket.transport.abort()

    with_live(tmp_path / "data", tale, replace(GENEROUS, refusals_per_second=1, refusals_burst=2))


def test_a_peer_that_does_not_read_gets_no_pongs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def tale(live: Live) -> None:
        async with live.peer("ann") as peer:
            (connection,) = live.connections
            sent: list[bytes] = []
            monkeypatch.setattr(connection.transport, "write", sent.append)
            before = connection._parsed
            peer.socket.transport.write(PING * 5)
            await eventually(lambda: connection._parsed == before + 5)
            assert 5 == len(sent)
            connection.pause_writing()
            peer.socket.transport.write(PING * 5)
            await eventually(lambda: connection._parsed == before + 10)
            assert 5 == len(sent)

    with_live(tmp_path / "data", tale)


@pytest.mark.sources
def test_only_the_first_message_is_read_before_the_welcome(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.connected("ann") as peer:
            (connection,) = live.connections
            hello, quote = (
                frame(TEXT, json.dumps(said).encode())
                for said in ({"type": "hello"}, {"type": "quote", "id": "q", "scope": "h100"})
            )
            parsed: list[bytes] = []
            hear = connection._hear_message

            def counted(message: bytes) -> None:
                parsed.append(message)
                hear(message)

            connection._hear_message = counted
            peer.socket.transport.write(hello + quote * 50)
            heard = await peer.hear_all(51)
            assert ["welcome", *["quote"] * 50] == [message["type"] for message in heard]
            assert [b'{"type": "hello"}'] == parsed  # the session reads the rest

    with_live(tmp_path / "data", tale)


def test_input_after_a_protocol_violation_is_ignored(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.peer("ann") as peer:
            peer.socket.transport.write(b"\x83\x80abcd" * 50)
            assert 1002 == (await peer.end())[0]
            await live.until_open()
            assert 1 == live.world.gateway.refusals.noted

    with_live(tmp_path / "data", tale)


def test_messages_require_the_keys_scope(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.peer(live.world.new_secret("ann", "read")) as peer:
            assert "forbidden" == (await peer.ask(**place("1", "h100", "1")))["code"]
            assert "orders" == (await peer.ask(type="orders", id="2"))["type"]
        async with live.peer(live.world.new_secret("ann", "trade")) as peer:
            for kind in ("orders", "leases", "quote"):
                asked = {"scope": "h100"} if kind == "quote" else {}
                assert "forbidden" == (await peer.ask(type=kind, id=kind, **asked))["code"]
            assert "pong" == (await peer.ask(type="ping", id="3"))["type"]
            assert "reply" == (await peer.ask(**place("4", "h100", "1")))["type"]

    with_live(tmp_path / "data", tale)


@pytest.mark.parametrize(("holder", "scope"), [("ann", "trade"), ("operator", "operate")])
def test_a_key_without_read_gets_only_new_events(tmp_path: Path, holder: str, scope: str) -> None:
    """A bug: resume_after sent all events again, although GET /v1/events was refused."""

    async def tale(live: Live) -> None:
        secret = live.world.new_secret(holder, scope)
        await live.world.place("ann", "h100", "1")
        await live.world.place("ann", "h100", "1")
        latest = live.world.gateway.latest(holder)
        for n in (0, latest - 1):
            async with live.connected(secret) as peer:
                await peer.say({"type": "hello", "resume_after": n})
                code, (refused,) = await peer.end()
                assert (4401, "forbidden", 403) == (code, refused["code"], refused["status"])
                assert (
                    "resume_after: past events need a key with the scope read; yours has"
                    f" {scope}" == refused["detail"]
                )
        async with live.peer(secret, resume_after=latest) as peer:  # no events since
            placed = await live.world.place("ann", "h100", "1")
            told = (await peer.until("event"))["told"]
            assert (latest + 1, placed["id"]) == (told["n"], told["event"]["order"])

    with_live(tmp_path / "data", tale)


def test_a_repeated_command_gets_the_first_answer_on_any_session_and_over_http(
    tmp_path: Path,
) -> None:
    async def tale(live: Live) -> None:
        async with live.peer("ann") as peer, live.peer("ann", MSGPACK) as other:
            first = await peer.ask(**place("one", "a100", "5"))
            position = live.world.gateway.position
            assert first == await peer.ask(**place("one", "a100", "5"))
            await other.until("event")
            await other.until("event")
            assert first == await other.ask(**place("one", "a100", "5"))
            done = await live.world.ask(
                "ann",
                "POST",
                "/v1/orders",
                {"alternatives": [{"scope": "a100", "limit": "5"}]},
                key="one",
            )
            assert (
                "true" == done.headers["idempotency-replayed"]
                and first["events"] == done.json()["events"]
            )
            assert "idempotency_conflict" == (await peer.ask(**place("one", "a100", "6")))["code"]
            refused = await peer.ask(type="cancel_order", id="two", order=unknown_order("ann"))
            position += 1
            assert refused == await peer.ask(
                type="cancel_order", id="two", order=unknown_order("ann")
            )
            assert position == live.world.gateway.position

    with_live(tmp_path / "data", tale)


def test_a_scope_outside_the_pricing_domain_is_unknown(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.peer("ann") as peer:
            answers = [
                await peer.ask(type="quote", id="q", scope=scope)
                for scope in ("h100/east", "h100/north")
            ]
            assert [("scope_unknown", 404)] * 2 == [(one["code"], one["status"]) for one in answers]

    with_live(tmp_path / "data", tale)


def test_the_operator_sees_all_events_with_their_tenants(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        n = live.world.gateway.latest("operator")
        async with live.peer("operator") as operator, live.peer("ann") as ann:
            await ann.ask(**place("1", "a100", "5"))
            told = [(await operator.hear())["told"] for _ in range(2)]
            assert [(n + 1, "ann", "order.placed"), (n + 2, "ann", "lease.started")] == [
                (one["n"], one["tenant"], one["event"]["type"]) for one in told
            ]
            leaf = "a100/east/rack1/gpu1"
            offline = await operator.ask(type="take_offline", id="1", leaf=leaf)
            told = offline["events"]
            assert [(n + 3, "resource.offline"), (n + 4, "lease.ended")] == sorted(
                events_of(offline)
            )
            assert {"ann", None} == {one.get("tenant") for one in told}
            assert "lease.ended" == (await ann.hear())["told"]["event"]["type"]
            assert (
                "resource.online"
                == (await operator.ask(type="bring_online", id="2", leaf=leaf))["events"][0][
                    "event"
                ]["type"]
            )
            assert (
                "floor.set"
                == (await operator.ask(type="set_floor", id="3", node="h100", price="2"))["events"][
                    0
                ]["event"]["type"]
            )
            controls = await operator.ask(
                type="set_controls",
                id="4",
                node="h100",
                hold_s=60,
                rise={"fraction": "0.1", "seconds": 60},
            )
            assert ("controls.set", 60) == (
                (event := controls["events"][0]["event"])["type"],
                event["hold_s"],
            )
            assert (
                "2"
                == (await operator.ask(type="quote", id="5", scope="h100/east"))["quote"]["price"]
            )
            for kind in ("orders", "leases"):
                assert "bad_request" == (await operator.ask(type=kind, id=kind))["code"]
            assert "forbidden" == (await operator.ask(**place("6", "h100", "1")))["code"]

    with_live(tmp_path / "data", tale)


def test_a_refusal_comes_after_the_end_of_a_hold_that_it_caused(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.peer("ann") as ann, live.peer("bob") as bob:
            await live.world.ask("operator", "PUT", "/v1/controls/a100", {"hold_s": 1})
            await ann.ask(**place("1", "a100", "2"))
            await bob.ask(**place("1", "a100", "3"))
            live.world.passing.pass_us(2_000_000)
            ended = await ann.ask(**place("2", "z100", "1"))
            refused = await ann.hear()
            assert ("event", 3, "lease.ended") == (
                ended["type"],
                ended["told"]["n"],
                ended["told"]["event"]["type"],
            )
            assert ("refused", "scope_unknown") == (refused["type"], refused["code"])
            assert refused == await ann.ask(**place("2", "z100", "1"))

    with_live(tmp_path / "data", tale)


def test_time_advances_after_a_refused_question(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with live.peer("ann") as ann, live.peer("bob") as bob:
            await live.world.ask("operator", "PUT", "/v1/controls/a100", {"hold_s": 1})
            await ann.ask(**place("1", "a100", "2"))
            await bob.ask(**place("1", "a100", "3"))
            live.world.passing.pass_us(2_000_000)
            # The question ends the hold, later than the frame began.
            await ann.say({"type": "quote", "id": "q", "scope": "nope"}, place("2", "h100", "1"))
            assert "refused" == (await ann.until("refused"))["type"]
            assert "order.placed" == (await ann.until("reply"))["events"][0]["event"]["type"]
            assert live.world.gateway.failure is None

    with_live(tmp_path / "data", tale)
