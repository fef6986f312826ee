"""JSON and MessagePack: the frames of a session, and a check for duplicate keys.

Objects with duplicate keys are refused, because parsers disagree about which of the values counts.
msgspec silently keeps the last one. So a decoded message is encoded again and compared, which takes
half a microsecond for a command. Our own client's messages come out byte for byte the same. Others
are decoded once more as plain data, where a duplicate key is missing (three microseconds). Only
messages that then look suspicious go through a slow parser.
"""

from __future__ import annotations

import json
from typing import Any, Final, TypeAlias

import msgspec

from laissez.wire.decoding import unreadable
from laissez.wire.problems import Code, ProblemError
from laissez.wire.requests import SessionMessage
from laissez.wire.session import JSON, MSGPACK

_read_json = msgspec.json.Decoder().decode
_write_json = msgspec.json.Encoder().encode
_read_packed = msgspec.msgpack.Decoder().decode
_write_packed = msgspec.msgpack.Encoder().encode


class DuplicateKey(ValueError):
    def __init__(self, name: object) -> None:
        super().__init__(
            f"expected each name once in an object, found {str(name)[:64]!r} more often"
        )


def check_json(text: bytes, read: object) -> None:
    """Check well-formed JSON; `read` is the value decoded from it."""
    if text == _write_json(read):
        return
    if b"\\" not in text and text.count(b":") == _write_json(_read_json(text)).count(b":"):
        # Every key is followed by a colon. Colons inside strings survive encoding, unless escaped.
        return
    json.loads(text, object_pairs_hook=_checked)


def _checked(pairs: list[tuple[str, Any]]) -> None:
    names = [name for name, _ in pairs]
    if len(names) != len(set(names)):
        raise DuplicateKey(next(name for name in names if names.count(name) > 1))


def check_packed(packed: bytes, read: object) -> None:
    """Check well-formed MessagePack; `read` is the value decoded from it."""
    if packed != _write_packed(read) and packed != _write_packed(_read_packed(packed)):
        _Walk(packed).value()  # it may also differ because it is not in the shortest form


class _Walk:
    """Walks through MessagePack value by value and compares the keys of each map."""

    def __init__(self, packed: bytes) -> None:
        self._packed = packed
        self._at = 0

    def value(self) -> bytes | None:
        """Skip one value. Returns its bytes if it is text."""
        first = self._take(1)[0]
        if 0x80 <= first <= 0x8F:
            self._map(first & 0x0F)
            return None
        if 0x90 <= first <= 0x9F:
            self._array(first & 0x0F)
            return None
        if 0xA0 <= first <= 0xBF:
            return self._take(first & 0x1F)
        if first in _SIZED:
            take, size_bytes, more = _SIZED[first]
            size = int.from_bytes(self._take(size_bytes), "big")
            return {"text": self._take, "map": self._map, "array": self._array}[take](size + more)
        self._take(_FIXED.get(first, 0))
        return None

    def _take(self, size: int) -> bytes:
        self._at += size
        return self._packed[self._at - size : self._at]

    def _map(self, size: int) -> None:
        names: set[bytes | None] = set()
        for _ in range(size):
            name = self.value()
            if name in names:
                raise DuplicateKey("" if name is None else name.decode(errors="replace"))
            names.add(name)
            self.value()

    def _array(self, size: int) -> None:
        for _ in range(size):
            self.value()


# By the first byte of a value: its kind, the length of its size field, and bytes beyond that size.
_SIZED = {
    **{first: ("text", 1 << (first - 0xC4), 0) for first in (0xC4, 0xC5, 0xC6)},
    **{first: ("text", 1 << (first - 0xC7), 1) for first in (0xC7, 0xC8, 0xC9)},
    **{first: ("text", 1 << (first - 0xD9), 0) for first in (0xD9, 0xDA, 0xDB)},
    0xDC: ("array", 2, 0), 0xDD: ("array", 4, 0), 0xDE: ("map", 2, 0), 0xDF: ("map", 4, 0),
}  # fmt: skip
_FIXED = {
    0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8,
    0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17,
}  # fmt: skip


# -- frames


class _MessageId(msgspec.Struct):
    id: str = ""


_Frame: TypeAlias = SessionMessage | list[SessionMessage]
_Ids: TypeAlias = _MessageId | list[_MessageId]


class FrameCodec:
    """Encodes and decodes the frames of a session: a message, or a list of them."""

    def __init__(self, name: str, form: Any, check: Any, text: bool) -> None:
        self.name = name
        self.text = text  # frames are text, not binary
        self.encode = form.Encoder().encode
        self._decode = form.Decoder(_Frame).decode
        self._decode_ids = form.Decoder(_Ids).decode
        self._check_keys = check

    def read(self, frame: bytes | str, messages_max: int) -> list[SessionMessage]:
        """The messages of a frame. One unreadable message refuses the whole frame."""
        try:
            written = frame.encode() if isinstance(frame, str) else frame
            read = self._decode(written)
            self._check_keys(written, read)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, DuplicateKey) as error:
            why = (
                f"expected a message or a list of messages as {self.name}; nothing in the frame was"
                f" done: {unreadable(error)}"
            )
            raise ProblemError(Code.BAD_REQUEST, why) from None
        messages: list[SessionMessage] = read if type(read) is list else [read]
        if len(messages) > messages_max:
            raise ProblemError(
                Code.BAD_REQUEST,
                f"expected at most {messages_max} messages in a frame, found {len(messages)};"
                " nothing in it was done",
            )
        return messages

    def ids(self, frame: bytes | str) -> list[str] | None:
        """The ids of a frame's messages, for refusing them unread; None for an unreadable frame."""
        try:
            read = self._decode_ids(frame.encode() if isinstance(frame, str) else frame)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        return [one.id for one in read] if type(read) is list else [read.id]


FRAME_CODECS: Final[dict[str, FrameCodec]] = {
    JSON: FrameCodec("JSON", msgspec.json, check_json, text=True),
    MSGPACK: FrameCodec("MessagePack", msgspec.msgpack, check_packed, text=False),
}
