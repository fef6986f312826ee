"""The session for programs without an event loop: the same session, on a loop in a thread of its
own."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Coroutine, Iterable, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from laissez.client.asking import Blocking
from laissez.client.errors import LaissezError, SessionClosed, UsageError
from laissez.client.following import Told
from laissez.client.messages import Command, Message, Messages
from laissez.client.session import AsyncSession, SessionOptions
from laissez.wire.session import Reply

T = TypeVar("T")


class Session(Messages, Blocking):
    """Use it in a `with` block. Every method waits for its answer; `send_many` sends without
    waiting in between.

    Takes the same arguments as `AsyncSession`. Safe to use from several threads, so that one can
    read events while another sends.
    """

    def __init__(
        self, url: str | None = None, key: str | None = None, **options: Unpack[SessionOptions]
    ) -> None:
        self._session = AsyncSession(url, key, **options)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._waiting: set[concurrent.futures.Future[Any]] = set()
        self._ended = False

    def __repr__(self) -> str:
        return f"Session(of {self._session!r})"

    @property
    def last_event(self) -> int | None:
        """The number of the last event seen: `resume_after` for a session that takes over from this
        one."""
        return self._session.last_event

    def __enter__(self) -> Self:
        if self._thread is not None:
            raise UsageError("a session can be opened once; make a new one")
        started = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._stay(started)), name="laissez-session", daemon=True
        )
        self._thread.start()
        started.wait()
        try:
            self._run(self._session.open())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._run(self._session.__aexit__(kind, error, trace))
        finally:
            self._stop()

    def send_many(self, commands: Iterable[Command]) -> list[Reply | LaissezError]:
        """As `AsyncSession.send_many`."""
        return self._run(self._session.send_many(commands))

    def events(self) -> Iterator[Told]:
        """As `AsyncSession.events`. If another thread closes the session, what had come by then is
        still given."""
        try:
            while self._run(self._session._has_arrived()):
                yield from self._session._arrived()
        except SessionClosed:
            if self._thread is None:
                raise
            yield from self._session._arrived()

    def _ask(self, message: Message[T]) -> T:
        return self._run(self._answer(message))

    async def _answer(self, message: Message[T]) -> T:
        await self._session.room()
        return await self._session._ask(message)

    async def _stay(self, started: threading.Event) -> None:
        self._stopping = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        started.set()
        await self._stopping.wait()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, done on the session's loop."""
        if self._loop is None or self._ended:
            work.close()
            raise SessionClosed("the session is not open; use it in a with block")
        try:
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:  # the loop was closed this instant
            work.close()
            raise SessionClosed("the session was closed by another thread") from None
        self._waiting.add(future)
        if self._ended:
            # asked of a loop that has taken its last turn: nobody else would say so
            _give_up(future)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise SessionClosed("the session was closed by another thread") from None
        finally:
            if self._ended:
                work.close()  # it may never have begun
            self._waiting.discard(future)
            future.cancel()  # an interrupted caller does not leave its work behind

    def _stop(self) -> None:
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join()
            self._ended = True
            for future in list(self._waiting):
                _give_up(future)


def _give_up(future: concurrent.futures.Future[Any]) -> None:
    """Tell who waits that nothing will come. (To cancel it would ask the loop, which is gone.)"""
    with contextlib.suppress(concurrent.futures.InvalidStateError):  # it came after all
        future.set_exception(SessionClosed("the session was closed by another thread"))
