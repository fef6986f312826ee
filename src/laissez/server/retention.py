"""Snapshots and archives: they bound what a start must replay and what the live journal holds.

A fork of the process writes snapshots and a separate process writes archives, so the market waits
for neither. Their state is on the disk: a start resumes work that a crash interrupted, and failed
work is tried again later.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, TypeAlias

from laissez.journal import Journal, JournalError, Position, archive, snapshots
from laissez.server.forked import Copy, CopyFailed
from laissez.server.gateway import Gateway
from laissez.server.settings import Journal as JournalSettings
from laissez.units import HOUR_US

SNAPSHOT_LOOK_S = 0.1
HEAD_BYTES = 32
NOT_WRITTEN = "the snapshot could not be written; the journal is complete without it"
ARCHIVE_LOOK_S = 30
ARCHIVE_SPAN_US = 24 * HOUR_US  # an archive holds at least a day, which bounds their number
NOT_ARCHIVED = "old entries could not be archived; they stay in the journal"

log = logging.getLogger("laissez.retention")


# -- snapshots


class Copied(Protocol):
    """A copy of the state on its way to the disk."""

    async def tell(self, message: bytes) -> None: ...

    async def answer(self) -> bytes: ...


# Takes a function that renders the state, called at once, and one that stores it, called when the
# copy receives the head of the journal.
MakeCopy: TypeAlias = Callable[
    [Callable[[], bytes], Callable[[bytes, bytes], None]], AbstractContextManager[Copied]
]


def by_fork(hold: Callable[[], bytes], store: Callable[[bytes, bytes], None]) -> Copy:
    return Copy(lambda line: _wait_and_store(hold, store, line))


def _wait_and_store(
    hold: Callable[[], bytes], store: Callable[[bytes, bytes], None], line: socket.socket
) -> None:
    """Runs in the fork, which receives the head of the journal once its whole state is durable."""
    body = hold()
    head = line.recv(HEAD_BYTES)
    if len(head) < HEAD_BYTES:
        raise JournalError(
            "the server is gone, or the journal failed, before this snapshot was durable"
        )
    store(body, head)


class Snapshotter:
    """Takes a snapshot at intervals, if there were commands. Intervals are in time, not in
    commands: under load a fork every few seconds would cost more than a long replay."""

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
        self._last = self._newest()
        self.taken = 0

    async def run(self) -> None:
        while True:
            await asyncio.sleep(SNAPSHOT_LOOK_S)
            if self._gateway.failure is None and self._is_due():
                await self.take()

    def _is_due(self) -> bool:
        passed_us = self._gateway.clock.now() - self._begun_at
        return self._gateway.position > self._last and passed_us >= self._every_us

    async def take(self) -> None:
        """Take a snapshot. If memory, processes or open files are short, the next interval tries
        again."""
        try:
            await self._take()
        except (OSError, JournalError, CopyFailed) as error:
            log.error(NOT_WRITTEN, extra={"seq": self._last, "reason": str(error)})

    async def _take(self) -> None:
        seq = self._gateway.position
        self._last = seq
        self._begun_at = self._gateway.clock.now()

        def store(body: bytes, head: bytes) -> None:
            self._write(seq, head, body)

        with self._make_copy(self._gateway.exchange.snapshot, store) as copy:
            await self._gateway.all_durable()
            with self._journal.reader() as reader:
                head = reader.chain_at(seq)
            assert head is not None
            await copy.tell(head)
            await copy.answer()
        self.taken += 1
        log.info("snapshot taken", extra={"seq": seq})

    def take_last(self) -> None:
        """Take a snapshot at a planned stop, when everything is durable, so that the next start
        replays nothing."""
        seq = self._journal.last
        if self._gateway.failure is not None or seq <= self._newest():
            return
        try:
            self._write(seq, self._journal.head, self._gateway.exchange.snapshot())
        except OSError as error:
            log.error(NOT_WRITTEN, extra={"seq": seq, "reason": str(error)})

    def _write(self, seq: int, head: bytes, body: bytes) -> None:
        snapshots.write(self._journal.folder, seq, head, body)
        snapshots.prune(self._journal.folder, self._kept)

    def _newest(self) -> int:
        return max((file.seq for file in snapshots.newest_first(self._journal.folder)), default=0)


# -- archives

# Archives entries older than a time; returns how far the live file may be cut.
MakeArchive: TypeAlias = Callable[[Path, int], Awaitable[Position | None]]


async def in_child(folder: Path, before_us: int) -> Position | None:
    """Archive in a separate process: a copying thread would hold the interpreter lock and delay the
    event loop."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "laissez.journal.archive", str(folder), str(before_us)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        said, mistakes = await child.communicate()
    except asyncio.CancelledError:
        child.kill()  # the next one replaces its unfinished file
        await child.wait()
        raise
    if child.returncode:
        raise JournalError(mistakes.decode(errors="replace").strip())
    seq, _, link = said.decode().strip().partition(" ")
    return Position(int(seq), bytes.fromhex(link)) if seq else None


class Archiver:
    """Moves entries older than `retain_us` into archives; None keeps all of them."""

    def __init__(
        self,
        gateway: Gateway,
        journal: Journal,
        retain_us: int | None,
        make: MakeArchive = in_child,
    ) -> None:
        self._gateway = gateway
        self._journal = journal
        self._retain_us = retain_us
        self._make = make

    async def run(self) -> None:
        while True:
            await asyncio.sleep(ARCHIVE_LOOK_S)
            if self._gateway.failure is None and not self._gateway.cutting:
                await self.look()

    async def look(self) -> None:
        """Archive due entries and cut the journal."""
        if self._retain_us is None:
            return
        before = self._gateway.clock.now() - self._retain_us
        span_us = min(ARCHIVE_SPAN_US, self._retain_us)
        try:
            if not await asyncio.to_thread(self._is_due, before - span_us):
                return
            until = await self._make(self._journal.folder, before)
        except (OSError, ValueError, JournalError) as error:
            log.error(NOT_ARCHIVED, extra={"reason": str(error)})
            return
        if until is not None:
            log.info("archived", extra={"seq": until.seq})
            self._gateway.cut(until)

    def _is_due(self, before: int) -> bool:
        """Whether a crash left an archive unfinished, or there is an entry before that time."""
        base = self._journal.base
        if archive.unfinished(self._journal.folder, base):
            return True
        with self._journal.reader() as reader:
            oldest = reader.entry(base.seq + 1)
        return oldest is not None and oldest.at < before
