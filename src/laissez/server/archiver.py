"""Retention of the journal: entries older than `retain` move into archives, beside the requests."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from laissez.journal import Base, Journal, JournalError, archive
from laissez.server.gateway import Gateway
from laissez.units import HOUR_US

LOOK_S = 30
SPAN_US = 24 * HOUR_US  # an archive holds at least a day, or there would be very many
NOT_ARCHIVED = "old entries could not be archived; they stay in the journal"

log = logging.getLogger("laissez.archiver")

# Archives what is older than a time; says how far the live file may be cut.
Make: TypeAlias = Callable[[Path, int], Awaitable[Base | None]]


async def in_child(folder: Path, before_us: int) -> Base | None:
    """In a process of its own: copying in a thread would keep the loop from the interpreter."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "laissez.journal.archive",
        str(folder),
        str(before_us),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        said, mistakes = await child.communicate()
    except asyncio.CancelledError:
        child.kill()  # what it leaves behind is replaced by the next one
        await child.wait()
        raise
    if child.returncode:
        raise JournalError(mistakes.decode(errors="replace").strip())
    seq, _, link = said.decode().strip().partition(" ")
    return Base(int(seq), bytes.fromhex(link)) if seq else None


class Archiver:
    """Looks now and then. All that it knows is on the disk, so a start goes on with what a crash
    left."""

    def __init__(
        self, gateway: Gateway, journal: Journal, retain_us: int | None, make: Make = in_child
    ) -> None:
        self._gateway = gateway
        self._journal = journal
        self._retain_us = retain_us
        self._make = make

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            if self._gateway.failure is None and not self._gateway.cutting:
                await self.look()

    async def look(self) -> None:
        """Archive what is due, and have the journal cut."""
        if self._retain_us is None:
            return
        before = self._gateway.clock.now() - self._retain_us
        try:
            if not await asyncio.to_thread(self._is_due, before):
                return
            until = await self._make(self._journal.folder, before)
        except (OSError, ValueError, JournalError) as error:
            log.error(NOT_ARCHIVED, extra={"reason": str(error)})
            return
        if until is not None:
            log.info("archived", extra={"seq": until.seq})
            self._gateway.cut(until)

    def _is_due(self, before: int) -> bool:
        assert self._retain_us is not None
        base = self._journal.base
        if archive.unfinished(self._journal.folder, base):
            return True
        with self._journal.reader() as reader:
            oldest = reader.entry(base.seq + 1)
        return oldest is not None and oldest.at < before - min(SPAN_US, self._retain_us)
