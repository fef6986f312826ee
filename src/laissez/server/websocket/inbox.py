"""The frames of a session that wait to be heard. Nearly always none: a frame waits only while the
server is behind. With too many waiting, the connection is not read (backpressure)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from laissez.server.fair_queue import FairQueue

if TYPE_CHECKING:
    from laissez.server.websocket.connection import Connection
    from laissez.server.websocket.session import Session
    from laissez.wire.requests import SessionMessage

FRAMES_MAX, BYTES_MAX = 64, 262_144  # with more waiting, nothing more is read from the connection


class Frame:
    """A frame in the fair queue; part of it may have been heard."""

    __slots__ = ("_inbox", "_is_done", "_messages", "_payload")

    def __init__(
        self, inbox: Inbox, payload: bytes | str, messages: list[SessionMessage] | None
    ) -> None:
        self._inbox = inbox
        self._payload = payload
        self._is_done = False
        self._messages = messages  # not heard yet; None if it has not been read

    def __len__(self) -> int:
        return len(self._payload)

    def carry_out(self, may_go_on: Callable[[], bool]) -> bool:
        session = self._inbox.session
        if self._is_done or session.is_deaf:
            return self._done()
        try:
            messages = session.read(self._payload) if self._messages is None else self._messages
            self._messages = session.hear(messages, may_go_on)
        except BaseException:  # a bug: the rest is not tried again
            self._done()
            raise
        return not self._messages and self._done()

    def turn_away(self) -> int:
        """Refuse the messages that were not heard. Only their ids are read."""
        session = self._inbox.session
        if self._is_done or session.is_deaf:
            self._done()
            return 0
        ids = (
            session.ids(self._payload)
            if self._messages is None
            else [message.id for message in self._messages]
        )
        self._done()
        return session.turn_away(ids) if ids else 0  # what cannot be read was refused as such

    def _done(self) -> bool:
        if not self._is_done:
            self._is_done = True
            self._inbox.took(self)
        return True


class Inbox:
    def __init__(
        self, session: Session, queue: FairQueue, line: str, connection: Connection
    ) -> None:
        self.session = session
        self._queue = queue
        self._line = line
        self._connection = connection
        self._waiting: deque[Frame] = deque()
        self._bytes = 0
        self._is_held = False
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    def put(self, payload: bytes | str) -> None:
        """Hear a frame at once if nothing waits; the rest of it goes into the fair queue."""
        messages = None
        if not self._waiting and self._queue.may_go_on():
            messages = self.session.hear(self.session.read(payload), self._queue.in_time)
            if not messages:
                return
        frame = Frame(self, payload, messages)
        self._waiting.append(frame)
        self._is_empty.clear()
        self._bytes += len(payload)
        self._queue.wait(self._line, frame)
        if not self._is_held and (len(self._waiting) > FRAMES_MAX or self._bytes > BYTES_MAX):
            self._is_held = True
            self._connection.hold()

    def took(self, frame: Frame) -> None:
        """A frame is done: the first, unless that met a bug."""
        self._waiting.remove(frame)
        self._bytes -= len(frame)
        if (
            self._is_held
            and len(self._waiting) <= FRAMES_MAX // 2
            and self._bytes <= BYTES_MAX // 2
        ):
            self._is_held = False
            self._connection.let_go()
        if not self._waiting:
            self._is_empty.set()

    async def all_heard(self) -> None:
        """Wait until all frames are heard: those that arrived before a disconnect still count."""
        await self._is_empty.wait()
