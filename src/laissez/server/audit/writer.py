"""What the service does for the audit log: write refusals about once a second, make digests when a
day is over, remove what is old.

In a thread, since it waits for the disk. If the disk refuses, the service goes on, and what could
not be written is counted and told: everything that was carried out is in the journal, without which
nothing is answered.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec

from laissez.exchange.commands import OPERATOR, SERVICE
from laissez.journal import Journal, JournalError, disk
from laissez.market.commands import AdvanceTime
from laissez.server.audit.digests import DigestFile
from laissez.server.audit.log import (
    DAY_US,
    FOLDER,
    LOST,
    REMOVED,
    Broken,
    Digest,
    RefusalFiles,
    day_of,
    days,
    end_of,
    first_kept,
    path_of,
    put_aside,
    start,
)
from laissez.server.audit.refusals import Noted
from laissez.server.gateway import Gateway
from laissez.server.settings import Audit
from laissez.wire.problems import ProblemError

WRITE_EVERY_S = 1.0

log = logging.getLogger("laissez.audit")


class AuditWriter:
    def __init__(self, gateway: Gateway, journal: Journal, data: Path, settings: Audit) -> None:
        self._gateway = gateway
        self._journal = journal
        self._folder = data / FOLDER
        self._settings = settings
        with journal.reader() as reader:
            self._beginning = start(reader.identity)
        # the log as far as it is known; None: it is to be looked at again
        self._files: RefusalFiles | None = None
        self._digested = ""  # the day on which the digests were last brought up to date
        # a write goes on in its thread though nobody waits for it any more
        self._writing = threading.Lock()
        gateway.refusals.bounds = settings

    async def run(self) -> None:
        while True:
            await self.write()
            await asyncio.sleep(WRITE_EVERY_S)

    async def write(self) -> None:
        """What was refused so far, and the digests of days that are over."""
        now = self._gateway.clock.now()
        noted = self._gateway.refusals.take()
        is_new_day = day_of(now) != self._digested and await self._is_durable()
        if noted or is_new_day:
            await asyncio.to_thread(self._store, noted, now, is_new_day)

    def finish(self) -> None:
        """Before the service is closed: nothing is left unwritten."""
        noted = self._gateway.refusals.take(whole=True)
        if noted:
            self._store(noted, self._gateway.clock.now(), False)

    async def _is_durable(self) -> bool:
        """A digest tells what the journal holds of a day, so everything of that day must be in it,
        and nothing more may come: time goes on first.

        What a lost session leaves behind is cancelled as of the last thing that was done, which may
        have been yesterday."""
        gateway = self._gateway
        try:
            if (
                gateway.position
                and gateway.failure is None
                and day_of(gateway.last_at) != day_of(gateway.clock.now())
            ):
                gateway.enter(OPERATOR, SERVICE, "", AdvanceTime())
            await gateway.all_durable()
        except ProblemError:
            return False
        return True

    def _store(self, noted: Sequence[Noted], now: int, digests: bool) -> None:
        with self._writing:
            try:
                self._append(noted, now)
                if digests:
                    self._digest(now)
            except (OSError, JournalError, Broken) as error:
                reason = getattr(error, "strerror", None) or str(error)
                log.error(
                    "the audit log could not be written; the service goes on",
                    extra={"lines": len(noted), "reason": reason},
                )
                self._files = None

    def _append(self, noted: Sequence[Noted], now: int) -> None:
        refusals = self._gateway.refusals
        try:
            if self._files is None:
                n, chain, over = DigestFile(self._folder, self._beginning).logged()
                self._files = RefusalFiles(self._folder, chain, now, n, over)
            if noted and refusals.lost:
                noted = [*noted, Noted(noted[-1].at, LOST, 0, times=refusals.lost)]
            self._files.append(noted)
        except BaseException:
            refusals.lost += sum(one.times for one in noted if one.code != LOST)
            raise
        refusals.lost = 0 if noted else refusals.lost

    def _digest(self, now: int) -> None:
        # also if it fails: those that are missing are made tomorrow, or at the next start
        today = self._digested = day_of(now)
        file = DigestFile(self._folder, self._beginning)
        with self._journal.reader(archived=True) as reader:
            made = file.bring_up(reader, today)
        for digest in made:
            log.info("digest of a day", extra=msgspec.to_builtins(digest))
        self._gateway.refusals.digested_us = end_of(today) - DAY_US
        self._prune(file.credible(), now)

    def _prune(self, known: list[Digest], now: int) -> None:
        """Only what a digest tells the end of. That it was removed, and not by somebody else, is a
        line too, and the first to be written."""
        keep_days = self._settings.keep_days
        ends = {one.date: one.refusals for one in known}
        old = [
            date
            for date in days(self._folder)
            if date < first_kept(now, keep_days) and date in ends
        ]
        if not old:
            return
        assert self._files is not None
        self._files.append([Noted(now, REMOVED, 0, until=ends[old[-1]], keep_days=keep_days)])
        for date in old:
            for path in (path_of(self._folder, date), *put_aside(self._folder, date)):
                disk.remove(path)
            log.info("refusals of a day were removed", extra={"date": date})
