"""Both ends of a bad input: send its bytes as they are, and read what comes back, however it
ends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from laissez.wire.session import JSON, MSGPACK
from laissez_check.wire.bad_frames import BINARY, HELLO, TEXT, frame
from laissez_check.wire.bad_inputs import Frames, Request

WITHIN_S = 30.0
_UPGRADE = (
    b"GET /v1/session HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection:"
    b" Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key:"
    b" AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Extensions: permessage-deflate\r\nAuthorization:"
    b" Bearer %b\r\nSec-WebSocket-Protocol: %b\r\n\r\n"
)


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]
    body: bytes


class Heard(msgspec.Struct, frozen=True):
    """Of a session: the messages that came and, if it was closed, with which code and reason."""

    messages: list[dict[str, object]]
    code: int | None
    reason: str


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def answers_to(port: int, pieces: tuple[bytes, ...], one: Request) -> list[Answer]:
    """As many as are expected, or fewer if the server ends the connection before."""
    async with asyncio.timeout(WITHIN_S), connected(port) as (reader, writer):
        sending = asyncio.create_task(_send(writer, pieces, one.pause_s))
        answers: list[Answer] = []
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while len(answers) <= one.good_before:
                answers.append(await _answer(reader))
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        return answers


async def _send(writer: asyncio.StreamWriter, pieces: tuple[bytes, ...], pause_s: float) -> None:
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        if pause_s:
            await asyncio.sleep(pause_s)


async def _answer(reader: asyncio.StreamReader) -> Answer:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {
        name.lower(): value.strip()
        for name, _, value in (line.partition(":") for line in head[1:] if line)
    }
    return Answer(
        int(head[0].split()[1]),
        headers,
        await reader.readexactly(int(headers.get("content-length", "0"))),
    )


class Session:
    """A raw client of a session."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, packed: bool
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._packed = packed
        self._read = msgspec.msgpack.decode if packed else msgspec.json.decode
        self._waiting: list[dict[str, object]] = []
        self.closed: tuple[int, str] | None = None

    async def open(self, key: bytes, greets: bool) -> None:
        self._writer.write(_UPGRADE % (key, (MSGPACK if self._packed else JSON).encode()))
        head = await self._reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 ") and b"deflate" not in head, head
        if greets:
            await self.say(msgspec.json.decode(HELLO))
            await self.hear("welcome")

    async def say(self, message: object) -> None:
        packed = self._packed
        await self.send(
            frame(BINARY, msgspec.msgpack.encode(message))
            if packed
            else frame(TEXT, msgspec.json.encode(message))
        )

    async def send(self, sent: bytes) -> None:
        self._writer.write(sent)
        await self._writer.drain()

    async def hear(self, *types: str) -> dict[str, object] | None:
        """The next message of one of these types; None if the connection ends before."""
        while True:
            for message in self._waiting:
                if message["type"] in types:
                    self._waiting.remove(message)
                    return message
            if not await self._next():
                return None

    async def _next(self) -> bool:
        try:
            first, size = await self._reader.readexactly(2)
            if size >= 126:
                size = int.from_bytes(
                    await self._reader.readexactly(2 if size == 126 else 8), "big"
                )
            payload = await self._reader.readexactly(size)
        except (OSError, asyncio.IncompleteReadError):
            return False
        if first & 0x0F == 8:
            self.closed = int.from_bytes(payload[:2], "big"), payload[2:].decode()
            return False
        if first & 0x0F in (1, 2):
            read = self._read(payload)
            self._waiting = [*self._waiting[-50:], *(read if isinstance(read, list) else [read])]
        return True


@asynccontextmanager
async def session(port: int, key: bytes, packed: bool, greets: bool) -> AsyncIterator[Session]:
    async with asyncio.timeout(WITHIN_S), connected(port) as (reader, writer):
        made = Session(reader, writer, packed)
        await made.open(key, greets)
        yield made


async def heard_after(made: Session, sent: tuple[bytes, ...], one: Frames) -> Heard:
    """The refusal, or the end."""
    with contextlib.suppress(OSError):
        for piece in sent:
            await made.send(piece)
            if one.pause_s:
                await asyncio.sleep(one.pause_s)
    refused = await made.hear("refused")
    if refused is not None and not one.greets:
        await made.hear("nothing: until the end")
    code, reason = made.closed or (None, "")
    return Heard([refused] if refused else [], code, reason)
