"""A planned stop: session orders, incomplete requests, and late answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.asyncio.client import connect

from laissez.units import parse_time
from server.test_serve import WITHIN_S, Running, running

pytestmark = [pytest.mark.once, pytest.mark.slow]

STANDS_S = 0.2


async def order_and_stop(server: Running, secret: str) -> None:
    """Place an order that would win a leaf when its owner's hold ends, then stop the server under
    the session."""
    async with connect(server.url.replace("http", "ws") + "/v1/session") as session:
        await session.send(
            json.dumps({"type": "hello", "key": secret, "cancel_on_disconnect": True})
        )
        await session.recv()
        await session.send(
            json.dumps(
                {
                    "type": "place_order",
                    "id": "press",
                    "alternatives": [{"scope": "h100/g0", "limit": "9"}],
                }
            )
        )
        assert "reply" == json.loads(await session.recv())["type"]
        await asyncio.sleep(STANDS_S)
        server.process.terminate()
        async for _ in session:
            pass


def test_session_orders_are_cancelled_before_the_server_ends(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        ann, bob = server.tenant("ann"), server.tenant("bob")
        assert 200 == server.ask("PUT", "/v1/controls/h100", {"hold_s": 3600}).status_code
        held = server.ask(
            "POST", "/v1/orders", {"alternatives": [{"scope": "h100/g0", "limit": "2"}]}, ann
        ).json()
        assert "filled" == held["state"]
        asyncio.run(asyncio.wait_for(order_and_stop(server, bob), WITHIN_S))
        assert 0 == server.process.wait(WITHIN_S)
    with running(tmp_path) as server:
        placed, cancelled = [
            one["event"] for one in server.ask("GET", "/v1/events?after=0", key=bob).json()["data"]
        ]
        assert ("order.placed", "order.cancelled") == (placed["type"], cancelled["type"])
        # Not as of the latest command: a bid that has stood long enough would be charged for an
        # early withdrawal.
        assert STANDS_S * 1e6 <= parse_time(cancelled["at"]) - parse_time(placed["at"])
        # nothing was left to cancel
        assert "whose sessions were lost" not in server.log.read_text()
        assert 0 == server.stop()


@contextlib.contextmanager
def sending(server: Running, content: bytes) -> Iterator[socket.socket]:
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port), WITHIN_S) as connection:
        connection.sendall(content)
        yield connection


def received(connection: socket.socket) -> bytes:
    """All input until the peer has closed the connection."""
    content = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65_536):
            content += piece
    return content


HEAD = "POST /v1/orders HTTP/1.1\r\nHost: h\r\n"


@pytest.mark.parametrize(
    "sent", [HEAD, HEAD + '{key}Content-Length: 60\r\n\r\n{{"alt'], ids=["head", "body"]
)
def test_an_incomplete_request_is_refused_when_the_server_stops(tmp_path: Path, sent: str) -> None:
    with running(tmp_path) as server:
        key = f"Authorization: Bearer {server.tenant('ann')}\r\nContent-Type: application/json\r\n"
        with sending(server, sent.format(key=key).encode()) as connection:
            # by the time of this answer the server has read the other request
            assert 200 == server.ask("GET", "/v1/me").status_code
            assert 0 == server.stop()
            head, _, body = received(connection).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ") and b"application/problem+json" in head
        assert ("stopping", 503) == (json.loads(body)["code"], json.loads(body)["status"])
        assert not {"Traceback", "Exception"} & set(
            server.log.read_text().replace(":", " ").split()
        )


def test_late_answers_are_aborted_without_an_error(tmp_path: Path) -> None:
    """The late answers here are delayed refusals."""
    settings = {"LIMITS__REFUSALS_PER_SECOND": "1", "LIMITS__REFUSALS_BURST": "1"}
    with running(tmp_path, **settings) as server, contextlib.ExitStack() as stack:
        asked = b"GET /v1/orders HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer lz_wrong\r\n\r\n"
        connections = [stack.enter_context(sending(server, asked)) for _ in range(12)]
        assert connections[0].recv(65_536).startswith(b"HTTP/1.1 401 ")
        assert 0 == server.stop()
        assert b"" == received(connections[-1])
        assert not {"Traceback", "Exception", "ERROR", "Cancel"} & set(
            server.log.read_text().replace(":", " ").split()
        )
