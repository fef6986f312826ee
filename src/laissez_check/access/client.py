"""A client that keeps heads and bodies of answers byte by byte."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import msgspec
from websockets.asyncio.client import ClientConnection, connect

from laissez.wire.session import JSON

ANSWERS_WITHIN_S = 30.0
OF_TIME = (b"date", b"ratelimit-remaining")  # the latter grows by one each microsecond here
CONSOLE = {"X-Laissez-Console": "1"}  # sent by pages of the console; pages of other sites cannot

# Unusual prices, so that a leaked one is recognised.
ORDER_PRICE, LEASE_PRICE, BUDGET = "4183.275916", "5839.217463", "7261.839405"


def spellings(price: str) -> tuple[str, ...]:
    """The price in dollars, in millionths, and as a metric, with one digit before the point."""
    digits = price.replace(".", "")
    return price, digits, f"{digits[0]}.{digits[1:]}e+"


SECRET_PRICES = tuple(
    spelling for price in (ORDER_PRICE, LEASE_PRICE, BUDGET) for spelling in spellings(price)
)


def tells_price(text: str) -> bool:
    return any(price in text for price in SECRET_PRICES)


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}", **CONSOLE}


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: tuple[tuple[bytes, bytes], ...]  # without those that depend on the time
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def renamed(self, found: str, meant: str) -> Answer:
        """The same answer about something with another name."""
        body = self.body.replace(found.encode(), meant.encode())
        return Answer(self.status, self.headers, body)


class Client:
    def __init__(self, port: int) -> None:
        self.asked = 0
        self.outsiders: set[str] = set()  # keys and cookies of callers that must not see the prices
        self.overheard: list[str] = []  # answers to outsiders that hold one
        self._at = f"127.0.0.1:{port}"
        # below httpx's client, which would keep cookies and add headers
        self._transport = httpx.AsyncHTTPTransport()

    async def ask(
        self, method: str, path: str, headers: Mapping[str, str], body: Any = None
    ) -> Answer:
        """Send one request; a body that is not bytes is sent as JSON."""
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if content is not None:
            headers = {"Content-Type": "application/json", **headers}
        async with asyncio.timeout(ANSWERS_WITHIN_S):
            response = await self.open(method, path, headers, content)
            heard = await response.aread()
            await response.aclose()
        raw = response.headers.raw
        shown = tuple(header for header in raw if header[0].lower() not in OF_TIME)
        if not self.outsiders.isdisjoint(headers.values()) and tells_price(f"{shown} {heard!r}"):
            self.overheard.append(f"{method} {path}: found {heard!r}")
        return Answer(response.status_code, shown, heard)

    async def open(
        self, method: str, path: str, headers: Mapping[str, str], content: bytes | None = None
    ) -> httpx.Response:
        self.asked += 1
        request = httpx.Request(
            method, f"http://{self._at}{path}", headers=headers, content=content
        )
        return await self._transport.handle_async_request(request)

    @asynccontextmanager
    async def session(
        self, headers: Mapping[str, str], query: str = ""
    ) -> AsyncIterator[ClientConnection]:
        async with connect(
            f"ws://{self._at}/v1/session{query}",
            subprotocols=[JSON],  # type: ignore[list-item]
            additional_headers=headers,
            proxy=None,
        ) as socket:
            yield socket

    async def aclose(self) -> None:
        await self._transport.aclose()


class Peer:
    """A session that asks one thing at a time."""

    _numbers = itertools.count(1)  # shared, because sessions of a tenant share idempotency keys

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.heard: list[str] = []

    async def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """The answer to a message; a refused hello is answered without its id."""
        id = f"{message['type']}-{next(self._numbers)}"
        named = message if message["type"] == "hello" else {**message, "id": id}
        await self._socket.send(json.dumps(named))
        while True:
            self.heard.append(str(await self._socket.recv()))
            read = json.loads(self.heard[-1])
            for said in read if isinstance(read, list) else [read]:
                if message["type"] == "hello" or said.get("id") == id:
                    return dict(said)
