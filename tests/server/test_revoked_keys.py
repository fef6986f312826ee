"""A key revoked, or a sign-in ended, before the body of a request arrives is invalid for that
request too."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from laissez_check.in_process import Exchange, head_of
from support.service_world import World, with_service

pytestmark = pytest.mark.once

ORDER = b'{"alternatives": [{"scope": "h100", "limit": "1"}]}'
JSON = {"content-type": "application/json"}
Meanwhile = Callable[[], Awaitable[object]]


async def status_of(
    world: World, method: str, path: str, headers: dict[str, str], body: bytes, meanwhile: Meanwhile
) -> int:
    """The status of a request whose body ends after `meanwhile` has run."""
    sent = {"host": "test", "transfer-encoding": "chunked", **headers}
    head = head_of(method, path, [(name.encode(), sent[name].encode()) for name in sent])
    asked = Exchange(world.app, head)
    await meanwhile()
    chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
    asked.connection.data_received(chunk + b"0\r\n\r\n")
    async with asyncio.timeout(10):
        while not asked.status:
            await asyncio.sleep(0)
    asked.pipe.close()
    await asyncio.gather(*world.app.tasks)
    return asked.status


REQUESTS: list[tuple[str, str, dict[str, str], bytes, int]] = [
    ("POST", "/v1/orders", {**JSON, "x-laissez-console": "1"}, ORDER, 201),
    ("GET", "/v1/orders", {}, b"", 200),
    ("GET", "/v1/events", {"accept": "text/event-stream"}, b"", 200),
]


def test_a_key_revoked_before_the_body_arrives_does_nothing(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for method, path, headers, body, status in REQUESTS:
            secret = world.new_secret("ann", "read", "trade")
            key = (await world.ask(secret, "GET", "/v1/me")).json()["key"]
            sent = {"authorization": f"Bearer {secret}", **headers}
            assert status == await status_of(
                world, method, path, sent, body, lambda: asyncio.sleep(0)
            )
            orders = world.gateway.exchange.market.counts("ann").orders_placed
            assert 401 == await status_of(
                world,
                method,
                path,
                sent,
                body,
                partial(world.ask, "operator", "DELETE", f"/v1/keys/{key}"),
            )
            assert (orders, 0) == (
                world.gateway.exchange.market.counts("ann").orders_placed,
                len(world.quota),
            )

    with_service(tmp_path, story)


def test_a_sign_in_ended_before_the_body_arrives_does_nothing(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for method, path, headers, body, status in REQUESTS:
            answer = await world.ask(
                None,
                "POST",
                "/v1/signin",
                {"key": world.secrets["ann"]},
                headers={"X-Laissez-Console": "1"},
            )
            (token,) = answer.cookies.values()
            world.http.cookies.clear()
            sent = {"cookie": f"laissez_signin={token}", **headers}
            assert status == await status_of(
                world, method, path, sent, body, lambda: asyncio.sleep(0)
            )
            orders = world.gateway.exchange.market.counts("ann").orders_placed
            assert 401 == await status_of(
                world, method, path, sent, body, partial(world.app.site.signins.end, token)
            )
            assert (orders, 0) == (
                world.gateway.exchange.market.counts("ann").orders_placed,
                len(world.quota),
            )

    with_service(tmp_path, story)
