"""Raw clients: they send bytes unchanged and read answers until the end of the connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import msgspec

from laissez.wire.session import JSON, MSGPACK
from laissez_check.wire.bad_inputs import BINARY, TEXT, frame

WITHIN_S = 30.0
WAITING_MOST = 50  # messages that are not read yet
UPGRADE = (
    b"GET /v1/session HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    b"Sec-WebSocket-Extensions: permessage-deflate\r\nAuthorization: Bearer %b\r\n"
    b"Sec-WebSocket-Protocol: %b\r\n\r\n"
)


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]
    body: bytes


@asynccontextmanager
async def _connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    async with asyncio.timeout(WITHIN_S):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            yield reader, writer
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def _send(writer: asyncio.StreamWriter, pieces: Iterable[bytes], pause_s: float) -> None:
    with contextlib.suppress(OSError):
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            if pause_s:
                await asyncio.sleep(pause_s)


async def answers_to(port: int, pieces: Iterable[bytes], pause_s: float, most: int) -> list[Answer]:
    """Up to `most` answers, until the server ends the connection."""
    async with _connected(port) as (reader, writer):
        sending = asyncio.create_task(_send(writer, pieces, pause_s))
        answers: list[Answer] = []
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while len(answers) < most:
                answers.append(await _answer(reader))
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        return answers


async def _answer(reader: asyncio.StreamReader) -> Answer:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    split = (line.partition(":") for line in head[1:] if line)
    headers = {name.lower(): value.strip() for name, _, value in split}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Answer(int(head[0].split()[1]), headers, body)


class Session:
    """A raw client of a session. It answers no pings."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, packed: bool
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._packed = packed
        self._waiting: list[dict[str, object]] = []
        self.close_code: int | None = None
        self.close_reason = ""

    async def open(self, key: bytes, greets: bool) -> None:
        self._writer.write(UPGRADE % (key, (MSGPACK if self._packed else JSON).encode()))
        head = await self._reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 ") and b"deflate" not in head, head
        if greets:
            await self.say({"type": "hello"})
            await self.hear("welcome")

    async def say(self, message: object) -> None:
        codec = msgspec.msgpack if self._packed else msgspec.json
        await self.send([frame(BINARY if self._packed else TEXT, codec.encode(message))])

    async def send(self, pieces: Iterable[bytes], pause_s: float = 0.0) -> None:
        await _send(self._writer, pieces, pause_s)

    async def hear(self, kind: str) -> dict[str, object] | None:
        """The next message of this type; None if the connection ends before."""
        while True:
            for message in self._waiting:
                if message["type"] == kind:
                    self._waiting.remove(message)
                    return message
            if not await self._read_frame():
                return None

    async def read_to_end(self) -> None:
        while await self._read_frame():
            pass

    async def _read_frame(self) -> bool:
        try:
            first, size = await self._reader.readexactly(2)
            if size >= 126:
                size = int.from_bytes(await self._reader.readexactly(2 if size == 126 else 8))
            payload = await self._reader.readexactly(size)
        except (OSError, asyncio.IncompleteReadError):
            return False
        opcode = first & 0x0F
        if opcode == 8:
            self.close_code = int.from_bytes(payload[:2])
            self.close_reason = payload[2:].decode()
            return False
        if opcode in (1, 2):
            read = (msgspec.msgpack if self._packed else msgspec.json).decode(payload)
            said = read if isinstance(read, list) else [read]
            self._waiting = [*self._waiting[-WAITING_MOST:], *said]
        return True


@asynccontextmanager
async def session(port: int, key: bytes, packed: bool, greets: bool) -> AsyncIterator[Session]:
    async with _connected(port) as (reader, writer):
        made = Session(reader, writer, packed)
        await made.open(key, greets)
        yield made
