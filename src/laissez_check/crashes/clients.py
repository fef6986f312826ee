"""The clients of a crash test that speak HTTP: requests, and a stream of events. Over real sockets,
and without `laissez.client`.

Each notes in the ledger what it is answered and told. A connection that is lost leaves the request
without an answer; that is no error.
"""

from __future__ import annotations

import contextlib
from typing import Any

import httpx
import msgspec

from laissez_check.crashes.ledger import PASSING, Answer, Asked, Json, Ledger, Part
from laissez_check.crashes.requests import as_rest

ANSWER_WITHIN_S = 20.0


class Lost(Exception):
    """The connection is gone, or the server asks to try again: whether the request was carried out
    is not known."""


class Rest:
    def __init__(self, ledger: Ledger, holder: str, url: str, key: str) -> None:
        self._ledger = ledger
        self.holder = holder
        self.key = key
        limits = httpx.Limits(max_keepalive_connections=8)
        self.http = httpx.AsyncClient(
            base_url=url,
            headers={"Authorization": f"Bearer {key}"},
            timeout=ANSWER_WITHIN_S,
            limits=limits,
            trust_env=False,
        )

    async def send(self, asked: Asked) -> None:
        answer = self._read(asked, await self.ask(asked.id, asked.command))
        self._ledger.answered(asked, answer, "REST")

    async def ask(self, id: str, command: Json) -> httpx.Response:
        method, path, body = as_rest(command)
        return await self.request(method, path, headers={"Idempotency-Key": id}, json=body)

    async def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        try:
            response = await self.http.request(method, path, **more)
        except httpx.TimeoutException as error:
            self._ledger.breaks(
                f"{method} {path} was not answered within {ANSWER_WITHIN_S} seconds"
            )
            raise Lost from error
        except httpx.TransportError as error:
            raise Lost from error
        if response.status_code in (429, 503):
            if response.json()["code"] not in PASSING:
                self._ledger.breaks(f"{method} {path} was answered with {response.text}")
            raise Lost
        if response.status_code >= 500:
            self._ledger.breaks(
                f"{method} {path} was answered with {response.status_code} {response.text}"
            )
            raise Lost
        return response

    async def get(self, path: str, **query: str | int) -> Any:
        response = await self.request("GET", path, params=query)
        if response.status_code != 200:
            self._ledger.breaks(
                f"GET {path} {query} was answered with {response.status_code} {response.text}"
            )
            raise Lost
        return response.json()

    async def pages(self, path: str, **query: str | int) -> list[Json]:
        found: list[Json] = []
        page = await self.get(path, limit=1000, **query)
        query.pop("after", None)
        while True:
            found += page["data"]
            if not page["has_more"]:
                return found
            page = await self.get(path, limit=1000, cursor=page["cursor"], **query)

    def _read(self, asked: Asked, response: httpx.Response) -> Answer:
        body = response.json()
        parts: tuple[Part, ...] = ()
        if response.status_code >= 400:
            if asked.kind not in ("run", "stop"):
                parts = (Part((body["code"], body["detail"]), ()),)
        elif asked.kind == "batch":
            parts = tuple(_item(one) for one in body["results"])
        elif "events" in body:
            parts = (Part(None, tuple(body["events"])),)
        return Answer(parts, response.status_code, response.content)

    async def close(self) -> None:
        await self.http.aclose()


def _item(result: Json) -> Part:
    if result["status"] >= 400:
        return Part((result["code"], result["detail"]), ())
    return Part(None, tuple(result.get("events", ())))


class Dense:
    """Watches that a stream of events leaves nothing out and tells nothing twice."""

    def __init__(self, ledger: Ledger, holder: str, where: str) -> None:
        self._ledger = ledger
        self._holder = holder
        self._where = where
        self.last = 0

    def told(self, numbered: Json, may_repeat: bool = False) -> None:
        n = numbered["n"]
        if n > self.last + 1 or (n <= self.last and not may_repeat):
            self._ledger.breaks(f"{self._where} of {self._holder} told event {n} after {self.last}")
        self.last = max(self.last, n)
        self._ledger.saw(self._holder, numbered, self._where)


class Stream:
    """A tenant's events as server-sent events, resumed after the last one."""

    def __init__(self, ledger: Ledger, rest: Rest) -> None:
        self._rest = rest
        self._events = Dense(ledger, rest.holder, "a stream")

    async def follow(self) -> None:
        """Until the connection is lost."""
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(self._events.last)}
        with contextlib.suppress(httpx.TransportError):
            async with self._rest.http.stream(
                "GET", "/v1/events", headers=headers, timeout=None
            ) as response:
                async for line in response.aiter_lines():
                    if line.startswith("data: {") and '"n":' in line[:12]:
                        self._events.told(msgspec.json.decode(line[6:]))
