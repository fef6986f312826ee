"""Write refusals about once a second, make digests when a day is over, and remove old lines.

Writing waits for the disk, so it runs in a thread. If the disk fails, the server goes on; lost
lines are counted and logged later. Accepted commands are in the journal; without it no command is
answered.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from functools import partial

import msgspec

from laissez.exchange.commands import OPERATOR, SERVICE
from laissez.journal import Journal, JournalError
from laissez.market.commands import AdvanceTime
from laissez.server.audit.digests import add_missing, credible, logged
from laissez.server.audit.log import (
    CUT,
    LOST,
    REMOVED,
    Broken,
    Digest,
    End,
    append,
    day_of,
    end_of_log,
    first_kept,
    start,
)
from laissez.server.audit.refusals import DAY_US, Line
from laissez.server.beside import Beside, BesideFailed
from laissez.server.gateway import Gateway
from laissez.server.settings import Audit
from laissez.units import format_time
from laissez.wire.problems import ProblemError

WRITE_EVERY_S = 1.0

log = logging.getLogger("laissez.audit")


class AuditWriter:
    def __init__(self, gateway: Gateway, journal: Journal, beside: Beside, settings: Audit) -> None:
        self._gateway = gateway
        self._journal = journal
        self._beside = beside
        self._settings = settings
        self._beginning = start(gateway.identity)
        self._end: End | None = None  # of the log; None: to be looked up
        self._digested = ""  # the day on which digests were last made
        # a cancelled write goes on in its thread, so the next one must wait
        self._writing = threading.Lock()
        gateway.refusals.bounds = settings

    async def run(self) -> None:
        while True:
            await self.write()
            await asyncio.sleep(WRITE_EVERY_S)

    async def write(self) -> None:
        """Write the collected refusals, and the digests of past days."""
        now = self._gateway.clock.now()
        lines = self._gateway.refusals.take()
        is_new_day = day_of(now) != self._digested and await self._is_durable()
        if lines or is_new_day:
            await asyncio.to_thread(self._store, lines, now, is_new_day)

    def finish(self) -> None:
        """Write everything before the server stops."""
        lines = self._gateway.refusals.take(whole=True)
        if lines:
            self._store(lines, self._gateway.clock.now(), False)

    async def _is_durable(self) -> bool:
        """Make all entries of past days durable, and let no more come: a digest covers all entries
        of a day.

        So time advances first. Otherwise the orders of a lost session could still be cancelled as
        of the last entry, which may be yesterday's."""
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

    # -- in a thread

    def _store(self, lines: list[Line], now: int, is_new_day: bool) -> None:
        with self._writing:
            try:
                self._write(lines, now)
                if is_new_day:
                    self._digest(now)
            except (BesideFailed, JournalError, Broken, OverflowError) as error:
                log.error(
                    "the audit log could not be written; the service goes on",
                    extra={"lines": len(lines), "reason": str(error)},
                )
                self._end = None

    def _write(self, lines: list[Line], now: int) -> None:
        refusals = self._gateway.refusals
        at, written = format_time(now), list(lines)
        if self._beside.set_aside:
            written.insert(0, Line(0, at, CUT, aside=self._beside.set_aside))
        if refusals.lost:
            written.append(Line(0, at, LOST, times=refusals.lost))
        try:
            self._end = self._beside.transact(partial(self._append, written))
        except BaseException:
            refusals.lost += sum(line.times for line in lines)
            raise
        self._beside.set_aside, refusals.lost = "", 0

    def _append(self, lines: list[Line], connection: sqlite3.Connection) -> End:
        if self._end is None:
            self._end = end_of_log(connection, logged(connection, self._beginning))
        return append(connection, self._end, lines)

    def _digest(self, now: int) -> None:
        # even if it fails: missing digests are made tomorrow, or after the next start
        today = self._digested = day_of(now)
        with self._journal.reader(archived=True) as reader:
            made = self._beside.transact(
                lambda connection: add_missing(connection, self._beginning, reader, today)
            )
        for digest in made:
            log.info("digest of a day", extra=msgspec.to_builtins(digest))
        self._gateway.refusals.digested_us = now // DAY_US * DAY_US
        self._end = self._beside.transact(partial(self._prune, now))

    def _prune(self, now: int, connection: sqlite3.Connection) -> End:
        """Remove the lines of old days that have a digest. A line records the removal, so that any
        other missing line is evidence of tampering."""
        assert self._end is not None
        keep_days = self._settings.keep_days
        removed = []
        for digest in credible(connection, self._beginning):
            if digest.date < first_kept(now, keep_days) and _remove_lines(connection, digest):
                log.info("refusals of a day were removed", extra={"date": digest.date})
                removed = [
                    Line(0, format_time(now), REMOVED, until=digest.refusals, keep_days=keep_days)
                ]
        return append(connection, self._end, removed)


def _remove_lines(connection: sqlite3.Connection, digest: Digest) -> bool:
    of_that_day = (digest.refusals - digest.lines, digest.refusals)
    removed = connection.execute("DELETE FROM refusals WHERE n > ? AND n <= ?", of_that_day)
    return removed.rowcount > 0
