"""Events in pages, and streams (server-sent events) of events and of levels.

A stream takes one of its holder's places and lasts until its key is revoked, its sign-in ends, the
server stops, or the client is gone or too slow. A stream of events can be resumed where it broke
off; a stream of levels sends the newest and may leave out what a slow reader missed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from laissez.server.auth import Principal
from laissez.server.catch_up import PAGE, catch_up
from laissez.server.http.call import Answer, Call
from laissez.server.http.paging import Cursor, cursor_of, limit_of, page
from laissez.server.http.request import Request, bad_request
from laissez.server.http.response import common_head, encode
from laissez.server.http.site import Site
from laissez.server.rates import RateWatch
from laissez.wire.events import Notice, Numbered
from laissez.wire.problems import ProblemError
from laissez.wire.session import CLOSE_UNAUTHENTICATED

STREAM = "text/event-stream"
BEAT = b": beat\n\n"
SIGNED_OUT_LOOK_S = 1
LAST_WORD_WITHIN_S = 1  # a client that does not read is cut off
WARN_WITHIN_PPM = 100_000  # of the limit, as in a session that does not say otherwise
NUMBER_DIGITS_MAX = 18


async def list_events(call: Call) -> Answer:
    after = _number(call.query.get("after"), "after")
    if STREAM in call.accept:
        return await _stream(call, after)
    cursor = cursor_of(call, "events")
    if cursor is not None and after is not None:
        raise bad_request("expected after or cursor, found both")
    gateway = call.gateway
    gateway.end_holds()  # so that the list has the ends of holds that are due
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
        raise bad_request(
            "limit, cursor and tenant go with pages; a stream is resumed with Last-Event-ID or"
            " after"
        )
    last = _number(call.last_event_id or None, "Last-Event-ID")
    call.gateway.admission.check_open()
    call.admit_items(0)
    stream = EventStream(call.site, call.principal, after if last is None else last)
    await stream.open()
    return Answer(None, streams=stream.serve)


def _number(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > NUMBER_DIGITS_MAX:
        raise bad_request(f"{name}: expected the number of an event, found {text[:40]!r}")
    return int(text)


async def get_levels(call: Call) -> Answer:
    feed = call.site.levels
    if STREAM not in call.accept:
        await feed.look_now()
        return Answer(feed.whole())
    call.gateway.admission.check_open()
    stream = LevelStream(call.site, call.principal)
    await stream.open()
    return Answer(None, streams=stream.serve)


class Stream:
    """One stream: its place, its end, and its last words."""

    def __init__(self, site: Site, principal: Principal) -> None:
        self.key = principal.key
        self._site = site
        self._gateway = site.gateway
        self._holder = principal.holder
        self._principal = principal
        self._request: Request = None  # type: ignore[assignment]  # from `serve` on
        self._over = asyncio.Event()
        self._reason = ""

    async def open(self) -> None:
        self._site.places.enter(self._holder, self._gateway.places_max(self._principal))
        try:
            await self._begin()
        except BaseException:
            self._leave()
            raise

    async def _begin(self) -> None:
        """Look up what is sent first, so that a refusal can still be answered as a problem."""
        raise NotImplementedError

    def _leave(self) -> None:
        self._site.places.leave(self._holder)

    async def serve(self, request: Request) -> None:
        self._request = request
        tasks = [
            asyncio.create_task(work)
            for work in (self._send(), request.gone(), self._over.wait(), self._signed_out())
        ]
        sending, gone, *_ = tasks
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not gone.done():
                await asyncio.wait((sending,), timeout=LAST_WORD_WITHIN_S)
        finally:
            self._leave()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _signed_out(self) -> None:
        """End the stream with the sign-in that it was opened by. A revoked key the gateway
        reports."""
        if not self._principal.signin:
            await self._over.wait()
        while self._site.signins.is_valid(self._principal):
            await asyncio.sleep(SIGNED_OUT_LOOK_S)
        self.end(CLOSE_UNAUTHENTICATED, "signed_out")

    async def _send(self) -> None:
        self._request.begin_stream(common_head(200, STREAM.encode()))
        await self._send_all()
        await self._request.send(f": closing {self._reason}\n\n".encode())
        self._request.end_stream()

    async def _send_all(self) -> None:
        """Send what there is to send until the stream is over."""
        raise NotImplementedError

    def ignore(self) -> None:
        """A stream hears nothing anyway."""

    def end(self, code: int, reason: str) -> None:
        if not self._over.is_set():
            self._reason = reason
            self._over.set()


class EventStream(Stream):
    """Follows its holder's events like a session, but only sends."""

    def __init__(self, site: Site, principal: Principal, after: int | None) -> None:
        super().__init__(site, principal)
        self.watch = RateWatch(WARN_WITHIN_PPM)
        self._queue: list[bytes] = []
        self._queued_bytes = 0
        self._missed: list[bytes] = []  # before it followed: a page at most
        self._after = after  # the last event that the client has seen
        self._is_following = False
        # an id without data: where to resume if the stream breaks before its first event
        self._bookmark = b""
        self._wake = asyncio.Event()

    async def _begin(self) -> None:
        """If it missed at most a page it follows from this instant, and what happens meanwhile is
        queued."""
        gateway, after = self._gateway, self._after
        latest = gateway.latest(self._holder)
        if after is not None and latest - after > PAGE:
            gateway.event_log.check_kept(self._holder, after, latest)
            await gateway.all_durable()
        else:
            await self._follow(after)

    async def _follow(self, after: int | None) -> None:
        gateway = self._gateway
        gateway.follow(self._holder, self)
        self._is_following = True
        if after is None:
            self._bookmark = b"id: %d\n\n" % gateway.latest(self._holder)
        missed = [] if after is None else await gateway.events_after(self._holder, after)
        await gateway.all_durable()
        self._missed = [_numbered(one) for one in missed]

    async def _catch_up(self, after: int) -> None:
        async def send_page(page: list[Numbered]) -> bool:
            await self._request.send(b"".join([_numbered(one) for one in page]))
            return not self._over.is_set()

        try:
            reached = await catch_up(self._gateway, self, self._principal, after, send_page)
            if not self._over.is_set():
                await self._follow(reached)
        except ProblemError as problem:  # events left the history meanwhile, say
            self.end(0, problem.code)

    async def _send_all(self) -> None:
        await self._request.send(BEAT + self._bookmark)
        if self._after is not None and not self._is_following:
            await self._catch_up(self._after)
        if self._missed:
            await self._request.send(b"".join(self._missed))
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
                await self._request.send(body)

    def _leave(self) -> None:
        if self._is_following:
            self._gateway.unfollow(self._holder, self)
        super()._leave()

    # -- a follower

    def tell(self, events: Sequence[Numbered]) -> None:
        for one in events:
            self._deliver(_numbered(one))

    def notify(self, notice: Notice) -> None:
        self._deliver(_event(encode(notice), str(notice.__struct_config__.tag)))

    def _deliver(self, message: bytes) -> None:
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


