"""A reader of a stream, spoken to in ASGI's own words, because what is streamed must be seen while
it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from service_world import World

SOON_S = 10  # far more than anything here takes


class StreamReader:
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
            "authorization": f"Bearer {world.secrets.get(who, who)}",
            "accept": "text/event-stream",
            **(headers or {}),
        }
        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        }
        self.status = 0
        self.text = ""
        self.ended = False
        self.reads = asyncio.Event()
        self.reads.set()
        self._heard = asyncio.Event()
        self._gone = asyncio.Event()
        self._task = asyncio.create_task(world.app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            await self.reads.wait()
            piece = message.get("body", b"").decode()
            self.text += piece
            self.hear(piece)
            self.ended = not message.get("more_body", False)
        self._heard.set()

    def hear(self, piece: str) -> None:
        """For those who keep more than the text."""

    async def until_true(self, reached: Callable[[], bool]) -> None:
        async with asyncio.timeout(SOON_S):
            while not reached():
                await self._heard.wait()
                self._heard.clear()

    async def over(self) -> str:
        async with asyncio.timeout(SOON_S):
            await self._task
        return self.text

    async def leave(self) -> None:
        self._gone.set()
        await self.over()
