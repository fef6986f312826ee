"""The thread that stores and the forked process that writes snapshots, moved into the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from types import TracebackType
from typing import Self

from laissez.journal import CommitQueue, Journal, JournalFailed
from laissez.server.forked import CopyFailed

DELAYS_S = (0.0002, 0.001, 0.005, 0.05, 0.3)  # a disk is slow now and then


class LoopCommit(CommitQueue):
    """Store a group some time after it began to gather, and report it some time later."""

    def __init__(
        self,
        journal: Journal,
        *,
        on_durable: Callable[[int], None],
        on_failure: Callable[[JournalFailed], None],
        draw: Random,
        slow: float,
    ) -> None:
        super().__init__(journal, on_durable=on_durable, on_failure=on_failure)
        self._draw = draw
        self._slow = slow
        self._loop = asyncio.get_running_loop()

    def close(self) -> None:
        self._closing = True
        while self._waiting and self.failed is None:
            self._store()
            if self.failed is None:
                self._report()
        if self.failed is None:
            self._report()

    def _wake(self) -> None:
        self._loop.call_later(self._delay(), self._work)

    def _work(self) -> None:
        if self._waiting:
            self._store()
        if self.cutting and self.failed is None:
            self._do(self._cut_piece)
        if self.failed is None:
            self._loop.call_later(self._delay(), self._tell)

    def _tell(self) -> None:
        if self._journal.last > self.durable:
            self._report()
        if (self._waiting or self.cutting) and not self._closing:
            self._loop.call_later(self._delay(), self._work)
        else:
            self._asleep = True

    def _store(self) -> None:
        self._do(self._store_group)

    def _do(self, work: Callable[[], object]) -> None:
        """Do the work of the other thread."""
        try:
            work()
        except BaseException as error:
            self._fail(error)

    def _delay(self) -> float:
        return self._draw.choice(DELAYS_S) if self._draw.random() < self._slow else DELAYS_S[0]


class LoopCopy:
    """A snapshot, held at once and written later."""

    def __init__(
        self, hold: Callable[[], bytes], store: Callable[[bytes, bytes], None], draw: Random
    ) -> None:
        self._body = hold()
        self._store = store
        self._draw = draw
        self._head = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    async def tell(self, message: bytes) -> None:
        self._head = message

    async def answer(self) -> bytes:
        await asyncio.sleep(self._draw.choice((0.0, 0.05, 0.5)))
        try:
            self._store(self._body, self._head)
        except Exception as error:  # in another process, which tells only that it failed
            raise CopyFailed(1, str(error)) from error
        return b""
