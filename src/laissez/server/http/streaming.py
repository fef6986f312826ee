"""Answers that go on: server-sent events until the key is revoked, the server stops, or nobody
listens any more."""

from __future__ import annotations

import asyncio

from laissez.server.auth import Principal
from laissez.server.http.request import Request
from laissez.server.http.response import common_head
from laissez.server.http.site import Site
from laissez.wire.session import CLOSE_UNAUTHENTICATED

STREAM = "text/event-stream"
BEAT = b": beat\n\n"
SIGNED_OUT_LOOK_S = 1
LAST_WORD_WITHIN_S = 1  # whoever does not read is simply cut off


class Streaming:
    """One stream. What it sends, and how it is known to the gateway, is for those that are made of
    it."""

    def __init__(self, site: Site, principal: Principal) -> None:
        gateway = site.gateway
        self.key = principal.key
        self._gateway = gateway
        self._holder = principal.holder
        self._principal = principal
        self._signins = site.signins
        self._places = site.places
        self._request: Request = None  # type: ignore[assignment]  # from `serve` on
        self._over = asyncio.Event()
        self._reason = ""
        self._places_max = gateway.places_max(principal)

    def _take_place(self) -> None:
        self._places.enter(self._holder, self._places_max)

    def _leave(self) -> None:
        self._places.leave(self._holder)

    async def serve(self, request: Request) -> None:
        self._request = request
        tasks = [
            asyncio.create_task(work)
            for work in (self._say_all(), request.gone(), self._over.wait(), self._signed_out())
        ]
        saying, gone, *_ = tasks
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not gone.done():
                await asyncio.wait((saying,), timeout=LAST_WORD_WITHIN_S)
        finally:
            self._leave()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _signed_out(self) -> None:
        """Wait until the sign-in that it was opened by is over, and end it then. A key has no end
        of its own: that it is revoked the gateway tells."""
        if not self._principal.signin:
            await self._over.wait()
        while self._signins.lasts(self._principal):
            await asyncio.sleep(SIGNED_OUT_LOOK_S)
        self.end(CLOSE_UNAUTHENTICATED, "signed_out")

    async def _say_all(self) -> None:
        self._request.begin_stream(common_head(200, STREAM.encode()))
        await self._send_all()
        await self._send(f": closing {self._reason}\n\n".encode())
        self._request.end_stream()

    async def _send_all(self) -> None:
        """Send what there is to send until it is over."""
        raise NotImplementedError

    async def _send(self, body: bytes) -> None:
        await self._request.send(body)

    def ignore(self) -> None:
        """There is nothing to hear: it only sends."""

    def end(self, code: int, reason: str) -> None:
        if not self._over.is_set():
            self._reason = reason
            self._over.set()


def written(data: bytes, event: str) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (event.encode(), data)
