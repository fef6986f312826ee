"""The session for programs without an event loop: an `AsyncSession` on a loop in its own thread."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine, Iterable, Iterator
from typing import Any, Self, TypeVar, Unpack

from laissez.client.errors import LaissezError, SessionClosed, UsageError
from laissez.client.messages import Command, Message, SessionApi
from laissez.client.methods import Blocking
from laissez.client.session import AsyncSession, SessionOptions
from laissez.client.sse import EventOrNotice
from laissez.wire.session import Reply

T = TypeVar("T")


class Session(SessionApi, Blocking):
    """Use it in a `with` block. Every method waits for its answer; `send_many` pipelines.

    It takes the arguments of `AsyncSession`. Threads may share it: one can read events while
    another sends.
    """

    def __init__(
        self, url: str | None = None, key: str | None = None, **options: Unpack[SessionOptions]
    ) -> None:
        self._session = AsyncSession(url, key, **options)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._is_closed = False

    def __repr__(self) -> str:
        return f"Session(of {self._session!r})"

    @property
    def last_event(self) -> int | None:
        """As `AsyncSession.last_event`."""
        return self._session.last_event

    def __enter__(self) -> Self:
        if self._thread is not None:
            raise UsageError("a session can be opened once; make a new one")
        started = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._run_loop(started)),
            name="laissez-session",
            daemon=True,
        )
        self._thread.start()
        started.wait()
        try:
            self._run(self._session.open())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            self._run(self._session.__aexit__(kind, error, trace))
        finally:
            self._stop()

    def send_many(self, commands: Iterable[Command]) -> list[Reply | LaissezError]:
        """As `AsyncSession.send_many`."""
        return self._run(self._session.send_many(commands))

    def events(self) -> Iterator[EventOrNotice]:
        """As `AsyncSession.events`. Events received before another thread closed the session are
        still delivered."""
        try:
            while self._run(self._session.wait_for_events()):
                yield from self._session.pop_events()
        except SessionClosed:
            yield from self._session.pop_events()

    def request(self, message: Message[T]) -> T:
        """Send a message when the session has room, and wait for its answer."""
        return self._run(self._answer(message))

    async def _answer(self, message: Message[T]) -> T:
        await self._session.room()
        return await self._session.request(message)

    async def _run_loop(self, started: threading.Event) -> None:
        self._stopping = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        started.set()
        await self._stopping.wait()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` on the session's loop and wait for its result."""
        with self._lock:  # so the loop starts all work before it sees that it must stop
            if self._thread is None or self._is_closed:
                work.close()
                raise self._not_open()
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise SessionClosed("the session was closed by another thread") from None
        finally:
            future.cancel()  # after an interrupt of the caller

    def _not_open(self) -> LaissezError:
        if self._is_closed:
            return SessionClosed("the session was closed; make a new one")
        return UsageError("the session is not open; use it in a with block")

    def _stop(self) -> None:
        """Stop the loop, which cancels all work that has not ended."""
        assert self._thread is not None
        with self._lock:
            self._is_closed = True
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
