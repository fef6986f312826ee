"""Snapshots, taken by a copy of the process, so that the market does not wait for them."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
from pathlib import Path

from laissez.journal import Journal, JournalError, snapshots
from laissez.service.desk import Desk
from laissez.service.settings import Journal as JournalSettings

SNAPSHOT_LOOK_S = 0.1
FIRST_OWN_FILE, FILES_MAX = 3, 1 << 20  # after standard input, output and error
NOT_WRITTEN = "the snapshot could not be written; the journal is complete without it"

log = logging.getLogger("laissez.snapshotter")


class Snapshotter:
    """Takes a snapshot every so many commands, in a copy of the process, so that the market does not wait for it."""

    def __init__(self, desk: Desk, journal: Journal, settings: JournalSettings) -> None:
        self._desk = desk
        self._journal = journal
        self._every = settings.snapshot_every
        self._kept = settings.snapshots_kept
        self._last = max((file.seq for file in snapshots.newest_first(journal.folder)), default=0)
        self.taken = 0

    async def run(self) -> None:
        while True:
            await asyncio.sleep(SNAPSHOT_LOOK_S)
            if self._desk.failure is None and self._desk.position - self._last >= self._every:
                await self.take()

    async def take(self) -> None:
        """Whatever is short (memory, processes, open files): there may be enough of it next time."""
        try:
            await self._take()
        except (OSError, JournalError) as error:
            log.error(NOT_WRITTEN, extra={"seq": self._last, "reason": str(error)})

    async def _take(self) -> None:
        seq = self._desk.position
        self._last = seq
        reading, writing = os.pipe()
        try:
            child = os.fork()
        except OSError:
            os.close(reading)
            os.close(writing)
            raise
        if child == 0:
            _write_snapshot(self._desk, self._journal.folder, seq, self._kept, reading, writing)
        os.close(reading)
        try:
            try:
                await self._desk.all_durable()
                with self._journal.reader() as reader:
                    head = reader.chain_at(seq)
                assert head is not None
                os.write(writing, head)
            finally:
                os.close(writing)
            status = await _end_of(child)
        except BaseException:
            # The server is being stopped, or the journal has failed or cannot be read. A copy that lived on would keep the port and the folder
            # from the next start.
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise
        if status == 0:
            self.taken += 1
            log.info("snapshot taken", extra={"seq": seq})
        else:
            log.error(NOT_WRITTEN, extra={"seq": seq, "reason": f"the copy of the process that writes it ended with {status}"})

    def take_last(self) -> None:
        """At a planned stop, when everything is durable: the next start replays nothing."""
        newest = max((file.seq for file in snapshots.newest_first(self._journal.folder)), default=0)
        if self._desk.failure is not None or self._journal.last <= newest:
            return
        try:
            snapshots.write(self._journal.folder, self._journal.last, self._journal.head, self._desk.exchange.snapshot())
            snapshots.prune(self._journal.folder, self._kept)
        except OSError as error:
            log.error(NOT_WRITTEN, extra={"seq": self._journal.last, "reason": str(error)})


async def _end_of(child: int) -> int:
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid == child:
            return os.waitstatus_to_exitcode(status)
        await asyncio.sleep(SNAPSHOT_LOOK_S)


def _write_snapshot(desk: Desk, folder: Path, seq: int, kept: int, reading: int, writing: int) -> None:
    """In the copy. It ends here, whatever happens: nothing of the server may run twice."""
    status = 1
    try:
        gc.disable()
        # Nothing but the pipe may be held on to: not the journal's lock, which must be free as soon as the server is gone, and no connection.
        os.closerange(FIRST_OWN_FILE, reading)
        os.closerange(reading + 1, FILES_MAX)
        os.nice(10)
        body = desk.exchange.snapshot()
        head = os.read(reading, 32)
        if len(head) == 32:  # less: the server is gone, or the journal failed
            snapshots.write(folder, seq, head, body)
            snapshots.prune(folder, kept)
            status = 0
    finally:
        os._exit(status)
