"""Events: pages of what happened, and a stream of what happens (server-sent events) that can be resumed where it broke off."""

from __future__ import annotations

import asyncio

from laissez.service.desk import Desk
from laissez.service.http.call import Answer, Call, Receive, Send
from laissez.service.http.outgoing import EVERY, encode
from laissez.service.http.paging import Cursor, cursor_of, limit_of, page
from laissez.service.keyring import Principal
from laissez.service.outcomes import Applied, numbered_one
from laissez.service.places import Places
from laissez.service.rates import RateWatch
from laissez.wire.events import Notice, Numbered
from laissez.wire.problems import Code, ProblemError

STREAM = "text/event-stream"
WARN_WITHIN_PPM = 100_000  # of the limit, as in a session that does not say otherwise
NUMBER_DIGITS_MAX = 18
BEAT = b": beat\n\n"
LAST_WORD_WITHIN_S = 1  # whoever does not read is simply cut off


async def listed(call: Call) -> Answer:
    after = _number(call.query.get("after"), "after")
    if STREAM in call.accept:
        return await _stream(call, after)
    cursor = cursor_of(call, "events")
    if cursor is not None and after is not None:
        raise ProblemError(Code.BAD_REQUEST, "expected after or cursor, found both")
    desk = call.desk
    holder = call.accounts()[0].name if "tenant" in call.query else call.principal.holder
    if cursor is not None:
        after = cursor.number
    elif after is None:
        after = desk.history.gone_until(holder, desk.latest(holder))
    found = await desk.events_after(holder, after, limit_of(call) + 1)
    return Answer(page(call, "events", found, lambda one: Cursor("", one.n)))


async def _stream(call: Call, after: int | None) -> Answer:
    if not call.query.keys() <= {"after"}:
        raise ProblemError(Code.BAD_REQUEST, "limit, cursor and tenant go with pages; a stream is resumed with Last-Event-ID or after")
    last = _number(call.last_event_id or None, "Last-Event-ID")
    call.desk.check_open()
    stream = Stream(call.desk, call.principal, call.site.places)
    await stream.open(after if last is None else last)
    return Answer(None, streams=stream.serve)


def _number(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > NUMBER_DIGITS_MAX:
        raise ProblemError(Code.BAD_REQUEST, f"{name}: expected the number of an event, found {text[:40]!r}")
    return int(text)


class Stream:
    """One stream; follows its holder's events like a session, but only sends."""

    def __init__(self, desk: Desk, principal: Principal, places: Places) -> None:
        self.key = principal.key
        self.watch = RateWatch(WARN_WITHIN_PPM)
        self._desk = desk
        self._holder = principal.holder
        self._places = places
        self._queue: list[bytes] = []
        self._queued_bytes = 0
        self._missed: list[bytes] = []  # before it was opened; not bounded like what waits, since it is all there at once
        self._bookmark = b""  # an id without data: what to resume after if the stream breaks before its first event
        self._wake = asyncio.Event()
        self._over = asyncio.Event()
        self._reason = ""
        caps = None if principal.is_operator else desk.account(principal).caps.sessions
        self._places_max = desk.limits.sessions_max if caps is None else caps

    async def open(self, after: int | None) -> None:
        """Take a place and find what was missed; it follows from this instant, and what happens meanwhile is kept for later."""
        self._places.enter(self._holder, self._places_max)
        desk = self._desk
        desk.follow(self._holder, self)
        if after is None:
            self._bookmark = b"id: %d\n\n" % desk.latest(self._holder)
        try:
            missed = [] if after is None else await desk.events_after(self._holder, after)
            await desk.all_durable()
        except BaseException:
            self._leave()
            raise
        self._missed = [_told(one) for one in missed]

    async def serve(self, receive: Receive, send: Send) -> None:
        tasks = [asyncio.create_task(work) for work in (self._send_all(send), _gone(receive), self._over.wait())]
        sending, gone, _ = tasks
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not gone.done():
                await asyncio.wait((sending,), timeout=LAST_WORD_WITHIN_S)
        finally:
            self._leave()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _send_all(self, send: Send) -> None:
        headers = [(b"content-type", STREAM.encode()), *EVERY]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": BEAT + self._bookmark, "more_body": True})
        most = self._desk.limits.outbound_messages_max
        for first in range(0, len(self._missed), most):
            await send({"type": "http.response.body", "body": b"".join(self._missed[first : first + most]), "more_body": True})
        self._missed = []
        while not self._over.is_set():
            try:
                async with asyncio.timeout(self._desk.limits.heartbeat_s):
                    await self._wake.wait()
                self._wake.clear()
            except TimeoutError:
                self._queue.append(BEAT)
            if self._queue:
                body, self._queue, self._queued_bytes = b"".join(self._queue), [], 0
                await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": f": closing {self._reason}\n\n".encode()})

    def _leave(self) -> None:
        self._desk.unfollow(self._holder, self)
        self._places.leave(self._holder)

    # -- a follower

    def told(self, applied: Applied, index: int) -> bytes:
        return _told(numbered_one(applied.outcome, index, self._holder))

    def noticed(self, notice: Notice) -> bytes:
        return _written(encode(notice), str(notice.__struct_config__.tag))

    def deliver(self, message: bytes) -> None:
        self._queue.append(message)
        self._queued_bytes += len(message)
        limits = self._desk.limits
        if len(self._queue) > limits.outbound_messages_max or self._queued_bytes > limits.outbound_bytes_max:
            self.end(0, "slow_consumer")
        self._wake.set()

    def ignore(self) -> None:
        """There is nothing to hear: it only sends."""

    def end(self, code: int, reason: str) -> None:
        if not self._over.is_set():
            self._reason = reason
            self._over.set()
            self._wake.set()


async def _gone(receive: Receive) -> None:
    """Wait until the other side has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _told(one: Numbered) -> bytes:
    return b"id: %d\n" % one.n + _written(encode(one), str(one.event.__struct_config__.tag))


def _written(data: bytes, event: str) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (event.encode(), data)
