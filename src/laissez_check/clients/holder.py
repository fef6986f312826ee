"""A holder with the project's own clients, which ask over REST and in a session, repeat, restart
and forget."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from laissez.client import AsyncClient, AsyncSession
from laissez.client.errors import (
    ApiError,
    ConnectionFailed,
    EventsMissed,
    HistoryGone,
    LaissezError,
)
from laissez.client.request import Request
from laissez.client.sse import EventOrNotice
from laissez.wire.requests import CancelOrder, OperatorCommand, TenantCommand
from laissez_check.clients.answers import (
    Watched,
    is_answer,
    plain,
    read,
    refusal,
    tells_of_bug,
)
from laissez_check.clients.ledger import Answer, Asked, Dense, Json, Ledger, Part
from laissez_check.clients.requests import as_rest, never_placed
from laissez_check.worlds import World

if TYPE_CHECKING:
    from laissez_check.clients.population import Population

ANSWER_WAITED_S = 6.0


class Habits(msgspec.Struct, frozen=True, kw_only=True):
    """The habits of all clients of a run."""

    forest: World
    prices: tuple[str, ...]
    requests: int  # of each holder, while there are faults
    pause_s: float  # at most, between two of them
    restarts: float = 0.0  # of clients, per request
    forgetful: float = 0.0  # share of restarting clients that lose their ids
    doubles: float = 0.0  # requests sent twice at once
    holds: bool = False  # the operator begins with a hold on everything
    page_max: int = 1000
    timeout_s: float = 2.0


class Holder:
    def __init__(self, population: Population, name: str, key: str) -> None:
        self._population = population
        self._ledger = population.ledger
        self._draw = population.draw
        self.name = name
        self.key = key
        self.has_new_key = False  # and its clients still use the old one
        self.goes_with_orders = name != "operator" and self._draw.random() < 0.2
        self.rest = self._client(self.key)
        self.session: AsyncSession | None = None
        self.session_key = ""  # that opened it
        self.told = Dense(self._ledger, name, "a session")
        self._pending: dict[str, asyncio.Future[Any]] = {}
        self._following: asyncio.Task[None] | None = None

    def _client(self, key: str) -> AsyncClient:
        return AsyncClient(
            self._population.url,
            key,
            timeout=self._population.habits.timeout_s,
            retries=2,
            transport=Watched(self._ledger.breaks),
        )

    # -- asking

    async def by_rest(self, asked: Asked, ledger: Ledger | None = None) -> None:
        method, path, body = as_rest(asked.command)
        content = None if body is None else msgspec.json.encode(body)
        request = Request(method, path, bytes, body=content, idempotency_key=asked.id)
        try:
            answer = read(asked, await self.rest.request(request))
        except LaissezError as error:
            if not is_answer(error):
                self._population.tell(f"{self.name} {asked.id} not answered: {error}")
                return
            parts = () if asked.kind in ("run", "stop") else (refusal(error),)
            answer = Answer(parts, error.status, b"{}")
        (ledger or self._ledger).answered(asked, answer, "REST")
        self._population.tell(f"{self.name} {asked.id} {answer.status}")

    async def asks_with(self, key: str) -> None:
        """Send some request with this key, which may be revoked."""
        async with self._client(key) as rest:
            await rest.me()

    async def by_session(self, asked: Asked) -> None:
        """Wait for a while. The answer is noted whenever it comes."""
        session = self.session
        if session is None:
            return
        future = self._pending.get(asked.id)
        if future is None:
            message = {**asked.command, "id": asked.id}
            command: Any = msgspec.convert(message, TenantCommand | OperatorCommand)
            try:
                future = self._pending[asked.id] = session.send(command)
            except LaissezError:
                return
            future.add_done_callback(partial(self._note, asked))
        await asyncio.wait((future,), timeout=ANSWER_WAITED_S)

    def _note(self, asked: Asked, done: asyncio.Future[Any]) -> None:
        del self._pending[asked.id]
        if done.cancelled():
            return
        error = done.exception()
        if isinstance(error, ApiError) and tells_of_bug(error):
            self._ledger.breaks(f"B1: {asked} was answered with {error!r} in a session")
        if error is None:
            part = Part(None, tuple(plain(done.result().events)))
        elif is_answer(error):
            part = refusal(error)
        else:
            return
        self._ledger.answered(asked, Answer((part,)), "session")
        self._population.tell(f"{self.name} {asked.id} {part.refused}")

    # -- the session

    async def open_session(self, reconnect_timeout_s: float) -> None:
        """Try for a while. Without a session, everything goes over REST."""
        encoding: Any = self._draw.choice(("json", "msgpack"))
        session = AsyncSession(
            self._population.url,
            self.key,
            resume_after=None if self.told.last < 0 else self.told.last,
            cancel_on_disconnect=self.goes_with_orders,
            encoding=encoding,
            timeout=self._population.habits.timeout_s,
            reconnect_timeout_s=reconnect_timeout_s,
        )
        self._watch_for_holes(session)
        self.session_key = self.key
        try:
            await session.open()
        except LaissezError as error:
            self._population.tell(f"{self.name} gets no session: {error}")
            if isinstance(error, ApiError) and error.code == "history_gone":
                self.told.last = -1
            return
        self.session = session
        self._following = asyncio.create_task(self._follow(session))

    def _watch_for_holes(self, session: AsyncSession) -> None:
        """Report events that a connection leaves out. The client would hide them: it asks for a
        missed event on a new connection."""
        protocol = session._protocol
        check = protocol._check_complete

        def checked(n: int) -> None:
            try:
                check(n)
            except ConnectionFailed as hole:
                self._ledger.breaks(f"S1: a session of {self.name} left something out: {hole}")
                raise

        protocol._check_complete = checked  # type: ignore[method-assign]

    async def asks_in_session_of(self, key: str, id: str) -> None:
        """Send some command in the session that was opened with this key, if it still lasts."""
        if self.session is None or self.session_key != key:
            return
        try:
            future = self.session.send(CancelOrder(id=id, order=never_placed(self.name)))
        except LaissezError:
            return
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.wait((future,), timeout=self._population.habits.timeout_s)

    @property
    def has_session(self) -> bool:
        """Whether there is a session that has not given up."""
        return self.session is not None and self.session._error is None

    async def _follow(self, session: AsyncSession) -> None:
        while True:
            try:
                async for one in session.events():
                    self._saw(one)
                return
            except EventsMissed:
                self.told.last = -1  # the next event may have any number
            except LaissezError:
                return

    def _saw(self, one: EventOrNotice) -> None:
        told = plain(one)
        if "n" in told:
            if self.told.last < 0:
                self.told.last = told["n"] - 1
            self.told.told(told)

    async def close_session(self, forgets: bool) -> None:
        """Close it as a client that is stopped does. One that forgets loses the ids of unanswered
        requests."""
        session, self.session = self.session, None
        if session is None:
            return
        await session.close()
        if self._following is not None:
            await asyncio.wait((self._following,))
        if forgets:
            self._population.abandoned.update(
                (asked.holder, asked.id) for asked in self._ledger.unanswered(self.name)
            )

    async def restart(self, forgets: bool) -> None:
        await self.close_session(forgets)
        old, self.rest = self.rest, self._client(self.key)
        await old.close()
        self.has_new_key = False
        if forgets and self._draw.random() < 0.5:
            self.told.last = 0  # read everything again

    async def close(self) -> None:
        await self.close_session(forgets=False)
        await self.rest.close()

    # -- reads, for the auditor

    async def get(self, path: str, **query: str | int) -> Any:
        params = {name: str(value) for name, value in query.items()}
        return await self.rest.request(Request("GET", path, msgspec.json.decode, params))

    async def pages(self, path: str, **query: str | int) -> list[Json]:
        found: list[Json] = []
        query["limit"] = self._population.habits.page_max
        try:
            page = await self.get(path, **query)
        except HistoryGone:
            return self._population.stored_events(self.name, int(query["after"]))
        query.pop("after", None)
        while True:
            found += page["data"]
            if not page["has_more"]:
                return found
            page = await self.get(path, cursor=page["cursor"], **query)