class LevelStream(Stream):
    """Sends every leaf once, then the rows that changed."""

    async def _begin(self) -> None:
        self._gateway.keep(self)
        await self._site.levels.look_now()

    def _leave(self) -> None:
        self._gateway.let_go(self)
        super()._leave()

    async def _send_all(self) -> None:
        feed, loop = self._site.levels, asyncio.get_running_loop()
        if self._over.is_set():  # its key was revoked while it was opened
            return
        seen, message = feed.seen, _event(encode(feed.whole()), "levels")
        await self._request.send(message)
        beaten_at = loop.time()
        while not await self._over_within(feed.until_next_s()):
            try:
                await feed.look_in_turn()
            except ProblemError as problem:  # the journal has failed
                self.end(0, problem.code)
                return
            message = BEAT if loop.time() - beaten_at >= self._gateway.limits.heartbeat_s else b""
            if feed.seen != seen:
                message = _event(feed.changes(seen), "changed")
                seen = feed.seen
            if message:
                await self._request.send(message)
                beaten_at = loop.time()

    async def _over_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._over.wait()
        except TimeoutError:
            pass
        return self._over.is_set()


def _event(data: bytes, name: str) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), data)


def _numbered(one: Numbered) -> bytes:
    return b"id: %d\n" % one.n + _event(encode(one), str(one.event.__struct_config__.tag))
