"""Heads of requests: endless headers are cut off, and a browser's are not. Late and unreadable
requests get problems, in order."""

from __future__ import annotations

import asyncio
import json
import resource
from pathlib import Path
from typing import Any

import msgspec
import pytest

from laissez.server.http.protocol import READ_BYTES, REQUESTS_MAX
from laissez.server.serve import KEPT_FREE, connections_possible
from laissez.wire.limits import HEAD_BYTES_MAX
from support.live_world import SOON_S, Live, with_live
from support.service_world import GENEROUS

pytestmark = pytest.mark.once

PIECE = b"cookie: " + b"a" * 8000 + b"\r\n"


async def told(live: Live, *pieces: bytes) -> bytes:
    """The answers to a request sent in pieces, until the server closes the connection."""
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


def test_endless_headers_are_cut_off_and_a_browsers_are_not(tmp_path: Path) -> None:
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


def test_input_after_the_headers_does_not_count_as_headers(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        body = b'{"commands": []' + b" " * (2 * HEAD_BYTES_MAX) + b"}"
        head = (
            "POST /v1/batch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer"
            f" {live.world.secrets['ann']}\r\nContent-Type: application/json\r\n"
        )
        request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode()
        last = request.replace(b"Host: x", b"Host: x\r\nConnection: close")
        answer = await told(
            live,
            request,
            *[body[first : first + 8000] for first in range(0, len(body), 8000)],
            last,
            body,
        )
        assert 2 == answer.count(b"HTTP/1.1 400 ") == answer.count(b"commands: expected")

    with_live(tmp_path, tale)


def test_pipelined_requests_are_read_as_earlier_ones_are_answered(tmp_path: Path) -> None:
    """Each request that was read takes some kilobytes, so their number is bounded."""
    limits = msgspec.structs.replace(GENEROUS, refusals_per_second=1, refusals_burst=1)

    async def tale(live: Live) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", live.port)
        writer.write(b"GET /v1/me HTTP/1.1\r\nHost: x\r\n\r\n" * 5_000)
        async with asyncio.timeout(SOON_S):
            assert (await reader.readline()).startswith(b"HTTP/1.1 401 ")
        (connection,) = live.connections
        assert 0 < len(connection._requests) <= REQUESTS_MAX + READ_BYTES // 32
        assert not connection.transport.is_reading()
        writer.close()

    with_live(tmp_path, tale, limits)


def test_many_small_requests_at_once_are_not_counted_as_one_long_head(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        many = 4 * HEAD_BYTES_MAX // len(HEALTH)
        answer = await told(
            live, HEALTH * many + HEALTH.replace(b"Host: x", b"Host: x\r\nConnection: close")
        )
        assert many + 1 == answer.count(b"HTTP/1.1 200 ") and b" 400 " not in answer

    with_live(tmp_path, tale)


HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
SLOW_S, PATIENT_S = 0.2, 600.0


def answers(heard: bytes) -> list[tuple[int, dict[str, Any]]]:
    """Status and body of each answer, all in JSON."""
    found = []
    while heard:
        head, _, rest = heard.partition(b"\r\n\r\n")
        size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        found.append((int(head.split()[1]), json.loads(rest[:size])))
        heard = rest[size:]
    return found


def posted(live: Live, size: int) -> bytes:
    head = (
        "POST /v1/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer"
        f" {live.world.secrets['ann']}\r\nContent-Type: application/json\r\n"
    )
    return f"{head}Content-Length: {size}\r\n\r\n".encode()


def test_a_late_head_is_a_408_and_a_timely_one_may_wait_for_its_body(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        for begun in (b"G", HEALTH[:-2], HEALTH + b"GET /"):
            status, problem = answers(await told(live, begun))[-1]
            assert (408, "request_timeout") == (
                status,
                problem["code"],
            ) and "0.2 seconds" in problem["detail"]
        assert b"" == await told(live) == await told(live, b"\r\n", b"\r\n")  # no request

        reader, writer = await asyncio.open_connection("127.0.0.1", live.port)
        writer.write(posted(live, 2))
        await asyncio.sleep(2 * SLOW_S)  # longer than a head may take
        writer.write(b"[]")
        async with asyncio.timeout(SOON_S):
            assert b" 400 " in await reader.readline()
        writer.close()

    with_live(
        tmp_path,
        tale,
        msgspec.structs.replace(GENEROUS, head_within_s=SLOW_S, body_within_s=PATIENT_S),
    )


def test_a_late_body_is_a_408_and_changes_nothing(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        position = live.world.gateway.position
        order = b'{"alternatives": [{"scope": "h100", "limit": "1"}]}'
        for size, begun in ((len(order), b""), (len(order), order[:-1]), (len(order) + 1, order)):
            ((status, problem),) = answers(await told(live, posted(live, size), begun))
            assert (408, "request_timeout", position) == (
                status,
                problem["code"],
                live.world.gateway.position,
            ) and "nothing was done" in problem["detail"]
        early = posted(live, 9).replace(b"application/json", b"text/plain")
        # answered before its body; the missing rest ends the connection
        assert [415] == [status for status, _ in answers(await told(live, early))]

    with_live(
        tmp_path,
        tale,
        msgspec.structs.replace(GENEROUS, head_within_s=PATIENT_S, body_within_s=SLOW_S),
    )


def test_an_unreadable_request_is_refused_after_the_answers_to_earlier_ones(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        order = b'{"alternatives": [{"scope": "h100", "limit": "1"}]}'
        heard = answers(
            await told(live, HEALTH + posted(live, len(order)) + order + b"what?\r\n\r\n")
        )
        assert [200, 201, 400] == [status for status, _ in heard]
        assert (
            "bad_request" == heard[-1][1]["code"]
            and "expected a request of HTTP/1.1" in heard[-1][1]["detail"]
        )
        broken = posted(live, 0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
        assert [200, 200, 400] == [
            status for status, _ in answers(await told(live, HEALTH + HEALTH + broken + b"zz\r\n"))
        ]

    with_live(tmp_path, tale)


def test_trailers_are_ignored(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        chunked = (
            b"GET /v1/me HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection:"
            b" close\r\n\r\n0\r\n"
        )
        key = f"Authorization: Bearer {live.world.secrets['ann']}\r\n\r\n".encode()
        ((status, problem),) = answers(await told(live, chunked + key))
        assert (401, "unauthenticated") == (status, problem["code"])

    with_live(tmp_path, tale)


def test_an_unsupported_upgrade_is_ignored_and_ends_the_connection(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        upgrade = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
        assert [200] == [
            status for status, _ in answers(await told(live, upgrade, b"PRI * HTTP/2.0\r\n\r\n"))
        ]

    with_live(tmp_path, tale)


UPGRADE = (
    b"GET /v1/session HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade:"
    b" websocket\r\nSec-WebSocket-Version: 13\r\n"
)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (b"a: b\r\n" * 200, "128 headers"),
        (b"Content-Length: 2\r\n", "body"),
        (b"", "Sec-WebSocket-Key"),
    ],
    ids=["many", "body", "none"],
)
def test_an_unreadable_handshake_is_refused_and_its_connection_closed(
    tmp_path: Path, more: bytes, words: str
) -> None:
    async def tale(live: Live) -> None:
        ((status, problem),) = answers(await told(live, UPGRADE + more + b"\r\n"))
        assert (400, "bad_request") == (status, problem["code"]) and words in problem["detail"]

    with_live(tmp_path, tale)


def test_a_session_begins_after_the_answers_to_earlier_requests(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        key = b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        heard = answers(await told(live, HEALTH + UPGRADE + key))
        assert [200, 400] == [
            status for status, _ in heard
        ] and "before it on the connection" in heard[1][1]["detail"]

    with_live(tmp_path, tale)


def test_connections_are_limited(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        held = [await asyncio.open_connection("127.0.0.1", live.port) for _ in range(2)]
        for reader, writer in held:
            writer.write(HEALTH)
            assert b" 200 " in await reader.readline()
        ((status, problem),) = answers(await told(live))
        assert (503, "overloaded") == (
            status,
            problem["code"],
        ) and "at most 2 connections" in problem["detail"]
        for _, writer in held:
            writer.close()
            await writer.wait_closed()
        async with live.peer("ann") as peer:  # sessions count, too
            assert "pong" == (await peer.ask(type="ping", id="p"))["type"]

    with_live(tmp_path, tale, msgspec.structs.replace(GENEROUS, connections_max=2))


def test_connections_are_limited_by_open_files() -> None:
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        assert 50 == connections_possible(50)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(allowed, 200), most))
        assert 150 == connections_possible(150)  # more than are possible
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= 150 + KEPT_FREE
        assert most == resource.RLIM_INFINITY or most - KEPT_FREE == connections_possible(most)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
