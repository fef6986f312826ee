"""Snapshots, taken by a copy of the process, so that the market does not wait for them."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Protocol, TypeAlias

from laissez.journal import Journal, JournalError, snapshots
from laissez.server.forked import Copy, CopyFailed
from laissez.server.gateway import Gateway
from laissez.server.settings import Journal as JournalSettings

SNAPSHOT_LOOK_S = 0.1
HEAD_BYTES = 32
NOT_WRITTEN = "the snapshot could not be written; the journal is complete without it"

log = logging.getLogger("laissez.snapshotter")


class Copied(Protocol):
    """The state as it was, on its way to the disk."""

    async def tell(self, message: bytes) -> None: ...

    async def answer(self) -> bytes: ...


# Makes a copy that says what it holds at once, and stores it when it is told the head of the
# journal.
MakeCopy: TypeAlias = Callable[
    [Callable[[], bytes], Callable[[bytes, bytes], None]], AbstractContextManager[Copied]
]


def by_fork(hold: Callable[[], bytes], store: Callable[[bytes, bytes], None]) -> Copy:
    return Copy(lambda line: _wait_and_store(hold, store, line))


class Snapshotter:
    """Takes a snapshot every so often, if anything happened, in a copy of the process. By time and
    not by commands: under load a copy every few seconds would cost more than a long replay."""

    def __init__(
        self,
        gateway: Gateway,
        journal: Journal,
        settings: JournalSettings,
        make_copy: MakeCopy = by_fork,
    ) -> None:
        self._gateway = gateway
        self._make_copy = make_copy
        self._journal = journal
        self._every_us = round(settings.snapshot_every_s * 1e6)
        self._begun_at = gateway.clock.now()
        self._kept = settings.snapshots_kept
        self._last = max((file.seq for file in snapshots.newest_first(journal.folder)), default=0)
        self.taken = 0

    async def run(self) -> None:
        while True:
            await asyncio.sleep(SNAPSHOT_LOOK_S)
            if self._gateway.failure is None and self._is_due():
                await self.take()

    def _is_due(self) -> bool:
        return (
            self._gateway.position > self._last
            and self._gateway.clock.now() - self._begun_at >= self._every_us
        )

    async def take(self) -> None:
        """Whatever is short (memory, processes, open files): there may be enough of it next
        time."""
        try:
            await self._take()
        except (OSError, JournalError, CopyFailed) as error:
            log.error(NOT_WRITTEN, extra={"seq": self._last, "reason": str(error)})

    async def _take(self) -> None:
        seq = self._gateway.position
        self._last = seq
        self._begun_at = self._gateway.clock.now()
        with self._make_copy(
            self._gateway.exchange.snapshot,
            partial(_write_snapshot, self._journal.folder, seq, self._kept),
        ) as copy:
            await self._gateway.all_durable()
            with self._journal.reader() as reader:
                head = reader.chain_at(seq)
            assert head is not None
            await copy.tell(head)
            await copy.answer()
        self.taken += 1
        log.info("snapshot taken", extra={"seq": seq})

    def take_last(self) -> None:
        """At a planned stop, when everything is durable: the next start replays nothing."""
        newest = max((file.seq for file in snapshots.newest_first(self._journal.folder)), default=0)
        if self._gateway.failure is not None or self._journal.last <= newest:
            return
        try:
            snapshots.write(
                self._journal.folder,
                self._journal.last,
                self._journal.head,
                self._gateway.exchange.snapshot(),
            )
            snapshots.prune(self._journal.folder, self._kept)
        except OSError as error:
            log.error(NOT_WRITTEN, extra={"seq": self._journal.last, "reason": str(error)})


def _wait_and_store(
    hold: Callable[[], bytes], store: Callable[[bytes, bytes], None], line: socket.socket
) -> None:
    """In the copy, which is told the head of the journal once all that it has is durable."""
    body = hold()
    head = line.recv(HEAD_BYTES)
    if len(head) < HEAD_BYTES:
        raise JournalError(
            "the server is gone, or the journal failed, before this snapshot was durable"
        )
    store(body, head)


def _write_snapshot(folder: Path, seq: int, kept: int, body: bytes, head: bytes) -> None:
    snapshots.write(folder, seq, head, body)
    snapshots.prune(folder, kept)
