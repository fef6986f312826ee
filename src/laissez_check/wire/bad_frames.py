"""What must not be said in a session: frames that break the protocol, first messages that are no
hello, messages that are none."""

from __future__ import annotations

import math

import msgspec

from laissez_check.wire.bad_bodies import MARK, ORDERS, TWICE
from laissez_check.wire.bad_inputs import LEASE, Closed, Frames, Refused

MASK = b"\x01\x02\x03\x04"
TEXT, BINARY, CONTINUES, CLOSE, PING, PONG = 0x81, 0x82, 0x80, 0x88, 0x89, 0x8A
HELLO = b'{"type":"hello"}'
PROTOCOL, NOT_TEXT, TOO_BIG, BAD_MESSAGE, NO_KEY, GONE = 1002, 1007, 1009, 4400, 4401, 4410
SAID = b'"type":"place_order","id":"i",'
pack = msgspec.msgpack.encode


def frame(first: int, payload: bytes, mask: bytes = MASK) -> bytes:
    """A frame as a client sends it."""
    size = len(payload)
    if size < 126:
        head = bytes((first, 0x80 | size))
    elif size < 65_536:
        head = bytes((first, 0x80 | 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((first, 0x80 | 127)) + size.to_bytes(8, "big")
    masked = (
        bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
        if size < 70_000
        else _masked(payload, mask)
    )
    return head + mask + masked


def _masked(payload: bytes, mask: bytes) -> bytes:
    long = (mask * (len(payload) // 4 + 1))[: len(payload)]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(long, "big")).to_bytes(
        len(payload), "big"
    )


def broken() -> list[Frames]:
    """Frames that are against RFC 6455."""
    good = frame(TEXT, b'{"type":"ping","id":"p"}')
    rows: list[tuple[str, tuple[bytes, ...], int]] = [
        ("a frame without a mask", (bytes((TEXT, 2)) + b"{}",), PROTOCOL),
        ("a compressed frame", (frame(TEXT | 0x40, b"\xaa\x56\x2a"),), PROTOCOL),
        ("the second reserved bit", (frame(TEXT | 0x20, b"{}"),), PROTOCOL),
        ("the third reserved bit", (frame(TEXT | 0x10, b"{}"),), PROTOCOL),
        *[
            (f"the reserved kind {kind:x}", (frame(0x80 | kind, b"{}"),), PROTOCOL)
            for kind in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)
        ],
        ("a ping in pieces", (frame(0x09, b"a"),), PROTOCOL),
        ("a close in pieces", (frame(0x08, b""),), PROTOCOL),
        ("a ping of 126 bytes", (frame(PING, b"a" * 126),), PROTOCOL),
        ("a pong of 1,000 bytes", (frame(PONG, b"a" * 1_000),), PROTOCOL),
        ("a close of one byte", (frame(CLOSE, b"a"),), PROTOCOL),
        ("a close with the code 5", (frame(CLOSE, b"\x00\x05"),), PROTOCOL),
        ("a close with the code 1005", (frame(CLOSE, b"\x03\xed"),), PROTOCOL),
        ("a close whose reason is no text", (frame(CLOSE, b"\x03\xe8\xff"),), NOT_TEXT),
        ("a piece of nothing", (frame(CONTINUES, b"{}"),), PROTOCOL),
        ("a message inside of another", (frame(0x01, b"{"), good), PROTOCOL),
        ("a size with its highest bit", (bytes((BINARY, 0xFF)) + b"\xff" * 8 + MASK,), TOO_BIG),
        (
            "a frame of 2^63 - 1 bytes",
            (bytes((BINARY, 0xFF)) + b"\x7f" + b"\xff" * 7 + MASK,),
            TOO_BIG,
        ),
        ("a frame of one byte too many", (frame(TEXT, b" " * 262_145),), TOO_BIG),
        (
            "pieces that are too long together",
            (frame(0x01, b" " * 200_000), frame(CONTINUES, b" " * 200_000)),
            TOO_BIG,
        ),
        ("empty pieces without end", (frame(0x01, b""), frame(0x00, b"") * 2_000), TOO_BIG),
    ]
    told = [
        Frames(f"{name}, {when}", sent, Closed(code), greets=greets)
        for greets, when in ((True, "greeted"), (False, "first"))
        for name, sent, code in rows
    ]
    told.append(
        Frames(
            "text that is no UTF-8, first",
            (frame(TEXT, b"\xff\xfe"),),
            Closed(NOT_TEXT),
            greets=False,
        )
    )
    return told


def firsts() -> list[Frames]:
    """What is no hello; and those that are none of ours."""
    hello = "expected"
    rows: list[tuple[str, bytes, int, str]] = [
        ("nothing", b"", BAD_MESSAGE, hello),
        ("no JSON", b"hello", BAD_MESSAGE, hello),
        ("an empty list", b"[]", BAD_MESSAGE, "hello"),
        ("an empty object", b"{}", BAD_MESSAGE, "type"),
        ("a list of two", b'[{"type":"hello"},{"type":"ping"}]', BAD_MESSAGE, "at most 1"),
        ("a ping", b'{"type":"ping","id":"p"}', BAD_MESSAGE, "hello"),
        ("an order", ORDERS_FIRST, BAD_MESSAGE, "hello"),
        ("an unknown type", b'{"type":"hi"}', BAD_MESSAGE, "hi"),
        ("an unknown field", b'{"type":"hello","colour":"red"}', BAD_MESSAGE, "colour"),
        (
            "a number of no event",
            b'{"type":"hello","resume_after":"7"}',
            BAD_MESSAGE,
            "resume_after",
        ),
        (
            "a number below zero",
            b'{"type":"hello","resume_after":-1}',
            BAD_MESSAGE,
            "number of an event",
        ),
        ("half a number", b'{"type":"hello","resume_after":0.5}', BAD_MESSAGE, "resume_after"),
        ("1e400", b'{"type":"hello","resume_after":1e400}', BAD_MESSAGE, "out of range"),
        (
            "a number that is yet to come",
            b'{"type":"hello","resume_after":999999999}',
            BAD_MESSAGE,
            "number of an event",
        ),
        (
            "a warning of no fraction",
            b'{"type":"hello","warn_within":"soon"}',
            BAD_MESSAGE,
            "warn_within",
        ),
        (
            "a warning that is a number",
            b'{"type":"hello","warn_within":0.1}',
            BAD_MESSAGE,
            "warn_within",
        ),
        ("a type given twice", b'{"type":"hello","type":"hello"}', BAD_MESSAGE, TWICE),
        ("a field given twice", b'{"type":"hello","key":"a","key":null}', BAD_MESSAGE, TWICE),
        ("deep lists", b"[" * 5_000, BAD_MESSAGE, "Expected `object`, got `array`"),
    ]
    return [
        Frames(
            f"a session that begins with {name}",
            (frame(TEXT, said),),
            Closed(code, word),
            greets=False,
        )
        for name, said, code, word in rows
    ]


ORDERS_FIRST = b'{"type":"place_order","id":"i","alternatives":[{"scope":"gpu","limit":"1"}]}'


def messages() -> list[Frames]:
    """What cannot be read, or not as a message."""
    rows: list[tuple[str, bytes, str]] = [
        ("nothing", b"", "truncated"),
        ("no type", b'{"id":"i"}', "type"),
        ("no text as a type", b'{"type":7,"id":"i"}', "type"),
        ("an unknown type", b'{"type":"buy","id":"i"}', "buy"),
        ("a type in capitals", b'{"type":"PING","id":"i"}', "PING"),
        ("an id that is a number", b'{"type":"ping","id":7}', "id"),
        ("no id", b'{"type":"cancel_order","order":"x"}', "id: expected"),
        ("an empty id", b'{"type":"cancel_order","id":"","order":"x"}', "id: expected"),
        (
            "an id that is too long",
            b'{"type":"cancel_order","id":"' + b"i" * 65 + b'","order":"x"}',
            "id: expected",
        ),
        (
            "an id that is no ASCII",
            '{"type":"cancel_order","id":"é","order":"x"}'.encode(),
            "id: expected",
        ),
        (
            "an id with a line break",
            b'{"type":"cancel_order","id":"a\\nb","order":"x"}',
            "id: expected",
        ),
        ("a second hello", HELLO, "hello is said once"),
        ("a list in a list", b'[[{"type":"ping","id":"i"}]]', "Expected `object`, got `array`"),
        (
            "one bad message of two",
            b'[{"type":"cancel_order","id":"a","order":"x"},{"type":"buy"}]',
            "nothing in the frame was done",
        ),
        (
            "501 messages",
            b"[" + b",".join([b'{"type":"ping","id":"p"}'] * 501) + b"]",
            "at most 500",
        ),
        (
            "no order to cancel",
            b'{"type":"cancel_order","id":"i"}',
            "missing required field `order`",
        ),
        ("an order that is a number", b'{"type":"cancel_order","id":"i","order":7}', "order"),
        (
            "an order whose name is too long",
            b'{"type":"cancel_order","id":"i","order":"' + b"x" * 5_000 + b'"}',
            "order: expected",
        ),
        (
            "a limit that is missing",
            b'{"type":"set_limit","id":"i","lease":"%b"}' % LEASE.encode(),
            "missing required field `limit`",
        ),
        (
            "a limit that is a number",
            b'{"type":"set_limit","id":"i","lease":"%b","limit":1}' % LEASE.encode(),
            "limit",
        ),
        (
            "a lease given up with a word",
            b'{"type":"relinquish","id":"i","lease":"%b","budget_spent":"yes"}' % LEASE.encode(),
            "budget_spent",
        ),
        (
            "a lease given twice",
            b'{"type":"relinquish","id":"i","lease":"lse_x","lease":"%b"}' % LEASE.encode(),
            TWICE,
        ),
        (
            "an id given twice",
            b'{"type":"relinquish","id":"i","id":"j","lease":"%b"}' % LEASE.encode(),
            TWICE,
        ),
        ("a price of a number", b'{"type":"quote","id":"i","scope":7}', "scope"),
        ("text that is no UTF-8", b'{"type":"ping","id":"\xff"}', "utf-8"),
        ("a lone surrogate", b'{"type":"ping","id":"\\ud800\\ud800"}', "surrogate"),
    ]
    found = [
        Frames(f"a message with {name}", (frame(TEXT, said),), Refused("bad_request", word))
        for name, said, word in rows
    ]
    found += [
        Frames(
            f"a message: an order: {name}",
            (frame(TEXT, text.replace(MARK, SAID, 1)),),
            Refused("bad_request", word),
        )
        for name, (text, word) in ORDERS.items()
    ]
    refused = (
        (
            "an order that is none",
            b'{"type":"cancel_order","id":"i1","order":"ord_x"}',
            "not_your_order",
            "no open order",
        ),
        (
            "a lease that is none",
            b'{"type":"relinquish","id":"i2","lease":"lse_x"}',
            "not_your_lease",
            "no lease",
        ),
        (
            "a price of the moon",
            b'{"type":"quote","id":"i3","scope":"moon"}',
            "scope_unknown",
            "moon",
        ),
        (
            "a floor of a tenant",
            b'{"type":"set_floor","id":"i4","node":"gpu","price":"1"}',
            "forbidden",
            "may not operate",
        ),
        (
            "a leaf taken offline by a tenant",
            b'{"type":"take_offline","id":"i5","leaf":"gpu/a/r1/g0"}',
            "forbidden",
            "may not operate",
        ),
    )
    return [
        *found,
        *(
            Frames(f"a message with {name}", (frame(TEXT, said),), Refused(code, word))
            for name, said, code, word in refused
        ),
    ]


def packed() -> list[Frames]:
    """The same in MessagePack, whose own ways to be wrong come first."""
    order = {"type": "place_order", "id": "i", "alternatives": [{"scope": "gpu", "limit": "1"}]}
    good = pack(order)
    rows: list[tuple[str, bytes, str]] = [
        *[
            (f"cut off after {size} bytes", good[:size], "truncated")
            for size in (0, 1, 2, 5, 6, 18, 21, 23, 36, 37, 40, 47, len(good) - 1)
        ],
        ("a byte after it", good + b"\xc0", "trailing"),
        ("a byte that is no beginning", b"\xc1", ""),
        ("a number", b"\x07", "Expected"),
        ("nil", b"\xc0", "Expected"),
        ("a text", pack("hello"), "Expected"),
        ("bytes", pack(b"hello"), "Expected"),
        ("a map of numbers", b"\x81\x01\x02", "Expected"),
        ("a map that says 2^32 - 1", b"\xdf\xff\xff\xff\xff", ""),
        ("a list that says 2^32 - 1", b"\xdd\xff\xff\xff\xff", "truncated"),
        ("a text that says 2^32 - 1", b"\x81\xa4type\xdb\xff\xff\xff\xff", "truncated"),
        ("lists in lists", b"\x91" * 5_000, ""),
        ("a text that is no UTF-8", b"\x82\xa4type\xa4ping\xa2id\xa2\xff\xfe", "utf-8"),
        ("an id as bytes", pack({"type": "ping", "id": b"i"}), "id"),
        (
            "a limit as a float",
            pack({**order, "alternatives": [{"scope": "gpu", "limit": 1.5}]}),
            "limit",
        ),
        (
            "a limit as NaN",
            pack({**order, "alternatives": [{"scope": "gpu", "limit": float("nan")}]}),
            "limit",
        ),
        (
            "a limit as infinity",
            pack({**order, "alternatives": [{"scope": "gpu", "limit": float("inf")}]}),
            "limit",
        ),
        (
            "a limit as a number",
            pack({**order, "alternatives": [{"scope": "gpu", "limit": 1}]}),
            "limit",
        ),
        (
            "a limit as an extension",
            b"\x83\xa4type\xa9set_limit\xa5lease\xa1x\xa5limit\xd4\x01\x00",
            "",
        ),
        ("an unknown field", pack({**order, "colour": "red"}), "colour"),
        ("an unknown type", pack({"type": "buy", "id": "i"}), "buy"),
        ("no type", pack({"id": "i"}), "type"),
        ("an id given twice", b"\x83\xa4type\xa4ping\xa2id\xa1i\xa2id\xa1j", TWICE),
        ("a type given twice", b"\x82\xa4type\xa4ping\xa4type\xa4ping", TWICE),
        (
            "a name given twice, once the long way",
            b"\x83\xa4type\xa4ping\xa2id\xa1i\xd9\x02id\xa1j",
            TWICE,
        ),
        ("501 messages", pack([{"type": "ping", "id": "i"}] * 501), "at most 500"),
        ("JSON", b'{"type":"ping","id":"i"}', ""),
        (
            "no price",
            pack({**order, "alternatives": [{"scope": "gpu", "limit": "x"}]}),
            "expected dollars",
        ),
        ("no id", pack({"type": "cancel_order", "order": "x"}), "id: expected"),
    ]
    return [
        Frames(f"packed: {name}", (frame(BINARY, said),), Refused("bad_request", word), packed=True)
        for name, said, word in rows
    ]


def operators() -> list[Frames]:
    """What the operator may not say, above all numbers: MessagePack has some that JSON has not."""
    controls = {"type": "set_controls", "id": "i", "node": "gpu"}
    numbers = {
        "NaN": math.nan,
        "infinity": math.inf,
        "less than infinity": -math.inf,
        "1e300": 1e300,
        "less than nothing": -1.0,
        "nothing": 0.0,
    }
    found = [
        (f"a hold of {name}", pack({**controls, "hold_s": number}), "hold_s: expected")
        for name, number in numbers.items()
    ]
    found += [
        (
            f"a band of {name}",
            pack({**controls, "rise": {"fraction": "0.1", "seconds": number}}),
            "rise.seconds",
        )
        for name, number in numbers.items()
    ]
    found += [
        (
            "a floor that is a number",
            pack({"type": "set_floor", "id": "i", "node": "gpu", "price": 1}),
            "price",
        ),
        (
            "a floor that is no price",
            pack({"type": "set_floor", "id": "i", "node": "gpu", "price": "-1"}),
            "expected dollars",
        ),
        (
            "a floor without a price",
            pack({"type": "set_floor", "id": "i", "node": "gpu"}),
            "missing required field `price`",
        ),
        (
            "a leaf that is a list",
            pack({"type": "take_offline", "id": "i", "leaf": ["gpu"]}),
            "leaf",
        ),
        ("a list of all orders", pack({"type": "orders", "id": "i"}), "GET requests"),
    ]
    return [
        Frames(
            f"operator: {name}",
            (frame(BINARY, said),),
            Refused("bad_request", word),
            packed=True,
            of_operator=True,
        )
        for name, said, word in found
    ]


def slow() -> list[Frames]:
    whole = frame(TEXT, b'{"type":"ping","id":"p"}')
    return [
        Frames("slow: no hello", (), Closed(BAD_MESSAGE, "expected a hello within"), greets=False),
        Frames(
            "slow: half a hello",
            (frame(TEXT, HELLO)[:10],),
            Closed(BAD_MESSAGE, "expected a hello within"),
            greets=False,
        ),
        Frames(
            "slow: a hello byte by byte",
            tuple(bytes([byte]) for byte in frame(TEXT, HELLO)),
            Closed(BAD_MESSAGE, "hello within"),
            greets=False,
            pause_s=0.15,
        ),
        Frames("slow: half a frame", (whole[:10],), Closed(1011, "ping")),
        Frames("slow: the head of a frame", (whole[:3],), Closed(1011, "ping")),
        Frames(
            "slow: a message in pieces without the last", (frame(0x01, b"{"),), Closed(1011, "ping")
        ),
    ]


def sessions() -> list[Frames]:
    return [*broken(), *firsts(), *messages(), *packed(), *operators()]
