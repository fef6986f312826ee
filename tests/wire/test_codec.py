"""Duplicate keys in one object are refused, in any encoding of JSON and MessagePack, and nothing
else is."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laissez.wire.codec import DuplicateKey, check_json, check_packed
from laissez.wire.session import MSGPACK
from support.live_world import Live, with_live
from support.service_world import World, with_service

pytestmark = pytest.mark.once

texts = st.text(st.characters(codec="utf-8"), max_size=40)
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=20),
    max_leaves=20,
)


@settings(max_examples=60, derandomize=True)
@given(plain)
def test_objects_with_unique_keys_are_accepted_in_any_encoding(value: object) -> None:
    for written in (
        json.dumps(value),
        json.dumps(value, indent=2),
        json.dumps(value, ensure_ascii=False),
    ):
        check_json(written.encode(), msgspec.json.decode(written))
    check_packed(msgspec.msgpack.encode(value), value)


@settings(max_examples=60, derandomize=True)
@given(plain, plain, texts, st.booleans())
def test_duplicate_keys_are_found_anywhere(
    first: object, second: object, name: str, escaped: bool
) -> None:
    pair = [
        f"{json.dumps(name, ensure_ascii=escaped)}: {json.dumps(value)}"
        for value in (first, second)
    ]
    for written in (
        f"{{{pair[0]},{pair[1]}}}",
        f'[1, {{"x": {{{pair[0]}, "y:": ":", {pair[1]}}}}}]',
    ):
        with pytest.raises(DuplicateKey, match="expected each name once"):
            check_json(written.encode(), msgspec.json.decode(written))
    key = msgspec.msgpack.encode(name)
    packed = b"\x82" + key + msgspec.msgpack.encode(first) + key + msgspec.msgpack.encode(second)
    for around in (packed, b"\x92\x01" + packed, b"\xdf\x00\x00\x00\x01\xa1x" + packed):
        with pytest.raises(DuplicateKey):
            check_packed(around, msgspec.msgpack.decode(around))


def test_every_encoding_of_a_value_is_skipped_correctly() -> None:
    """Long forms of short values, which our encoders never write, and extensions."""
    once = (
        b"\xdf\x00\x00\x00\x03\xda\x00\x01a\xd2\x00\x00\x00\x01\xdb\x00\x00\x00\x01b"
        b"\xdd\x00\x00\x00\x01\xca\x3f\x80\x00\x00\xa1c\xc7\x02\x05xy"
    )
    check_packed(once, msgspec.msgpack.decode(once))
    with pytest.raises(DuplicateKey, match="'b'"):
        twice = once.replace(b"\xa1c", b"\xa1b")
        check_packed(twice, msgspec.msgpack.decode(twice))


def test_duplicate_keys_are_refused_over_http_and_in_both_encodings(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        position = world.gateway.position
        body = b'{"alternatives": [{"scope": "h100", "limit": "1", "limit": "2"}]}'
        answer = await world.ask(
            "ann", "POST", "/v1/orders", content=body, headers={"Content-Type": "application/json"}
        )
        assert (400, "bad_request", position) == (
            answer.status_code,
            answer.json()["code"],
            world.gateway.position,
        )
        assert "found 'limit' more often" in answer.json()["detail"]

    with_service(tmp_path / "http", story)

    async def tale(live: Live) -> None:
        async with live.peer("ann") as peer:
            await peer.say_raw('{"type": "ping", "id": "a", "id": "b"}')
            assert "found 'id' more often" in (await peer.hear())["detail"]
        async with live.peer("ann", MSGPACK) as peer:
            await peer.say_raw(b"\x83\xa4type\xa4ping\xa2id\xa1a\xa2id\xa1b")
            assert "found 'id' more often" in (await peer.hear())["detail"]
            assert "pong" == (await peer.ask(type="ping", id="c"))["type"]

    with_live(tmp_path / "live", tale)
