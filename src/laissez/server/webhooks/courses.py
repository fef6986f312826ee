"""The courses of all webhooks, kept up with the registry and with the file that says where each of
them stands."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from laissez.server.desk import Desk
from laissez.server.webhooks.course import Course
from laissez.server.webhooks.keeping import Cursor, Keeping
from laissez.server.webhooks.registry import WebhookRecord

KEEP_EVERY_S = 1.0  # how often the cursors are written, at most

log = logging.getLogger("laissez.webhooks")


class Courses:
    def __init__(self, desk: Desk, keeping: Keeping) -> None:
        self._desk = desk
        self._registry = desk.exchange.webhooks
        self._keeping = keeping
        # in the file, and not taken up yet; None: not looked for
        self._found: dict[str, Cursor] | None = None
        self._is_lost = False  # there should have been something in the file
        self._seen = -1  # up to which change of the registry
        self._kept_at = float("-inf")
        self.all: dict[str, Course] = {}
        self.unkept = False  # whether the file is behind

    @property
    def is_behind(self) -> bool:
        return self._seen != self._registry.changes

    def of(self, record: WebhookRecord) -> Course:
        """As it is, or will be once it is taken up."""
        course = self.all.get(record.id)
        return (
            course
            if course is not None and course.cursor.starts == record.starts
            else self._new(record)
        )

    async def keep_up(self, turn: int, end: Callable[[str], None]) -> None:
        """Take up new webhooks and those that start again, which wait since this turn; `end` is
        called where a delivery under way is to end."""
        self._seen = self._registry.changes
        over = [id for id, course in self.all.items() if not self._is_current(course)]
        for id in over:
            del self.all[id]
            self.unkept = True
            end(id)  # before its letters go: it would write more of them
        for id in over:
            if id not in self._registry.live:
                with suppress(OSError):
                    await self._keeping.forget(id)
        for record in list(self._registry.live.values()):
            if record.id not in self.all:
                self.all[record.id] = course = self._new(record)
                course.served = turn
                await self._revive_letters(course)
        self._found, self._is_lost = {}, False

    async def keep(self, now: bool = False) -> None:
        """Write where they stand, not too often unless it must be now."""
        loop = asyncio.get_running_loop()
        if not self.unkept or (not now and loop.time() < self._kept_at + KEEP_EVERY_S):
            return
        self.unkept = False
        self._kept_at = loop.time()
        try:
            await self._keeping.keep_cursors({id: course.cursor for id, course in self.all.items()})
        except asyncio.CancelledError:
            self.unkept = True  # nobody waits for it any more, so nobody knows
            raise
        except OSError as error:
            self.unkept = True
            log.warning(
                "where webhooks stand could not be written", extra={"reason": error.strerror}
            )

    def _is_current(self, course: Course) -> bool:
        record = self._registry.live.get(course.record.id)
        return record is not None and course.cursor.starts == record.starts

    def _new(self, record: WebhookRecord) -> Course:
        return Course(record, self._cursor(record))

    def _cursor(self, record: WebhookRecord) -> Cursor:
        if self._found is None:
            self._found = self._find()
        found = self._found.get(record.id)
        latest = self._desk.latest(record.holder)
        if (
            found is not None
            and (found.starts, found.started_at) == (record.starts, record.started_at)
            and found.delivered <= latest
        ):
            return self._with_letters(record.id, found)
        after = record.after
        if self._is_lost or (found is not None and found.starts >= record.starts):
            # Of what the history no longer has nobody knows here whether it was delivered.
            after = max(after, self._desk.history.gone_until(record.holder, latest))
        letters = self._keeping.letters(record.id)
        return Cursor(
            record.starts, record.started_at, after, 0, len(letters.kept), letters.dropped
        )

    def _with_letters(self, id: str, found: Cursor) -> Cursor:
        """They are written before the cursor tells of them, so there can be more of them, and not
        fewer."""
        if found.letters:
            letters = self._keeping.letters(id)
            if len(letters.kept) + letters.dropped < found.letters + found.dropped:
                log.warning(
                    "dead letters of a webhook are lost",
                    extra={"webhook": id, "letters": found.letters - len(letters.kept)},
                )
            found.letters, found.dropped = len(letters.kept), letters.dropped
        return found

    def _find(self) -> dict[str, Cursor]:
        found = self._keeping.cursors()
        self._is_lost = bool(self._registry.live) and not found
        if self._is_lost:
            log.warning(
                "where webhooks stand is not known; they start again from their creation, or as far"
                " back as events go"
            )
        return found

    async def _revive_letters(self, course: Course) -> None:
        """Where it starts again, dead letters of what is sent again are no longer dead; what left
        the history is not sent."""
        cursor, record = course.cursor, course.record
        if cursor.letters and cursor.delivered == record.after:
            gone_until = self._desk.history.gone_until(
                record.holder, self._desk.latest(record.holder)
            )
            with suppress(OSError):
                kept = await self._keeping.drop_letters(
                    record.id, max(cursor.delivered, gone_until)
                )
                cursor.letters, cursor.dropped = len(kept.kept), kept.dropped
