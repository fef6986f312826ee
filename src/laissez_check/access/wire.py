"""Requests as bytes over one kept connection, and answers as the bytes that came: what is compared
here is what anybody could see."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from laissez_check.access import unmistakable

ANSWERS_WITHIN_S = 30.0
CONSOLE = {"X-Laissez-Console": "1"}


class Answer(msgspec.Struct, frozen=True):
    """`head` is the status line and the headers but for the date."""

    status: int
    head: bytes
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def with_name(self, found: str, meant: str) -> Answer:
        """The same about something else."""
        return Answer(self.status, self.head, self.body.replace(found.encode(), meant.encode()))


class Line:
    """One connection to the server, made again when the server has closed it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.asked = 0
        # keys and cookies of those who must not be told of some prices
        self.kept_from: set[str] = set()
        self.overheard: list[str] = []  # by them
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(
        self, method: str, path: str, headers: Mapping[str, str], body: Any = None
    ) -> Answer:
        """`body` is sent as JSON, unless it is bytes."""
        written = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        described = (
            {"Content-Type": "application/json", "Content-Length": str(len(written))}
            if written
            else {}
        )
        lines = [
            f"{method} {path} HTTP/1.1",
            "Host: localhost",
            *(f"{name}: {value}" for name, value in {**described, **headers}.items()),
        ]
        async with asyncio.timeout(ANSWERS_WITHIN_S):
            reader, writer = await self._connected()
            writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + written)
            self.asked += 1
            answer = await _answer(reader, method)
        if not self.kept_from.isdisjoint(headers.values()) and unmistakable.told(
            f"{answer.head!r} {answer.body!r}"
        ):
            self.overheard.append(f"{method} {path}: found {answer.body!r}")
        return answer

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None or self._streams[0].at_eof():
            self.close()
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        return self._streams

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()


async def _answer(reader: asyncio.StreamReader, method: str) -> Answer:
    head = await reader.readuntil(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if line and not line.lower().startswith(b"date:")]
    length = next(
        (
            int(line.partition(b":")[2])
            for line in lines
            if line.lower().startswith(b"content-length:")
        ),
        0,
    )
    body = b"" if method == "HEAD" else await reader.readexactly(length)
    return Answer(int(head.split()[1]), b"\n".join(lines), body)


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}", **CONSOLE}
