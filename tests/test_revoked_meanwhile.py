"""A key that is revoked, or a sign-in that is ended, while the body of a request is still on its
way, is worthless for that request too."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from service_world import World, with_service

pytestmark = pytest.mark.once

ORDER = b'{"alternatives": [{"scope": "h100", "limit": "1"}]}'
JSON = {"content-type": "application/json"}
Meanwhile = Callable[[], Awaitable[object]]


async def status_of(
    world: World, method: str, path: str, headers: dict[str, str], body: bytes, meanwhile: Meanwhile
) -> int:
    """Of a request whose body ends only after something else has happened."""
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        if statuses:
            return {"type": "http.disconnect"}
        await meanwhile()
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    sent = [
        (name.encode(), value.encode())
        for name, value in {"transfer-encoding": "chunked", **headers}.items()
    ]
    async with asyncio.timeout(10):
        await world.app(
            {"type": "http", "method": method, "path": path, "query_string": b"", "headers": sent},
            receive,
            send,
        )
    return statuses[0]


REQUESTS: list[tuple[str, str, dict[str, str], bytes, int]] = [
    ("POST", "/v1/orders", {**JSON, "x-laissez-console": "1"}, ORDER, 201),
    ("GET", "/v1/orders", {}, b"", 200),
    ("GET", "/v1/events", {"accept": "text/event-stream"}, b"", 200),
]


def test_a_key_that_is_revoked_before_the_body_has_come_does_nothing(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for method, path, headers, body, status in REQUESTS:
            secret = world.new_secret("ann", "read", "trade")
            key = (await world.ask(secret, "GET", "/v1/me")).json()["key"]
            sent = {"authorization": f"Bearer {secret}", **headers}
            assert status == await status_of(
                world, method, path, sent, body, lambda: asyncio.sleep(0)
            )
            orders = world.desk.exchange.accounts["ann"].orders_numbered
            assert 401 == await status_of(
                world,
                method,
                path,
                sent,
                body,
                partial(world.ask, "operator", "DELETE", f"/v1/keys/{key}"),
            )
            assert (orders, 0) == (
                world.desk.exchange.accounts["ann"].orders_numbered,
                len(world.places),
            )

    with_service(tmp_path, story)


def test_a_sign_in_that_is_ended_before_the_body_has_come_does_nothing(tmp_path: Path) -> None:
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
            orders = world.desk.exchange.accounts["ann"].orders_numbered
            assert 401 == await status_of(
                world, method, path, sent, body, partial(world.app.site.signins.end, token)
            )
            assert (orders, 0) == (
                world.desk.exchange.accounts["ann"].orders_numbered,
                len(world.places),
            )

    with_service(tmp_path, story)
