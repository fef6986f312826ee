"""One HTTP connection: framing, order, keep-alive, backpressure, proxies, and the end of the
server."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from laissez.server import serve as serving
from laissez.server.http.protocol import HttpConnection
from laissez.server.serve import Server, listen
from laissez_check.in_process import Exchange, Pipe, head_of
from support.service_world import World, with_service

pytestmark = pytest.mark.once

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
ORDER = b'{"alternatives": [{"scope": "h100", "limit": "1"}]}'
WITHIN_S = 10


class Wire:
    """A connection of the application whose bytes are kept."""

    def __init__(self, world: World, client: tuple[str, int] | None = ("127.0.0.1", 5)) -> None:
        self.heard = b""
        self.is_closed = False
        self.connection = HttpConnection(world.app)
        self.pipe = Pipe(self.connection, self._hear, self._end, client)

    def _hear(self, data: bytes) -> None:
        self.heard += data

    def _end(self) -> None:
        self.is_closed = True

    def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.connection.data_received(piece)

    async def until(self, words: bytes) -> None:
        async with asyncio.timeout(WITHIN_S):
            while words not in self.heard:
                await asyncio.sleep(0)


def posted(world: World, more: bytes) -> bytes:
    key = world.secrets["ann"].encode()
    return (
        b"POST /v1/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %b\r\n"
        b"Content-Type: application/json\r\n%b\r\n" % (key, more)
    )


def test_100_continue_is_sent_only_if_the_body_is_wanted(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        more = b"Expect: 100-continue\r\nContent-Length: %d\r\n"
        wanted, refused = Wire(world), Wire(world)
        wanted.send(posted(world, more % len(ORDER)))
        await wanted.until(b"\r\n\r\n")
        assert b"HTTP/1.1 100 Continue\r\n\r\n" == wanted.heard
        wanted.send(ORDER)
        await wanted.until(b"HTTP/1.1 201 Created\r\n")
        refused.send(posted(world, more % 10**7))
        await refused.until(b"HTTP/1.1 413 ")
        assert b"100 Continue" not in refused.heard

    with_service(tmp_path / "data", story)


@pytest.mark.parametrize(
    "lengths",
    [
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        b"Transfer-Encoding: gzip, identity\r\n",
        b"Content-Length: +5\r\n",
        b"Content-Length : 5\r\n",
    ],
)
def test_a_body_with_an_ambiguous_end_is_refused(tmp_path: Path, lengths: bytes) -> None:
    async def story(world: World) -> None:
        wire = Wire(world)
        wire.send(posted(world, lengths) + b"0\r\n\r\n" + HEALTH)
        await wire.until(b"HTTP/1.1 400 ")
        assert 1 == wire.heard.count(b"HTTP/1.1 ") and b"connection: close\r\n" in wire.heard

    with_service(tmp_path / "data", story)


def test_a_head_request_is_answered_like_get_without_the_body(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        whole = await world.ask("ann", "GET", "/v1/me")
        head = await world.ask("ann", "HEAD", "/v1/me")
        assert (dict(whole.headers), b"") == (dict(head.headers), head.content)
        assert whole.headers["content-length"] == str(len(whole.content))

    with_service(tmp_path / "data", story)


def test_http_1_0_gets_no_chunks_and_its_connection_is_closed(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        plain, stream = Wire(world), Wire(world)
        plain.send(b"GET /healthz HTTP/1.0\r\n\r\n")
        await plain.until(b"connection: close\r\n")
        assert plain.pipe.is_closing()
        key = world.secrets["ann"].encode()
        stream.send(
            b"GET /v1/events HTTP/1.0\r\nAuthorization: Bearer %b\r\n"
            b"Accept: text/event-stream\r\n\r\n" % key
        )
        await stream.until(b"\r\n\r\n: beat\n\n")
        assert b"transfer-encoding" not in stream.heard
        stream.pipe.close()
        await asyncio.gather(*world.app.tasks)

    with_service(tmp_path / "data", story)


def test_a_connection_survives_a_large_body_refused_unread(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        wire, size = Wire(world), 500_000
        head = posted(world, b"Content-Length: %d\r\n" % size)
        wire.send(head.replace(b"application/json", b"text/plain"))
        await wire.until(b"HTTP/1.1 415 ")
        for _ in range(5):
            wire.send(b"x" * (size // 5))
        wire.send(HEALTH)
        await wire.until(b"HTTP/1.1 200 ")

    with_service(tmp_path / "data", story)


def test_a_client_that_does_not_read_gets_no_more_answers(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        wire = Wire(world)
        wire.connection.pause_writing()
        wire.send(HEALTH * 3)
        assert b"" == wire.heard
        wire.connection.resume_writing()
        async with asyncio.timeout(WITHIN_S):
            while wire.heard.count(b"HTTP/1.1 200 ") < 3:
                await asyncio.sleep(0)

    with_service(tmp_path / "data", story)


@pytest.mark.parametrize(
    ("client", "forwarded", "noted"),
    [
        ("127.0.0.1", b"192.0.2.7", "192.0.2.7"),
        ("127.0.0.1", b"198.51.100.1, 192.0.2.7, 127.0.0.1", "192.0.2.7"),
        ("127.0.0.1", b"lz_secret", ""),
        ("192.0.2.1", b"192.0.2.7", "192.0.2.1"),
    ],
    ids=["proxy", "chain", "garbage", "stranger"],
)
def test_a_forwarded_address_is_believed_from_a_trusted_proxy_alone(
    tmp_path: Path, client: str, forwarded: bytes, noted: str
) -> None:
    async def story(world: World) -> None:
        head = head_of("GET", "/nothing", [(b"host", b"x"), (b"x-forwarded-for", forwarded)])
        asked = Exchange(world.app, head, client=(client, 5))
        await asked.ended()
        assert 404 == asked.status
        assert [noted] == [line.address for line in world.gateway.refusals._waiting]

    with_service(tmp_path / "data", story)


def test_a_second_stop_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "GRACE_S", 600)

    async def story(world: World) -> None:
        async def before_stop() -> None:
            pass

        key = b"Bearer " + world.secrets["ann"].encode()
        sent = [(b"host", b"x"), (b"authorization", key), (b"accept", b"text/event-stream")]
        stream = Exchange(world.app, head_of("GET", "/v1/events", sent))
        server = Server(world.app, before_stop)
        running = asyncio.create_task(server.serve(listen("127.0.0.1", 0)))
        async with asyncio.timeout(WITHIN_S):
            while stream.status != 200:
                await asyncio.sleep(0)
            server.stop()
            for _ in range(10):
                await asyncio.sleep(0)
            assert not running.done() and not stream.pipe.is_closing()
            server.stop()
            await running
        assert stream.pipe.is_closing() and not world.app.tasks

    with_service(tmp_path / "data", story)
