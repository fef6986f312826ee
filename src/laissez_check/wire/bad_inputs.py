"""Bad inputs by hand, each with the refusal that must follow. The rows are in `bad_*.toml`.

Each group there has templates, columns and rows; every row makes one input per template. A row's
values win over the group's, and the group's over the template's. Keys that are no field of an input
are words.

In texts, `@name@` stands for a word, a field of the same row, or a value of the running market
(`@tenant-key@`, `@operator-key@`, `@cursor@`). `<<500*x>>` stands for 500 times x. `@pause@` ends a
piece: the next one is sent later. A character up to U+00FF is one byte.
"""

from __future__ import annotations

import functools
import gzip
import re
import zlib
from itertools import cycle
from pathlib import Path
from typing import Any

import msgspec

from laissez.wire.ids import lease_id, tag_of

TENANT, OTHER_TENANT = "ann", "bob"
LEASE = lease_id(tag_of(TENANT), 1)
KEYS = {
    "tenant": "Authorization: Bearer @tenant-key@\r\n",
    "operator": "Authorization: Bearer @operator-key@\r\n",
    "nobody": "",
}
TEXT, BINARY = 0x81, 0x82  # the first byte of a frame
MASK = b"\x01\x02\x03\x04"
BOMB = 50_000_000  # bytes, of which 50 KB come over the wire
PAUSE = b"@pause@"
WORD = re.compile(r"@([a-z-]+)@")
INNERMOST_REPEAT = re.compile(r"<<(\d+)\*((?:(?!<<|>>).)*)>>", re.DOTALL)


class _Input(msgspec.Struct, frozen=True, kw_only=True):
    """The detail of the refusal must have `detail` in it."""

    name: str
    code: str = "bad_request"
    detail: str = ""
    pause_s: float = 0.0
    slow: bool = False  # refused only when its time is over
    cut: int | None = None  # send a body or a message up to here


class BadRequest(_Input, frozen=True, kw_only=True, tag="request"):
    """A request on a connection of its own. `send` is the whole of it if its framing is wrong."""

    method: str = "GET"
    path: str = "/v1/orders"
    key: str = "tenant"
    headers: str = ""
    body: str | None = None
    send: str | None = None
    good_before: int = 0  # requests in front of it, answered with 200
    status: int = 400

    @property
    def pieces(self) -> list[bytes]:
        if self.send is not None:
            return _bytes(self.send).split(PAUSE)
        body = _bytes(self.body or "")[: self.cut]
        length = "" if self.body is None else f"Content-Length: {len(body)}\r\n"
        headers = f"Host: x\r\n{KEYS[self.key]}{self.headers}{length}Connection: close\r\n"
        return [_bytes(f"{self.method} {self.path} HTTP/1.1\r\n{headers}\r\n") + body]


class BadFrames(_Input, frozen=True, kw_only=True, tag="session"):
    """A message, or `frames` if the framing is wrong: each bytes as they are, or the first byte of
    a frame and its payload. A message that is no text is packed with MessagePack."""

    message: Any = ""
    frames: list[str | tuple[int, str]] | None = None
    packed: bool = False
    operator: bool = False
    greets: bool = True  # says hello before
    closes: int | None = None  # close code; without one the session goes on

    @property
    def pieces(self) -> list[bytes]:
        if self.frames is None:
            is_text = isinstance(self.message, str)
            payload = _bytes(self.message) if is_text else msgspec.msgpack.encode(self.message)
            return [frame(BINARY if self.packed else TEXT, payload[: self.cut])]
        sent = [
            _bytes(one) if isinstance(one, str) else frame(one[0], _bytes(one[1]))
            for one in self.frames
        ]
        return PAUSE.join(sent).split(PAUSE)


Bad = BadRequest | BadFrames
FIELDS = {"type", *BadRequest.__struct_fields__, *BadFrames.__struct_fields__}


def frame(first: int, payload: bytes) -> bytes:
    """A frame as a client sends it."""
    size = len(payload)
    if size < 126:
        head = bytes((first, 0x80 | size))
    elif size < 65_536:
        head = bytes((first, 0x80 | 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((first, 0x80 | 127)) + size.to_bytes(8, "big")
    return head + MASK + bytes(byte ^ key for byte, key in zip(payload, cycle(MASK), strict=False))


@functools.cache
def all_bad_inputs() -> tuple[Bad, ...]:
    words: dict[str, Any] = {"lease-id": LEASE}
    templates: dict[str, dict[str, Any]] = {}
    groups: list[dict[str, Any]] = []
    for path in sorted(Path(__file__).parent.glob("bad_*.toml")):
        table = msgspec.toml.decode(path.read_bytes())
        words |= table["words"]
        templates |= table["templates"]
        groups += table["groups"]
    order = words["good-order"].encode()
    words |= {
        "gzip": gzip.compress(order, mtime=0).decode("latin-1"),
        "deflate": zlib.compress(order).decode("latin-1"),
        "bomb": zlib.compress(b" " * BOMB, 9).decode("latin-1"),
    }
    return tuple(
        _input(words | templates[name] | group | dict(zip(group["columns"], row, strict=True)))
        for group in groups
        for name in group["templates"]
        for row in group["rows"]
    )


def _input(values: dict[str, Any]) -> Bad:
    fields = {name: _fill(value, values) for name, value in values.items() if name in FIELDS}
    made: Bad = msgspec.convert(fields, Bad)
    return made


def _fill(value: Any, words: dict[str, Any]) -> Any:
    """Put the words into a value. A text that is one word becomes its value, whatever its type."""
    if isinstance(value, list):
        return [_fill(one, words) for one in value]
    if isinstance(value, dict):
        return {name: _fill(one, words) for name, one in value.items()}
    if not isinstance(value, str):
        return value
    whole = WORD.fullmatch(value)
    if whole is not None and whole[1] in words:
        return _fill(words[whole[1]], words)
    return WORD.sub(
        lambda found: str(_fill(found[0], words)) if found[1] in words else found[0], value
    )


def _bytes(text: str) -> bytes:
    repeats = 1
    while repeats:
        text, repeats = INNERMOST_REPEAT.subn(lambda found: int(found[1]) * found[2], text)
    return text.encode("latin-1")
