"""All holders of a market with their clients, everything that they were told, and the checks of it.
A simulated world and a crash test each subclass this, and add the service and its faults."""

from __future__ import annotations

import asyncio
from collections import deque
from pathlib import Path
from random import Random

from laissez.exchange.commands import OPERATOR
from laissez.server.audit.verify import verify
from laissez_check.bills.compare import audit_bills
from laissez_check.clients.acts import Acts
from laissez_check.clients.holder import Habits, Holder
from laissez_check.clients.inspector import Inspector
from laissez_check.clients.journal import Truth, compare
from laissez_check.clients.ledger import Asked, Json, Ledger
from laissez_check.finding import Finding

SETTLES_WITHIN_S = 120.0
STORY_LINES = 30


class Population:
    """`began` has, for each run of the service, the number of events before it."""

    def __init__(
        self, habits: Habits, url: str, folder: Path, draw: Random, began: list[int]
    ) -> None:
        self.habits = habits
        self.url = url
        self.draw = draw
        self.began = began
        self.ledger = Ledger((OPERATOR, *habits.forest.tenants))
        self.folder = folder
        self.truth = Truth(folder)
        self.holders: dict[str, Holder] = {}
        self.inspector = Inspector(
            self.ledger, self.truth, self.holders, habits.forest.leaves, began
        )
        # Holder and id of requests that a client forgot, and of those that must never take effect.
        self.abandoned: set[tuple[str, str]] = set()
        self.forbidden: set[tuple[str, str]] = set()
        self.acts = Acts(self)
        self.story: deque[str] = deque(maxlen=STORY_LINES)  # the latest of what happened

    def tell(self, what: str) -> None:
        self.story.append(what)

    @property
    def run(self) -> int:
        """The number of the current run of the service."""
        return len(self.began) - 1

    def counted(self) -> dict[str, int]:
        return {
            "requests": len(self.ledger.asked),
            "answers": self.ledger.answers,
            "repeats": self.ledger.repeats,
            "entries": self.truth.last,
            "events": sum(len(seen) for seen in self.ledger.seen.values()),
            "bills": self.inspector.bills,
            "quotes": self.inspector.quotes,
        }

    def move_in(self, name: str, key: str) -> Holder:
        holder = self.holders[name] = Holder(self, name, key)
        return holder

    def stored_events(self, holder: str, after: int) -> list[Json]:
        """Events from the journal, for clients that come too late to ask the service."""
        self.truth.read_on()
        return self.truth.streams.get(holder, [])[after:]

    def known(self, holder: str) -> list[Asked]:
        """The requests of a holder, except those that its client forgot."""
        abandoned = self.abandoned
        return [one for one in self.ledger.of(holder) if (holder, one.id) not in abandoned]

    # -- without faults

    async def settle(self) -> None:
        """Repeat requests until all are answered, in sessions that are up again."""
        for holder in self.holders.values():
            if holder.has_new_key:
                await holder.restart(forgets=False)
            await self.settle_session(holder)
        for holder in self.holders.values():
            await self._settle_requests(holder)
        self.ledger.check()

    async def settle_session(self, holder: Holder) -> None:
        while not holder.has_session:
            await holder.close_session(forgets=False)
            await holder.open_session(reconnect_timeout_s=SETTLES_WITHIN_S)
            await asyncio.sleep(0 if holder.has_session else 0.5)

    async def _settle_requests(self, holder: Holder) -> None:
        while left := [asked for asked in self.known(holder.name) if asked.answer is None]:
            # An order that goes with its session needs one, which may have given up by now.
            await self.settle_session(holder)
            for asked in left:
                await self.acts.send(holder, asked)
            await asyncio.sleep(0.1)

    # -- the data folder

    def compare_journal(self) -> None:
        self.truth.read_on()
        compare(self.truth, self.ledger)

    def audit(self) -> None:
        """Verify the record and all bills in the folder of a stopped service."""
        verdict = verify(self.folder)
        if not verdict.ok:
            raise Finding(f"D3: {verdict.problems[0]}")
        report = audit_bills(self.folder)
        if not report.ok:
            raise Finding(f"A2: {report.findings[0] if report.findings else report.unknown}")
