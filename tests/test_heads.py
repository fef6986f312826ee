"""Whoever sends headers without end is not listened to for ever, and whoever sends as many as a browser may is heard."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from laissez.wire.limits import HEAD_BYTES_MAX
from live_world import SOON_S, Live, with_live

pytestmark = pytest.mark.once

PIECE = b"cookie: " + b"a" * 8000 + b"\r\n"


async def told(live: Live, *pieces: bytes) -> bytes:
    """What is answered to a request that is sent piece by piece, each by itself, until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", live.port)
    reading = asyncio.create_task(reader.read())
    async with asyncio.timeout(SOON_S):
        for piece in pieces:
            if not reading.done():
                writer.write(piece)
                await asyncio.sleep(0.001)
        answer = await reading
    writer.close()
    return answer


def test_headers_without_end_are_cut_off_and_those_of_a_browser_are_not(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        begin, end = b"GET /v1/signin HTTP/1.1\r\nHost: x\r\n", b"Connection: close\r\n\r\n"
        pieces = HEAD_BYTES_MAX // len(PIECE)
        most = await told(live, begin, *[PIECE] * (pieces - 1), end)
        assert most.startswith(b"HTTP/1.1 200 ") and most.endswith(b'{"me":null}')
        for head in (
            [begin, *[PIECE] * (pieces + 2)],
            [begin, b"cookie: ", *[b"a" * 8000] * (pieces + 2)],
            [b"GET /", *[b"a" * 8000] * (pieces + 2)],
        ):
            answer = await told(live, *head)
            assert answer.startswith(b"HTTP/1.1 400 ") and b"at most 65536 bytes" in answer

    with_live(tmp_path, tale)


def test_what_follows_the_headers_is_not_counted_among_them(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        body = b'{"commands": []' + b" " * (2 * HEAD_BYTES_MAX) + b"}"
        head = f"POST /v1/batch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {live.world.secrets['ann']}\r\nContent-Type: application/json\r\n"
        request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode()
        last = request.replace(b"Host: x", b"Host: x\r\nConnection: close")
        answer = await told(live, request, *[body[first : first + 8000] for first in range(0, len(body), 8000)], last, body)
        assert 2 == answer.count(b"HTTP/1.1 400 ") == answer.count(b"commands: expected")

    with_live(tmp_path, tale)
