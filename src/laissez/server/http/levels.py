"""Levels: every leaf at a glance, once, or as a stream of what is different each time."""

from __future__ import annotations

import asyncio

from laissez.server.auth import Principal
from laissez.server.http.call import Answer, Call
from laissez.server.http.response import encode
from laissez.server.http.site import Site
from laissez.server.http.streaming import BEAT, STREAM, Streaming, written
from laissez.wire.problems import ProblemError


async def shown(call: Call) -> Answer:
    feed = call.site.levels
    if STREAM not in call.accept:
        await feed.look_now()
        return Answer(feed.whole())
    call.gateway.admission.check_open()
    stream = LevelsStream(call.site, call.principal)
    await stream.open()
    return Answer(None, streams=stream.serve)


class LevelsStream(Streaming):
    """Sends all, then what is different, as often as its reader takes it: of what comes too fast it
    sees the newest."""

    def __init__(self, site: Site, principal: Principal) -> None:
        super().__init__(site, principal)
        self._feed = site.levels

    async def open(self) -> None:
        self._take_place()
        self._gateway.keep(self)
        try:
            await self._feed.look_now()
        except BaseException:
            self._leave()
            raise

    def _leave(self) -> None:
        self._gateway.let_go(self)
        super()._leave()

    async def _send_all(self) -> None:
        feed, loop = self._feed, asyncio.get_running_loop()
        if self._over.is_set():  # its key was revoked while it was opened
            return
        seen, message = feed.seen, written(encode(feed.whole()), "levels")
        await self._send(message)
        beaten_at = loop.time()
        while not await self._over_within(feed.until_next_s()):
            try:
                await feed.look_in_turn()
            except ProblemError as problem:  # the journal has failed
                self.end(0, problem.code)
                return
            message = BEAT if loop.time() - beaten_at >= self._gateway.limits.heartbeat_s else b""
            if feed.seen != seen:
                message = written(feed.changes(seen), "changed")
                seen = feed.seen
            if message:
                await self._send(message)
                beaten_at = loop.time()

    async def _over_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._over.wait()
        except TimeoutError:
            pass
        return self._over.is_set()
