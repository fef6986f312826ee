"""The parts of the service over one open data folder: gateway, API, sessions and background tasks.

The service neither listens nor handles signals: `serve` puts it behind a socket, and a simulated
world behind its own network.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from laissez.journal import GroupCommit
from laissez.server import maintenance
from laissez.server.audit.writer import AuditWriter
from laissez.server.background import every
from laissez.server.beside import FILE, Beside
from laissez.server.data_folder import Opened
from laissez.server.gateway import Commit, Gateway
from laissez.server.http.app import make_app
from laissez.server.http.static import FOLDER
from laissez.server.rate_limits import StreamQuota
from laissez.server.rates import sample_rates
from laissez.server.retention import Archiver, MakeCopy, Snapshotter, by_fork
from laissez.server.samples import SAMPLE_EVERY_S
from laissez.server.settings import Settings
from laissez.server.signins import SignIns
from laissez.server.webhooks.dispatcher import Webhooks
from laissez.server.websocket.sessions import Sessions
from laissez.wire.problems import ProblemError
from laissez.wire.session import CLOSE_FAILED, CLOSE_STOPPING

FAREWELL_S, FAREWELL_LOOK_S = 2, 0.005  # for closing sessions when the service stops

log = logging.getLogger("laissez.server")


class Service:
    """Belongs to one event loop. Call `begin` before the first request and `say_farewell` before
    the last one ends, then `stop_tasks`, `end` and `close`."""

    def __init__(
        self,
        settings: Settings,
        opened: Opened,
        commit: Commit = GroupCommit,
        make_copy: MakeCopy = by_fork,
        files: Path = FOLDER,
    ) -> None:
        folder = Path(settings.data.folder)
        self._settings = settings
        self._journal = opened.journal
        self.gateway = Gateway(
            opened.exchange,
            opened.journal,
            opened.clock,
            settings.limits,
            opened.event_log,
            commit,
        )
        self.gateway.on_failure = self._fail
        self.beside = Beside(folder / FILE, opened.journal.identity)
        self.quota = StreamQuota()
        self.sessions = Sessions(self.gateway, self.quota)
        self.snapshotter = Snapshotter(self.gateway, opened.journal, settings.journal, make_copy)
        self.archiver = Archiver(self.gateway, opened.journal, settings.journal.retain_us)
        self.webhooks = Webhooks(self.gateway, settings.webhooks, folder, self.beside)
        self.signins = SignIns(self.gateway, self.beside)
        self.app = make_app(
            self.gateway,
            settings,
            self.quota,
            self.sessions,
            signins=self.signins,
            files=files,
            webhooks=self.webhooks,
        )
        self.audit = AuditWriter(self.gateway, opened.journal, self.beside, settings.audit)
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self) -> None:
        """Clean up after a crash, and start the background tasks."""
        orphans = maintenance.cancel_orphans(self.gateway, maintenance.last_done(self.gateway))
        if orphans:
            log.info("cancelled orders whose sessions were lost", extra={"orders": orphans})
        self._tasks = [asyncio.create_task(work) for work in self._background()]
        for task in self._tasks:
            task.add_done_callback(partial(_note_end, self.gateway))

    def _background(self) -> list[Coroutine[Any, Any, None]]:
        gateway, settings = self.gateway, self._settings
        bookkeeper = maintenance.Bookkeeper(gateway, settings.books)
        return [
            every(maintenance.HOLDS_EVERY_S, gateway, partial(maintenance.end_holds, gateway)),
            every(maintenance.BOOKS_EVERY_S, gateway, bookkeeper.close),
            every(settings.stream.rate_every_s, gateway, partial(sample_rates, gateway)),
            every(SAMPLE_EVERY_S, gateway, self.app.site.samples.take),
            self.snapshotter.run(),
            self.archiver.run(),
            self.sessions.keep_alive(),
            self.audit.run(),
            self.webhooks.run(),
            self.signins.run(),
        ]

    async def say_farewell(self) -> None:
        """Accept nothing new, and end sessions and streams with a reason. Clients that do not read
        get a short wait."""
        self.gateway.stopping = True
        self.gateway.end_streams(CLOSE_STOPPING, "stopping")
        self.app.site.previews.give_up()
        if self.gateway.failure is None:
            # Now, not at the next start: a hold may end before, and an orphan win a lease.
            maintenance.cancel_orphans(self.gateway, self.gateway.clock.now())
        log.info("stopping")
        with suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_S):
                while len(self.quota):
                    await asyncio.sleep(FAREWELL_LOOK_S)

    async def stop_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def end(self) -> None:
        """Wait until everything is durable, and write a snapshot for a quick start."""
        with suppress(Exception):
            await self.gateway.all_durable()
        self.snapshotter.take_last()
        self.audit.finish()
        await self.signins.flush()

    def close(self) -> None:
        self.gateway.close()
        self._journal.close()
        self.beside.close()

    def _fail(self, reason: str) -> None:
        log.critical("nothing is accepted any more", extra={"reason": reason})
        self.gateway.end_streams(CLOSE_FAILED, "journal_failed")


def _note_end(gateway: Gateway, task: asyncio.Task[None]) -> None:
    """Stop the service if a background task ends: that is a bug, unless the journal has failed."""
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, ProblemError):
        log.critical("a task of the server ended", exc_info=error)
        gateway.fail(f"a task of the server ended with {type(error).__name__}")
