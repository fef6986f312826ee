"""The work of a crash test: every holder asks without pause until the server is gone; then
everything unanswered is asked again."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Awaitable, Iterable
from contextlib import suppress

from laissez.exchange.commands import OPERATOR
from laissez_check.crashes.clients import Lost, Rest, Session
from laissez_check.crashes.ledger import Asked, Ledger
from laissez_check.crashes.requests import OF_REST, Drawer, another, another_of_operator

WORKERS_EACH = 2
REPEATED = 6  # answered requests of each holder that are sent again after a crash
CONFLICTS = 2


class Load:
    def __init__(
        self,
        draw: random.Random,
        ledger: Ledger,
        rest: dict[str, Rest],
        sessions: dict[str, Session],
        down: asyncio.Event,
    ) -> None:
        self._draw = draw
        self._drawer = Drawer(draw)
        self._ledger = ledger
        self._rest = rest
        self._sessions = sessions
        self._down = down
        self._tasks: list[asyncio.Task[None]] = []
        self._recent: defaultdict[str, list[Asked]] = defaultdict(list)

    def begin(self) -> None:
        """Have everybody work, until the server is gone; `ended` waits for that."""
        holders = [holder for holder in self._rest for _ in range(WORKERS_EACH)]
        self._begin(self._work(holder) for holder in holders)

    def begin_repeating(self) -> None:
        self._begin([self.repeat()])

    def _begin(self, work: Iterable[Awaitable[None]]) -> None:
        self._tasks = [asyncio.create_task(_until_lost(one)) for one in work]

    async def ended(self) -> None:
        tasks, self._tasks = self._tasks, []
        _raise_first(await asyncio.gather(*tasks, return_exceptions=True))

    # -- working

    async def _work(self, holder: str) -> None:
        while not self._down.is_set():
            if self._draw.random() < 0.1:
                kind = self._draw.choice(("orders", "leases"))
                for one in await self._rest[holder].pages(f"/v1/{kind}"):
                    self._ledger.shown_ids.add((one["tenant"] or holder, kind, one["id"]))
            else:
                await self._send(self._new(holder))

    def _new(self, holder: str) -> Asked:
        has = self._ledger.holdings[holder]
        is_operator = holder == OPERATOR
        command = self._drawer.for_operator() if is_operator else self._drawer.for_tenant(has)
        asked = self._ledger.ask(self._drawer.asked(holder, command))
        self._recent[holder].append(asked)
        return asked

    async def _send(self, asked: Asked) -> None:
        """By any way that can ask for it."""
        session = self._sessions.get(asked.holder)
        if session is None or asked.kind in OF_REST or self._draw.random() < 0.5:
            await self._rest[asked.holder].send(asked)
        else:
            await session.send(asked)

    # -- after a crash

    async def repeat(self) -> None:
        """Send again what was not answered, and some of what was."""
        work = (self._repeat_of(holder) for holder in self._rest)
        _raise_first(await asyncio.gather(*work, return_exceptions=True))

    async def _repeat_of(self, holder: str) -> None:
        answered = [asked for asked in self._recent[holder] if asked.answer is not None]
        older = [asked for asked in self._ledger.of(holder) if asked.answer is not None]
        sample = [*self._some(answered, REPEATED), *self._some(older, REPEATED // 2)]
        for asked in [*self._ledger.unanswered(holder), *sample]:
            await self._send(asked)
        self._recent[holder] = []
        if holder in self._sessions:
            await self._sessions[holder].drain()

    def _some(self, asked: list[Asked], most: int) -> list[Asked]:
        return self._draw.sample(asked, min(most, len(asked)))

    async def provoke_conflicts(self) -> None:
        """The same id for something else must be turned away."""
        for holder, rest in self._rest.items():
            known = [asked for asked in self._ledger.of(holder) if asked.is_checked]
            known = [asked for asked in known if asked.kind not in ("run", "stop")]
            for asked in self._some(known, CONFLICTS):
                is_operator = holder == OPERATOR
                other = another_of_operator() if is_operator else another(holder, asked.command)
                found = (await rest.ask(asked.id, other)).json().get("code", "carried out")
                if found != "idempotency_conflict":
                    self._ledger.breaks(
                        f"{asked} was sent again as {other}, which must be a conflict and was:"
                        f" {found}"
                    )


def _raise_first(outcomes: list[BaseException | None]) -> None:
    """Once all have come to their end."""
    for outcome in outcomes:
        if outcome is not None:
            raise outcome


async def _until_lost(work: Awaitable[None]) -> None:
    with suppress(Lost):
        await work
