"""The clients of a crash test, over real sockets: REST without `laissez.client`, and the project's
own session, which lasts over all crashes.

Each notes in the ledger what it is answered and told. A connection that is lost leaves the request
without an answer; that is no error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import httpx
import msgspec

from laissez.client import AsyncSession
from laissez.client.errors import ApiError, LaissezError
from laissez.wire.requests import TenantCommand
from laissez_check.crashes.ledger import PASSING, Answer, Asked, Dense, Json, Ledger, Part
from laissez_check.crashes.requests import as_rest

ANSWER_WITHIN_S = 20.0
Encoding = Literal["json", "msgpack"]


class Lost(Exception):
    """The connection is gone, or the server asks to try again: whether the request was carried out
    is not known."""


class Rest:
    def __init__(self, ledger: Ledger, holder: str, url: str, key: str) -> None:
        self._ledger = ledger
        self.holder = holder
        self.key = key
        self._http = httpx.AsyncClient(
            base_url=url,
            headers={"Authorization": f"Bearer {key}"},
            timeout=ANSWER_WITHIN_S,
            limits=httpx.Limits(max_keepalive_connections=8),
            trust_env=False,
        )

    async def send(self, asked: Asked) -> None:
        response = await self.ask(asked.id, asked.command)
        answer = Answer(_parts(asked, response), response.status_code, response.content)
        self._ledger.answered(asked, answer, "REST")

    async def ask(self, id: str, command: Json) -> httpx.Response:
        method, path, body = as_rest(command)
        return await self.request(method, path, headers={"Idempotency-Key": id}, json=body)

    async def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        try:
            response = await self._http.request(method, path, **more)
        except httpx.TimeoutException as error:
            what = f"{method} {path} was not answered within {ANSWER_WITHIN_S} seconds"
            raise self._broken(what) from error
        except httpx.TransportError as error:
            raise Lost from error
        status = response.status_code
        if status in (429, 503) and response.json()["code"] in PASSING:
            raise Lost
        if status >= 500 or status == 429:
            raise self._broken(f"{method} {path} was answered with {status} {response.text}")
        return response

    async def get(self, path: str, **query: str | int) -> Any:
        response = await self.request("GET", path, params=query)
        if response.status_code != 200:
            answer = f"{response.status_code} {response.text}"
            raise self._broken(f"GET {path} {query} was answered with {answer}")
        return response.json()

    async def pages(self, path: str, **query: str | int) -> list[Json]:
        page = await self.get(path, limit=1000, **query)
        query.pop("after", None)
        found: list[Json] = page["data"]
        while page["has_more"]:
            page = await self.get(path, limit=1000, cursor=page["cursor"], **query)
            found += page["data"]
        return found

    def _broken(self, what: str) -> Lost:
        self._ledger.breaks(what)
        return Lost()

    async def close(self) -> None:
        await self._http.aclose()


def _parts(asked: Asked, response: httpx.Response) -> tuple[Part, ...]:
    body = response.json()
    if asked.kind == "batch" and response.status_code < 400:
        return tuple(_part(one["status"], one) for one in body["results"])
    if response.status_code < 400 and "events" not in body:
        return ()
    if response.status_code >= 400 and asked.kind in ("run", "stop"):
        return ()
    return (_part(response.status_code, body),)


def _part(status: int, body: Json) -> Part:
    if status >= 400:
        return Part((body["code"], body["detail"]), ())
    return Part(None, tuple(body.get("events", ())))


class Session:
    """It connects, resumes and repeats by itself."""

    def __init__(
        self,
        ledger: Ledger,
        holder: str,
        url: str,
        key: str,
        down: asyncio.Event,
        encoding: Encoding,
    ) -> None:
        self._ledger = ledger
        self.holder = holder
        self._down = down
        self._session = AsyncSession(
            url, key, resume_after=0, reconnect_timeout_s=120, encoding=encoding
        )
        self._events = Dense(ledger, holder, "a session")
        self._following: asyncio.Task[None] | None = None
        self._pending: dict[str, asyncio.Future[Any]] = {}

    async def open(self) -> None:
        await self._session.open()
        self._following = asyncio.create_task(self._follow())

    async def send(self, asked: Asked) -> None:
        """Gives up waiting when the server is killed; the answer is noted whenever it comes."""
        future = self._pending.get(asked.id)
        if future is None:
            command = msgspec.convert({**asked.command, "id": asked.id}, TenantCommand)
            with self._expecting_a_session():
                future = self._session.send(command)
            self._pending[asked.id] = future
            future.add_done_callback(lambda done: self._note(asked, done))
        await self._while_up(future)
        if not future.done():
            raise Lost

    async def drain(self) -> None:
        """Wait until everything is answered that was asked before the server was killed, or it is
        killed again."""
        drained = asyncio.create_task(self._session.drain())
        await self._while_up(drained)
        if drained.done():
            with self._expecting_a_session():
                await drained
            return
        drained.cancel()
        if self._down.is_set():
            raise Lost
        self._ledger.breaks(
            f"a session of {self.holder} got no answer within {ANSWER_WITHIN_S} s of a restart"
        )

    @contextmanager
    def _expecting_a_session(self) -> Iterator[None]:
        """A session that ended by itself, such as by a key that a start forgot, is a finding."""
        try:
            yield
        except LaissezError as error:
            self._ledger.breaks(f"a session of {self.holder} ended: {error!r}")
            raise Lost from error

    async def _while_up(self, awaited: asyncio.Future[Any]) -> None:
        down = asyncio.create_task(self._down.wait())
        await asyncio.wait(
            (awaited, down), timeout=ANSWER_WITHIN_S, return_when=asyncio.FIRST_COMPLETED
        )
        down.cancel()

    def _note(self, asked: Asked, done: asyncio.Future[Any]) -> None:
        del self._pending[asked.id]
        if done.cancelled():
            return
        error = done.exception()
        if error is None:
            part = Part(None, tuple(_plain(done.result().events)))
        elif isinstance(error, ApiError):
            part = Part((error.code, error.detail), ())
        else:
            self._ledger.breaks(f"a session gave {asked} up: {error!r}")
            return
        self._ledger.answered(asked, Answer((part,)), "session")

    async def _follow(self) -> None:
        try:
            async for one in self._session.events():
                told = _plain(one)
                if "n" in told:
                    self._events.told(told)
        except LaissezError as error:
            self._ledger.breaks(f"a session of {self.holder} ended: {error!r}")

    async def close(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait([self._following])
        await self._session.close()


def _plain(one: object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(one))
