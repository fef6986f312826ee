"""Events in pages, and streams (server-sent events) of events and of levels.

A stream counts against its holder's quota. It lasts until its key is revoked, its sign-in ends, the
server stops, or the client is gone or too slow. A stream of events can be resumed where it broke
off. A stream of levels sends the newest values and may skip earlier ones for a slow reader.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, get_args

from laissez.server.auth import Principal
from laissez.server.catch_up import catch_up
from laissez.server.http.endpoint import Answer, Call
from laissez.server.http.messages import Request, bad_request, common_head, encode
from laissez.server.http.paging import Cursor, cursor_of, page, wanted_of
from laissez.server.rates import RateWatch
from laissez.wire.books import Levels
from laissez.wire.events import Event, Notice, Numbered
from laissez.wire.problems import ProblemError
from laissez.wire.session import CLOSE_UNAUTHENTICATED
from laissez.wire.views import Page

if TYPE_CHECKING:
    from laissez.server.http.app import Site

STREAM = "text/event-stream"
BEAT = b": beat\n\n"
SIGNED_OUT_LOOK_S = 1
LAST_WORD_WITHIN_S = 1  # a client that does not read is cut off
WARN_WITHIN_PPM = 100_000  # of the limit, the default of a session
NUMBER_DIGITS_MAX = 18


async def list_events(call: Call) -> Answer[None] | Page[Numbered]:
    after = _number(call.query.get("after"), "after")
    if STREAM in call.accept:
        return await _stream(call, after)
    cursor = cursor_of(call)
    if cursor is not None and after is not None:
        raise bad_request("expected after or cursor, found both")
    gateway = call.gateway
    gateway.end_holds()  # so that the list includes due ends of holds
    holder = call.accounts()[0].name if "tenant" in call.query else call.principal.holder
    if cursor is not None:
        after = cursor.number
    elif after is None:
        after = gateway.event_log.gone_until(holder, gateway.latest(holder))
    most = wanted_of(call)
    call.admit_items(min(most, max(0, gateway.latest(holder) - after)))
    found = await gateway.events_after(holder, after, most)
    return page(call, [(Cursor("", one.n), one) for one in found])


async def _stream(call: Call, after: int | None) -> Answer[None]:
    if not call.query.keys() <= {"after"}:
        raise bad_request(
            "limit, cursor and tenant go with pages; a stream is resumed with Last-Event-ID or"
            " after"
        )
    sent = call.request.headers.get(b"last-event-id", b"").decode("latin-1")
    last = _number(sent or None, "Last-Event-ID")
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


async def get_levels(call: Call) -> Answer[None] | Levels:
    feed = call.site.levels
    if STREAM not in call.accept:
        await feed.look_now()
        return feed.whole()
    call.gateway.admission.check_open()
    stream = LevelStream(call.site, call.principal)
    await stream.open()
    return Answer(None, streams=stream.serve)


class Stream:
    """One stream: its quota, its end, and its closing comment."""

    def __init__(self, site: Site, principal: Principal) -> None:
        self.key = principal.key
        self._site = site
        self._gateway = site.gateway
        self._holder = principal.holder
        self._principal = principal
        self._request: Request = None  # type: ignore[assignment]  # from `serve` on
        self._over = asyncio.Event()
        self._reason = ""
        self._deadline = asyncio.timeout(None)  # for the closing comment

    async def open(self) -> None:
        self._site.quota.enter(self._holder, self._gateway.streams_max(self._principal))
        self._gateway.keep(self)
        try:
            await self._begin()
        except BaseException:
            self._leave()
            raise

    async def _begin(self) -> None:
        """Read the first content before the head is sent, so that a refusal can still be a
        problem."""
        raise NotImplementedError

    def _leave(self) -> None:
        self._gateway.let_go(self)
        self._site.quota.leave(self._holder)

    async def serve(self, request: Request) -> None:
        self._request = request
        watching = asyncio.create_task(self._watch_signin())
        try:
            async with self._deadline:
                request.when_gone(self._cut_off)
                if self._over.is_set():
                    self._cut_off(LAST_WORD_WITHIN_S)
                request.begin_stream(common_head(200, STREAM))
                await self._send_all()
                await request.send(f": closing {self._reason}\n\n".encode())
                request.end_stream()
        except TimeoutError:  # the client is gone or does not read
            request.connection.transport.close()
        finally:
            self._leave()
            watching.cancel()

    async def _watch_signin(self) -> None:
        """End the stream with the sign-in that opened it. The gateway reports revoked keys."""
        if self._principal.signin:
            while self._site.signins.is_valid(self._principal):
                await asyncio.sleep(SIGNED_OUT_LOOK_S)
            self.end(CLOSE_UNAUTHENTICATED, "signed_out")

    async def _send_all(self) -> None:
        """Send content until the stream is over."""
        raise NotImplementedError

    async def _over_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._over.wait()
        return self._over.is_set()

    def ignore(self) -> None:
        """Do nothing: a stream has no input."""

    def end(self, code: int, reason: str) -> None:
        if not self._over.is_set():
            self._reason = reason
            self._over.set()
            if self._request is not None:
                self._cut_off(LAST_WORD_WITHIN_S)

    def _cut_off(self, within_s: float = 0.0) -> None:
        if not self._deadline.expired():
            self._deadline.reschedule(asyncio.get_running_loop().time() + within_s)


class EventStream(Stream):
    """Follows its holder's events like a session, but only sends."""

    def __init__(self, site: Site, principal: Principal, after: int | None) -> None:
        super().__init__(site, principal)
        self.watch = RateWatch(WARN_WITHIN_PPM)
        self._queue: list[bytes] = []
        self._queued_bytes = 0
        self._after = after  # the last event that the client saw; None: the latest
        # an id without data, to resume from if the stream breaks before its first event
        self._bookmark = b""
        self._is_following = False
        self._wake = asyncio.Event()

    async def _begin(self) -> None:
        gateway, latest = self._gateway, self._gateway.latest(self._holder)
        if self._after is None:
            self._after, self._bookmark = latest, b"id: %d\n\n" % latest
        else:
            gateway.event_log.check_kept(self._holder, self._after, latest)
        await gateway.all_durable()

    async def _send_all(self) -> None:
        gateway, request = self._gateway, self._request
        assert self._after is not None
        await request.send(BEAT + self._bookmark)
        try:
            after = await catch_up(gateway, self, self._principal, self._after, self._send_page)
            if not self._over.is_set():
                gateway.follow(self._holder, self)
                self._is_following = True
                await self._send_page(await gateway.events_after(self._holder, after))
        except ProblemError as problem:  # for example, the history was cut meanwhile
            self.end(0, problem.code)
        while not self._over.is_set():
            try:
                async with asyncio.timeout(gateway.limits.heartbeat_s):
                    await self._wake.wait()
                self._wake.clear()
            except TimeoutError:
                self._queue.append(BEAT)
            if self._queue:
                body, self._queue, self._queued_bytes = b"".join(self._queue), [], 0
                await request.send(body)

    async def _send_page(self, page: list[Numbered]) -> bool:
        if page:
            await self._request.send(b"".join([_numbered(one) for one in page]))
        return not self._over.is_set()

    def _leave(self) -> None:
        if self._is_following:
            self._gateway.unfollow(self._holder, self)
        super()._leave()

    # -- a follower

    def send(self, event: Numbered) -> None:
        self._deliver(_numbered(event))

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
        await self._site.levels.look_now()

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


def _event(data: bytes, name: str) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), data)


# the name of each kind of event
_NAMES: dict[type, bytes] = {
    kind: str(kind.__struct_config__.tag).encode() for kind in get_args(Event)
}


def _numbered(one: Numbered) -> bytes:
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (one.n, _NAMES[type(one.event)], encode(one))
