"""A tenant's session that survives lost connections and restarts of the server. Every event is
delivered once and in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from laissez.client import (
    AsyncClient,
    AsyncSession,
    ConnectionFailed,
    EventsMissed,
    HistoryGone,
    OutcomeUnknown,
    RateLimited,
    Unavailable,
    UnexpectedAnswer,
)
from laissez.live.hooks import LeaseHooks
from laissez.live.memory import TaskMemory
from laissez.wire.events import Numbered

RECONNECT_TIMEOUT_S: Final = 30.0  # after that, a new session is opened
AGAIN_S, AGAIN_S_MAX = 1.0, 30.0  # between two attempts to reach a server that is away
AWAY: Final = (ConnectionFailed, OutcomeUnknown, Unavailable, UnexpectedAnswer, RateLimited)

Work: TypeAlias = Callable[[AsyncSession, AsyncClient], Awaitable[None]]


class Where:
    """The address of the server and a key. `repr` does not show the key."""

    def __init__(self, url: str, key: str | None, insecure: bool = False) -> None:
        self.url, self._key, self._insecure = url, key, insecure

    def session(self, resume_after: int | None = None) -> AsyncSession:
        return AsyncSession(
            self.url,
            self._key,
            resume_after=resume_after,
            reconnect_timeout_s=RECONNECT_TIMEOUT_S,
            insecure=self._insecure,
        )

    def client(self) -> AsyncClient:
        return AsyncClient(self.url, self._key, insecure=self._insecure)


@dataclass
class Attendant:
    """Passes every event to `hooks`, and sets `news` after each."""

    where: Where
    memory: TaskMemory
    hooks: LeaseHooks
    news: asyncio.Event
    tell: Callable[..., None]
    _seen: int = 0  # the number of the last event

    async def attend(self, work: Work) -> None:
        """Do `work` in a session. Begin again in a new session if the server goes away."""
        pause_s = AGAIN_S
        while True:
            try:
                async with (
                    self.where.client() as client,
                    self.where.session(self.memory.last_event) as session,
                ):
                    pause_s = AGAIN_S
                    self._seen = session.last_event or 0
                    return await self._beside_reading(session, work(session, client))
            except HistoryGone:
                self.memory.last_event = None
            except AWAY as error:
                self.tell("server_away", why=str(error))
                await asyncio.sleep(pause_s)
                pause_s = min(AGAIN_S_MAX, 2 * pause_s)

    async def catch_up(self, session: AsyncSession) -> None:
        """Wait for the events since the last session, then compare with the list of leases, which
        also has changes older than the server's history."""
        listed = await session.leases()
        while self._seen != listed.n:
            if self._seen > listed.n:  # the list is already out of date
                listed = await session.leases()
            else:
                self.news.clear()
                await self.news.wait()
        self.hooks.reconcile(listed.leases)
        self.tell("connected", leases=str(len(listed.leases)))

    async def _beside_reading(self, session: AsyncSession, work: Awaitable[None]) -> None:
        """Work and read events until either ends: the work is done, or the session has ended."""
        both = [asyncio.ensure_future(work), asyncio.ensure_future(self._read(session))]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            await next(each for each in both if each.done())
        finally:
            for each in both:
                each.cancel()
            await asyncio.wait(both)

    async def _read(self, session: AsyncSession) -> None:
        """Handle every event in order. After missed events, compare with the list of leases."""
        while True:
            try:
                async for told in session.events():
                    self.hooks.heard(told.event if isinstance(told, Numbered) else told)
                    if isinstance(told, Numbered):
                        self._seen = self.memory.last_event = told.n
                    self.news.set()
                return
            except EventsMissed as missed:
                self.tell("events_missed", why=str(missed))
                self.hooks.reconcile((await session.leases()).leases)
