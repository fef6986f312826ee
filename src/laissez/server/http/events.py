"""Events: pages of what happened, and a stream of what happens (server-sent events) that can be
resumed where it broke off."""

from __future__ import annotations

import asyncio

from laissez.server.auth import Principal
from laissez.server.catch_up import PAGE, catch_up
from laissez.server.http.call import Answer, Call
from laissez.server.http.paging import Cursor, cursor_of, limit_of, page
from laissez.server.http.response import encode
from laissez.server.http.site import Site
from laissez.server.http.streaming import BEAT, STREAM, Streaming, written
from laissez.server.rates import RateWatch
from laissez.wire.events import Notice, Numbered
from laissez.wire.problems import Code, ProblemError

WARN_WITHIN_PPM = 100_000  # of the limit, as in a session that does not say otherwise
NUMBER_DIGITS_MAX = 18


async def listed(call: Call) -> Answer:
    after = _number(call.query.get("after"), "after")
    if STREAM in call.accept:
        return await _stream(call, after)
    cursor = cursor_of(call, "events")
    if cursor is not None and after is not None:
        raise ProblemError(Code.BAD_REQUEST, "expected after or cursor, found both")
    gateway = call.gateway
    gateway.end_holds()  # what is over has happened by now, and what is too old is gone
    holder = call.accounts()[0].name if "tenant" in call.query else call.principal.holder
    if cursor is not None:
        after = cursor.number
    elif after is None:
        after = gateway.event_log.gone_until(holder, gateway.latest(holder))
    most = limit_of(call) + 1
    call.admit_items(min(most, max(0, gateway.latest(holder) - after)))
    found = await gateway.events_after(holder, after, most)
    return Answer(page(call, "events", found, lambda one: Cursor("", one.n)))


async def _stream(call: Call, after: int | None) -> Answer:
    if not call.query.keys() <= {"after"}:
        raise ProblemError(
            Code.BAD_REQUEST,
            "limit, cursor and tenant go with pages; a stream is resumed with Last-Event-ID or"
            " after",
        )
    last = _number(call.last_event_id or None, "Last-Event-ID")
    call.gateway.admission.check_open()
    call.admit_items(0)
    stream = Stream(call.site, call.principal)
    await stream.open(after if last is None else last)
    return Answer(None, streams=stream.serve)


def _number(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > NUMBER_DIGITS_MAX:
        raise ProblemError(
            Code.BAD_REQUEST, f"{name}: expected the number of an event, found {text[:40]!r}"
        )
    return int(text)


class Stream(Streaming):
    """Follows its holder's events like a session, but only sends."""

    def __init__(self, site: Site, principal: Principal) -> None:
        super().__init__(site, principal)
        self.watch = RateWatch(WARN_WITHIN_PPM)
        self._queue: list[bytes] = []
        self._queued_bytes = 0
        self._missed: list[bytes] = []  # before it followed: a page at most
        self._after: int | None = None  # what it was told last, while it catches up
        self._is_following = False
        # an id without data: what to resume after if the stream breaks before its first event
        self._bookmark = b""
        self._wake = asyncio.Event()

    async def open(self, after: int | None) -> None:
        """Take a place. With not much missed it follows from this instant, and what happens
        meanwhile is kept for later."""
        self._take_place()
        gateway = self._gateway
        try:
            if after is not None and gateway.latest(self._holder) - after > PAGE:
                gateway.event_log.check_kept(self._holder, after, gateway.latest(self._holder))
                await gateway.all_durable()
                self._after = after
            else:
                await self._follow(after)
        except BaseException:
            self._leave()
            raise

    async def _follow(self, after: int | None) -> None:
        gateway = self._gateway
        gateway.follow(self._holder, self)
        self._is_following = True
        if after is None:
            self._bookmark = b"id: %d\n\n" % gateway.latest(self._holder)
        missed = [] if after is None else await gateway.events_after(self._holder, after)
        await gateway.all_durable()
        self._missed = [_told(one) for one in missed]

    async def _catch_up(self, after: int) -> None:
        async def send_page(page: list[Numbered]) -> bool:
            await self._send(b"".join([_told(one) for one in page]))
            return not self._over.is_set()

        try:
            reached = await catch_up(self._gateway, self, self._principal, after, send_page)
            if not self._over.is_set():
                await self._follow(reached)
        except ProblemError as problem:  # events left the history meanwhile, say
            self.end(0, problem.code)

    async def _send_all(self) -> None:
        await self._send(BEAT + self._bookmark)
        if self._after is not None:
            await self._catch_up(self._after)
        if self._missed:
            await self._send(b"".join(self._missed))
            self._missed = []
        while not self._over.is_set():
            try:
                async with asyncio.timeout(self._gateway.limits.heartbeat_s):
                    await self._wake.wait()
                self._wake.clear()
            except TimeoutError:
                self._queue.append(BEAT)
            if self._queue:
                body, self._queue, self._queued_bytes = b"".join(self._queue), [], 0
                await self._send(body)

    def _leave(self) -> None:
        if self._is_following:
            self._gateway.unfollow(self._holder, self)
        super()._leave()

    # -- a follower

    def told(self, one: Numbered) -> bytes:
        return _told(one)

    def noticed(self, notice: Notice) -> bytes:
        return written(encode(notice), str(notice.__struct_config__.tag))

    def deliver(self, message: bytes) -> None:
        self._queue.append(message)
        self._queued_bytes += len(message)
        limits = self._gateway.limits
        if (
            len(self._queue) > limits.outbound_messages_max
            or self._queued_bytes > limits.outbound_bytes_max
        ):
            self.end(0, "slow_consumer")
        self._wake.set()

    def end(self, code: int, reason: str) -> None:
        super().end(code, reason)
        self._wake.set()


def _told(one: Numbered) -> bytes:
    return b"id: %d\n" % one.n + written(encode(one), str(one.event.__struct_config__.tag))
