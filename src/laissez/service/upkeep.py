"""What the service does by itself: let time pass when a hold ends, close the books, take snapshots, cancel what a lost session left behind."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
from pathlib import Path

from laissez.journal import Journal, JournalError, snapshots
from laissez.market.commands import AdvanceTime, CloseBooks
from laissez.service.commands import OPERATOR, CancelOrder
from laissez.service.desk import Desk
from laissez.service.settings import Books
from laissez.service.settings import Journal as JournalSettings

HOUR_US = 3_600_000_000
SERVICE = "service"  # who made a request that nobody's key made
HOLDS_EVERY_S = 0.05  # a hold ends at its own time to the microsecond; this is how late anybody may hear of it
BOOKS_EVERY_S = 1.0
SNAPSHOT_LOOK_S = 0.1
FIRST_OWN_FILE, FILES_MAX = 3, 1 << 20  # after standard input, output and error
NOT_WRITTEN = "the snapshot could not be written; the journal is complete without it"

log = logging.getLogger("laissez.upkeep")


def cancel_orphans(desk: Desk) -> int:
    """Orders that were to go with their session, when the server stopped before the session could end."""
    orphans = [(account.name, name) for account in desk.exchange.accounts.values() for name, order in account.orders.items() if order.of_session]
    # As of the last thing that was stored: the sessions were gone then, and nothing may have been won for them since.
    then = max(desk.exchange.market.now, desk.stored_at)
    ends = [desk.enter(tenant, SERVICE, "", CancelOrder(order), at=then) for tenant, order in orphans]
    return sum(end.applied.outcome.refused is None for end in ends)


async def end_holds(desk: Desk) -> None:
    while True:
        await asyncio.sleep(HOLDS_EVERY_S)
        deadline = desk.exchange.market.next_deadline()
        if deadline is not None and deadline <= desk.clock.now() and desk.failure is None:
            desk.enter(OPERATOR, SERVICE, "", AdvanceTime())


class Bookkeeper:
    """Closes the books so that memory stays bounded, always at whole hours too, so that every whole hour can be billed by itself.

    In a quiet market the detail of the last day is kept. In a busy one the books are closed as soon as many commands have come.
    """

    def __init__(self, desk: Desk, settings: Books) -> None:
        self._desk = desk
        self._keep_us = round(settings.keep_hours * HOUR_US)
        self._commands_max = settings.close_after_commands
        self._commands_at_closing = 0

    def due(self, now: int) -> int | None:
        """Until when the books should be closed now; None if they need not be. An hour that is over comes before anything later."""
        closed = self._closed()
        until = now if self._is_busy() else now - self._keep_us
        hour = until // HOUR_US * HOUR_US
        if closed is None:
            return None
        if closed < hour:
            return (closed // HOUR_US + 1) * HOUR_US
        return now if self._is_busy() else None

    def _closed(self) -> int | None:
        """Until when the books are closed; if they never were, the hour in which the first tenant came; None if there is none."""
        if self._desk.exchange.closed_before:
            return self._desk.exchange.closed_before
        first = next(iter(self._desk.exchange.accounts.values()), None)
        return None if first is None else first.created_at // HOUR_US * HOUR_US

    async def run(self) -> None:
        while True:
            await asyncio.sleep(BOOKS_EVERY_S)
            if self._desk.failure is None and self.due(self._desk.clock.now()) is not None:
                await self.close()

    async def close(self) -> None:
        if self._is_busy():
            await self._work_out_charges()
        before = self.due(self._desk.clock.now())
        if before is not None and self._desk.failure is None:
            self._desk.enter(OPERATOR, SERVICE, "", CloseBooks(before))
            if before % HOUR_US:  # closed until now, not only until an hour that is over
                self._commands_at_closing = self._desk.commands

    def _is_busy(self) -> bool:
        return self._desk.commands - self._commands_at_closing >= self._commands_max

    async def _work_out_charges(self) -> None:
        """Ask for every bill, one tenant at a time: the market remembers how far it got, and closing finds little left to do."""
        for tenant in list(self._desk.exchange.accounts):
            self._desk.exchange.market.bill(tenant)
            await asyncio.sleep(0)


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
