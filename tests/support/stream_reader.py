"""A reader of a stream that sees each piece as it arrives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from laissez.server.http.protocol import HttpConnection
from laissez_check.in_process import Exchange, head_of
from support.service_world import World

SOON_S = 10  # far more than anything here takes


class Reads:
    """Whether the reader reads; set at the beginning."""

    def __init__(self, connection: HttpConnection) -> None:
        self._connection = connection

    def clear(self) -> None:
        self._connection.pause_writing()

    def set(self) -> None:
        self._connection.resume_writing()


class StreamReader(Exchange):
    """Opens the stream at once. It reads while `reads` is set; `hear` gets every piece of the body,
    `text` is all of it."""

    def __init__(
        self,
        world: World,
        who: str,
        path: str,
        query: str = "",
        headers: dict[str, str] | None = None,
    ) -> None:
        sent = {
            "host": "test",
            "authorization": f"Bearer {world.secrets.get(who, who)}",
            "accept": "text/event-stream",
            **(headers or {}),
        }
        self.text = ""
        self._heard = asyncio.Event()
        target = f"{path}?{query}" if query else path
        before = set(world.app.tasks)
        super().__init__(
            world.app,
            head_of("GET", target, [(name.encode(), sent[name].encode()) for name in sent]),
        )
        self.reads = Reads(self.connection)
        self._tasks = set(world.app.tasks) - before

    @property
    def has_ended(self) -> bool:
        return self.is_complete

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._heard.set()

    def on_body(self, piece: bytes) -> None:
        self.text += piece.decode()
        self.hear(piece.decode())
        self._heard.set()

    def hear(self, piece: str) -> None:
        """For subclasses that keep more than the text."""

    async def until_true(self, reached: Callable[[], bool]) -> None:
        async with asyncio.timeout(SOON_S):
            while not reached():
                await self._heard.wait()
                self._heard.clear()

    async def over(self) -> str:
        async with asyncio.timeout(SOON_S):
            await self.ended()
            await asyncio.gather(*self._tasks)
        return self.text

    async def leave(self) -> None:
        self.pipe.close()
        await self.over()
