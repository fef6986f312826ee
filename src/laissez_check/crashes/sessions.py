"""Sessions of a crash test: one spoken by hand, in either encoding, and the project's own.

The one by hand shares nothing with `laissez.client`, so that the two cannot be wrong together.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException
from websockets.typing import Subprotocol

from laissez.client import AsyncSession
from laissez.client.errors import ApiError, LaissezError
from laissez.wire.requests import TenantCommand
from laissez_check.crashes.clients import ANSWER_WITHIN_S, Dense, Lost
from laissez_check.crashes.ledger import PASSING, Answer, Asked, Json, Ledger, Part, Quoted, Shown

FRAME_BYTES_MAX = 64 * 1024 * 1024


class HandWritten:
    """A session that is spoken by hand; connected anew after every start of the server, resuming
    after the last event seen."""

    def __init__(
        self,
        ledger: Ledger,
        holder: str,
        url: str,
        key: str,
        encoding: str,
        goes_with_orders: bool = False,
    ) -> None:
        self._ledger = ledger
        self.holder = holder
        self.goes_with_orders = goes_with_orders
        self._url = url.replace("http:", "ws:") + "/v1/session"
        self._key = key
        self._is_text = encoding == "json"
        self._name = f"laissez.v1.{encoding}"
        coder: Any = msgspec.json if self._is_text else msgspec.msgpack
        self._encode, self._decode = coder.encode, coder.decode
        self._events = Dense(ledger, holder, f"a {encoding} session")
        self._waiting: dict[str, asyncio.Future[Json]] = {}
        self._socket: ClientConnection | None = None
        self._reading: asyncio.Task[None] | None = None
        self._questions = 0

    async def open(self) -> None:
        """Connect and resume; raises `Lost`."""
        hello: Json = {
            "type": "hello",
            "resume_after": self._events.last,
            "cancel_on_disconnect": self.goes_with_orders,
            "key": self._key,
        }
        try:
            protocols = [Subprotocol(self._name)]
            self._socket = await connect(
                self._url,
                subprotocols=protocols,
                compression=None,
                ping_interval=None,
                max_size=FRAME_BYTES_MAX,
                proxy=None,
            )
            await self._socket.send(self._encode(hello), text=self._is_text)
            async with asyncio.timeout(ANSWER_WITHIN_S):
                self._take(await self._socket.recv(decode=False))
        except TimeoutError as error:
            self._ledger.breaks(
                f"a session of {self.holder} was not welcomed within {ANSWER_WITHIN_S} seconds"
            )
            raise Lost from error
        except (OSError, EOFError, WebSocketException) as error:
            raise Lost from error
        self._reading = asyncio.create_task(self._read())

    async def send(self, asked: Asked) -> None:
        await self.send_all([asked])

    async def send_all(self, asked: list[Asked]) -> None:
        """In one frame."""
        answers = await self._ask([{**one.command, "id": one.id} for one in asked])
        for one, answer in zip(asked, answers, strict=True):
            if answer["type"] == "refused" and answer["code"] in PASSING:
                raise Lost
            refused = (answer["code"], answer["detail"]) if answer["type"] == "refused" else None
            self._ledger.answered(
                one, Answer((Part(refused, tuple(answer.get("events", ()))),)), "session"
            )

    async def conflict(self, id: str, command: Json) -> Json:
        return (await self._ask([{**command, "id": id}]))[0]

    async def look(self, scope: str) -> None:
        """Ask for lists and a quote, in one frame."""
        self._questions += 1
        wanted: list[Json] = [{"type": "quote", "scope": scope}]
        if self.holder != "operator":
            wanted += [{"type": "orders"}, {"type": "leases"}]
        for answer in await self._ask(
            [{**one, "id": f"q{self._questions}-{one['type']}"} for one in wanted]
        ):
            if answer["type"] == "quote":
                self._ledger.quoted.append(Quoted(self.holder, **answer["quote"]))
            elif answer["type"] in ("orders", "leases"):
                self._ledger.shown.append(
                    Shown(self.holder, answer["type"], answer["n"], tuple(answer[answer["type"]]))
                )

    async def _ask(self, messages: list[Json]) -> list[Json]:
        if self._socket is None or self._reading is None or self._reading.done():
            raise Lost
        for message in messages:
            self._waiting[message["id"]] = asyncio.get_running_loop().create_future()
        waiting = [self._waiting[message["id"]] for message in messages]
        try:
            await self._socket.send(
                self._encode(messages if len(messages) > 1 else messages[0]), text=self._is_text
            )
            async with asyncio.timeout(ANSWER_WITHIN_S):
                return list(await asyncio.gather(*waiting))
        except TimeoutError as error:
            self._ledger.breaks(
                f"a session of {self.holder} was not answered within {ANSWER_WITHIN_S} seconds"
            )
            raise Lost from error
        except (OSError, WebSocketException) as error:
            raise Lost from error
        finally:
            for message in messages:
                self._waiting.pop(message["id"]).cancel()

    async def _read(self) -> None:
        assert self._socket is not None
        try:
            while True:
                self._take(await self._socket.recv(decode=False))
        except (OSError, EOFError, WebSocketException):
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(Lost())

    def _take(self, frame: bytes) -> None:
        read = self._decode(frame)
        for message in read if isinstance(read, list) else [read]:
            kind = message["type"]
            if kind == "welcome":
                self._welcomed(message)
            elif kind == "event":
                self._events.told(message["told"])
            elif kind == "heartbeat" and message["n"] != self._events.last:
                self._ledger.breaks(
                    f"a heartbeat for {self.holder} speaks of event {message['n']} after"
                    f" {self._events.last}"
                )
            elif "id" in message:
                self._answered(message)
            elif kind == "refused":
                self._ledger.breaks(
                    f"a session of {self.holder} that resumed after event {self._events.last} was"
                    f" refused: {message['detail']}"
                )

    def _welcomed(self, message: Json) -> None:
        if message["n"] != self._events.last:
            self._ledger.breaks(
                f"{self.holder} asked to resume after {self._events.last} and was welcomed after"
                f" {message['n']}"
            )

    def _answered(self, message: Json) -> None:
        for numbered in message.get("events", ()):
            self._events.told(numbered, may_repeat=True)
        future = self._waiting.get(message["id"])
        if future is not None and not future.done():
            future.set_result(message)

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])
        if self._socket is not None:
            with contextlib.suppress(OSError, WebSocketException):
                await self._socket.close()


class Ours:
    """The project's own session, which lasts over all crashes: it connects, resumes and repeats by
    itself."""

    goes_with_orders = False

    def __init__(
        self, ledger: Ledger, holder: str, url: str, key: str, down: asyncio.Event
    ) -> None:
        self._ledger = ledger
        self.holder = holder
        self._down = down
        self._session = AsyncSession(url, key, resume_after=0, reconnect_timeout_s=120)
        self._events = Dense(ledger, holder, "our own session")
        self._following: asyncio.Task[None] | None = None
        self._pending: dict[str, asyncio.Future[Any]] = {}

    async def open(self) -> None:
        await self._session.open()
        self._following = asyncio.create_task(self._follow())

    async def send(self, asked: Asked) -> None:
        """Gives up waiting when the server is killed; the answer is noted whenever it comes."""
        future = self._pending.get(asked.id)
        if future is None:
            future = self._pending[asked.id] = self._session.send(
                msgspec.convert({**asked.command, "id": asked.id}, TenantCommand)
            )
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
            await drained
            return
        drained.cancel()
        if self._down.is_set():
            raise Lost
        self._ledger.breaks(
            f"our own session got no answer within {ANSWER_WITHIN_S} seconds of a restart"
        )

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
            part = Part(None, tuple(msgspec.json.decode(msgspec.json.encode(done.result().events))))
        elif isinstance(error, ApiError):
            part = Part((error.code, error.detail), ())
        else:
            self._ledger.breaks(f"our own session gave {asked} up: {error!r}")
            return
        self._ledger.answered(asked, Answer((part,)), "our own session")

    async def _follow(self) -> None:
        try:
            async for one in self._session.events():
                told = msgspec.json.decode(msgspec.json.encode(one))
                if "n" in told:
                    self._events.told(told)
        except LaissezError as error:
            self._ledger.breaks(f"our own session ended: {error!r}")

    async def close(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait([self._following])
        await self._session.close()
