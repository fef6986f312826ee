"""Codecs for the frames of a session: JSON text and MessagePack bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from laissez.wire import duplicate_keys, session
from laissez.wire.decoding import unreadable
from laissez.wire.duplicate_keys import DuplicateKey
from laissez.wire.problems import Code, ProblemError
from laissez.wire.requests import SessionMessage


class _MessageId(msgspec.Struct):
    id: str = ""


Frame: TypeAlias = SessionMessage | list[SessionMessage]


class FrameCodec:
    name: str
    text: bool  # frames are text, not binary
    encode: Callable[[Any], bytes]  # of a message, or of a list of them
    _decode: Callable[[bytes], Any]
    _decode_ids: Callable[[bytes], Any]
    _reject_duplicate_keys: Callable[[bytes, object], None]

    def read(self, frame: bytes | str, messages_max: int) -> list[SessionMessage]:
        """The messages of a frame. One unreadable message refuses the whole frame."""
        try:
            written = frame.encode() if isinstance(frame, str) else frame
            read = self._decode(written)
            self._reject_duplicate_keys(written, read)
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


class JsonFrames(FrameCodec):
    name = "JSON"
    text = True

    def __init__(self) -> None:
        self.encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder(Frame).decode
        self._decode_ids = msgspec.json.Decoder(_MessageId | list[_MessageId]).decode
        self._reject_duplicate_keys = duplicate_keys.check_json


class MsgpackFrames(FrameCodec):
    name = "MessagePack"
    text = False

    def __init__(self) -> None:
        self.encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(Frame).decode
        self._decode_ids = msgspec.msgpack.Decoder(_MessageId | list[_MessageId]).decode
        self._reject_duplicate_keys = duplicate_keys.check_packed


FRAME_CODECS: dict[str, FrameCodec] = {session.JSON: JsonFrames(), session.MSGPACK: MsgpackFrames()}
