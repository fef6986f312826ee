"""A service whose webhooks run, and a receiver on this machine with scripted answers.

`with_hooks(tmp_path, tale)` runs the tale, an async function that gets a `Hooks`, in its own event
loop. Unless `runs`, nothing is sent.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from laissez.client.webhooks import verify
from laissez.journal import Reader
from laissez.server.beside import FILE, Beside
from laissez.server.settings import Limits, Webhooks
from laissez.server.webhooks.cursors import Cursor, Cursors
from laissez.server.webhooks.dispatcher import Webhooks as Running
from laissez.wire.events import Numbered
from support.service_world import GENEROUS, World, with_service

ORIGIN = bytes(16)  # the identity of the journal, where it does not matter
OPEN = Webhooks(allow_http=True, allow_addresses=("127.0.0.1/32",))
DAY_S = 86_400
PATIENCE_S = 3  # the longest wait of a test


class Received(msgspec.Struct):
    """A received request."""

    head: str
    headers: dict[str, str]
    body: bytes

    @property
    def numbers(self) -> list[int]:
        return [one["n"] for one in msgspec.json.decode(self.body)["events"]]


class Receiver:
    """Answers each request with the next of `answers`, or with 204 after the last: a status, raw
    bytes, or None for no answer."""

    def __init__(self) -> None:
        self.got: list[Received] = []
        self.answers: list[int | bytes | None] = []
        self.closed = 0  # connections that the client ended
        self.port = 0
        self._news = asyncio.Condition()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?token=1"

    async def count(self, requests: int) -> list[Received]:
        """Wait until the given number of requests has come in total."""
        await self._until(lambda: len(self.got) >= requests)
        return self.got

    async def left(self, connections: int) -> None:
        await self._until(lambda: self.closed >= connections)

    async def _until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S), self._news:
            await self._news.wait_for(is_so)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
            headers = {name: value for name, _, value in (line.partition(": ") for line in lines)}
            body = await reader.readexactly(int(headers["Content-Length"]))
            async with self._news:
                self.got.append(Received(head, headers, body))
                self._news.notify_all()
            answer = self.answers.pop(0) if self.answers else 204
            if isinstance(answer, int):
                answer = (
                    b"HTTP/1.1 %d Words\r\nLocation:"
                    b" http://127.0.0.1:%d/elsewhere\r\nContent-Length: 2\r\n\r\nok"
                    % (answer, self.port)
                )
            if answer is not None:
                writer.write(answer)
                await writer.drain()
            else:
                await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            async with self._news:
                self.closed += 1
                self._news.notify_all()


@asynccontextmanager
async def receiving(tls: Any = None) -> AsyncIterator[Receiver]:
    receiver = Receiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()


class Hooks:
    def __init__(self, world: World, running: Running, receiver: Receiver) -> None:
        self.world = world
        self.running = running
        self.receiver = receiver

    async def create(self, who: str = "ann", url: str | None = None, **more: Any) -> dict[str, Any]:
        answer = await self.world.ask(
            who, "POST", "/v1/webhooks", {"url": url or self.receiver.url, **more}
        )
        assert 201 == answer.status_code, answer.text
        made: dict[str, Any] = answer.json()
        return made

    async def show(self, id: str, who: str = "ann") -> dict[str, Any]:
        shown: dict[str, Any] = (await self.world.ask(who, "GET", f"/v1/webhooks/{id}")).json()
        return shown

    async def until(self, id: str, who: str = "ann", **wanted: object) -> dict[str, Any]:
        """Wait until the webhook is shown with these values and has no delivery under way."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                shown = await self.show(id, who)
                if id not in self.running._under_way and all(
                    shown[name] == value for name, value in wanted.items()
                ):
                    return shown
                await asyncio.sleep(0.001)

    async def letters(self, id: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (
            await self.world.ask("ann", "GET", f"/v1/webhooks/{id}/dead-letters?limit=1000")
        ).json()["data"]
        return found

    def pass_s(self, seconds: float) -> None:
        self.world.passing.pass_us(round(seconds * 1_000_000))
        self.running._woken.set()

    def resolve_to(self, **hosts: list[str]) -> list[str]:
        """Resolve these names, written with '_' for '.', to these addresses, and no others.

        Returns the list of looked-up names. Addresses separated by '/' are given one after the
        other, the last for good.
        """
        asked: list[str] = []
        turns = {name: " ".join(addresses).split(" / ") for name, addresses in hosts.items()}

        async def look_up(host: str) -> list[str]:
            asked.append(host)
            turn = turns.get(host.replace(".", "_"))
            if turn is None:
                raise socket.gaierror("no such host")
            return (turn.pop(0) if len(turn) > 1 else turn[0]).split()

        for guard in (self.running.guard, self.running.sender.guard):
            guard.look_up = look_up  # type: ignore[method-assign]
        return asked

    def verified(self, secret: str, got: Received) -> tuple[Numbered, ...]:
        return verify(
            secret, got.headers, got.body, now=self.world.gateway.clock.now() / 1e6
        ).events


Tale = Callable[[Hooks], Awaitable[None]]


def with_hooks(
    folder: Path,
    tale: Tale,
    settings: Webhooks = OPEN,
    limits: Limits = GENEROUS,
    secrets: dict[str, str] | None = None,
    runs: bool = True,
) -> None:
    async def story(world: World) -> None:
        running = Running(
            world.gateway, settings, folder, world.beside, chance=lambda: 1.0, gather_s=0
        )
        world.app.site.webhooks = running
        async with receiving() as receiver:
            task = asyncio.create_task(running.run() if runs else asyncio.sleep(0))
            try:
                await tale(Hooks(world, running, receiver))
                if task.done():
                    task.result()
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    with_service(folder, story, limits, secrets=secrets)


@contextmanager
def beside_of(data: Path) -> Iterator[Beside]:
    with Reader.of(data) as reader:
        beside = Beside(data / FILE, reader.identity)
    try:
        yield beside
    finally:
        beside.close()


def kept_cursors(data: Path, *ids: str) -> dict[str, Cursor]:
    """The cursors of these webhooks in a data folder."""
    with beside_of(data) as beside:
        return Cursors(beside).load(ids)


def keep_cursors(data: Path, cursors: dict[str, Cursor]) -> None:
    with beside_of(data) as beside:
        asyncio.run(Cursors(beside).save(cursors))
