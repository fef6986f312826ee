"""What a planned stop does to orders that go with their session: they are gone at once, not at the next start."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

from test_server import WITHIN_S, Running, running

pytestmark = [pytest.mark.once, pytest.mark.slow]


async def press_and_stop(server: Running, secret: str) -> None:
    """An order that would win a leaf as soon as its owner's hold is over; then the server is stopped under the session."""
    async with connect(server.url.replace("http", "ws") + "/v1/session") as session:
        await session.send(json.dumps({"type": "hello", "key": secret, "cancel_on_disconnect": True}))
        await session.recv()
        await session.send(json.dumps({"type": "place_order", "id": "press", "alternatives": [{"scope": "h100/g0", "limit": "9"}]}))
        assert "reply" == json.loads(await session.recv())["type"]
        server.process.terminate()
        async for _ in session:
            pass


def test_an_order_that_goes_with_its_session_is_cancelled_before_the_server_is_gone(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        ann, bob = server.tenant("ann"), server.tenant("bob")
        assert 200 == server.ask("PUT", "/v1/controls/h100", {"hold_s": 3600}).status_code
        held = server.ask("POST", "/v1/orders", {"alternatives": [{"scope": "h100/g0", "limit": "2"}]}, ann).json()
        assert "filled" == held["state"]
        asyncio.run(asyncio.wait_for(press_and_stop(server, bob), WITHIN_S))
        assert 0 == server.process.wait(WITHIN_S)
    with running(tmp_path) as server:
        told = [one["event"]["type"] for one in server.ask("GET", "/v1/events?after=0", key=bob).json()["data"]]
        assert ["order.placed", "order.cancelled"] == told
        assert "whose sessions were lost" not in server.log.read_text()  # there was nothing left to cancel
        assert 0 == server.stop()
