"""The work of a crash test: every holder asks without pause until the server is gone; then
everything unanswered is asked again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress

from laissez.exchange.commands import OPERATOR
from laissez_check.crashes.clients import Lost, Rest
from laissez_check.crashes.ledger import Asked, Json, Ledger
from laissez_check.crashes.requests import OF_REST, SCOPES, Drawer, another, another_of_operator
from laissez_check.crashes.sessions import HandWritten, Ours

WORKERS_EACH = 2
REPEATED = 6  # answered requests of each holder that are sent again after a crash
CONFLICTS = 2


class Load:
    def __init__(
        self,
        draw: random.Random,
        ledger: Ledger,
        rest: dict[str, Rest],
        sessions: dict[str, HandWritten | Ours],
        down: asyncio.Event,
    ) -> None:
        self._draw = draw
        self._drawer = Drawer(draw)
        self._ledger = ledger
        self._rest = rest
        self._sessions = sessions
        self._down = down
        self._tasks: list[asyncio.Task[None]] = []
        self._recent: dict[str, list[Asked]] = {holder: [] for holder in rest}

    async def work_until(
        self, moment: Awaitable[None], work: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Have everybody work; returns at the moment, while they still do: `rest` waits for their
        end once the server is gone."""
        if work is not None:
            self._tasks = [asyncio.create_task(_until_lost(work()))]
        else:
            self._tasks = [
                asyncio.create_task(_until_lost(self._work(holder)))
                for holder in self._rest
                for _ in range(WORKERS_EACH)
            ]
        await moment

    async def rest(self) -> None:
        tasks, self._tasks = self._tasks, []
        _raise_first(await asyncio.gather(*tasks, return_exceptions=True))

    # -- working

    async def _work(self, holder: str) -> None:
        while not self._down.is_set():
            if self._draw.random() < 0.1:
                await self._look(holder)
            else:
                await self._send_new(holder)

    async def _send_new(self, holder: str) -> None:
        session = self._sessions[holder]
        if isinstance(session, HandWritten) and self._draw.random() < 0.2:
            commands = [
                command
                for _ in range(5)
                if (command := self._command(holder))["type"] not in OF_REST
            ]
            asked = [self._ask(holder, command, session.goes_with_orders) for command in commands]
            if asked:
                await session.send_all(asked)
            return
        command = self._command(holder)
        if command["type"] in OF_REST or self._draw.random() < 0.5:
            await self._rest[holder].send(self._ask(holder, command, False))
        else:
            await session.send(self._ask(holder, command, session.goes_with_orders))

    def _command(self, holder: str) -> Json:
        return (
            self._drawer.for_operator()
            if holder == OPERATOR
            else self._drawer.for_tenant(self._ledger.holdings[holder])
        )

    def _ask(self, holder: str, command: Json, of_session: bool) -> Asked:
        asked = self._ledger.ask(self._drawer.asked(holder, command, of_session))
        self._recent[holder].append(asked)
        return asked

    async def _look(self, holder: str) -> None:
        session, rest = self._sessions[holder], self._rest[holder]
        if isinstance(session, HandWritten) and self._draw.random() < 0.5:
            await session.look(self._draw.choice(("gpu", "cpu") if holder != OPERATOR else SCOPES))
            return
        kind = self._draw.choice(("orders", "leases"))
        for one in await rest.pages(f"/v1/{kind}"):
            self._ledger.shown_ids.add((one["tenant"] or holder, kind, one["id"]))

    # -- after a crash

    async def repeat(self) -> None:
        """Send again what was not answered, and some of what was; each by any way that can ask for
        the same."""
        outcomes = await asyncio.gather(
            *(self._repeat_of(holder) for holder in self._rest), return_exceptions=True
        )
        _raise_first(outcomes)

    async def _repeat_of(self, holder: str) -> None:
        answered = [asked for asked in self._recent[holder] if asked.answer is not None]
        older = [
            asked
            for asked in self._ledger.asked.values()
            if asked.holder == holder and asked.answer is not None
        ]
        sample = [*self._some(answered, REPEATED), *self._some(older, REPEATED // 2)]
        for asked in [*self._ledger.unanswered(holder), *sample]:
            await self._send_again(asked)
        self._recent[holder] = []
        session = self._sessions[holder]
        if isinstance(session, Ours):
            await session.drain()

    async def _send_again(self, asked: Asked) -> None:
        session = self._sessions[asked.holder]
        if asked.of_session or (
            asked.kind not in OF_REST
            and self._may_cross(asked, session)
            and self._draw.random() < 0.5
        ):
            await session.send(asked)
        else:
            await self._rest[asked.holder].send(asked)

    def _may_cross(self, asked: Asked, session: HandWritten | Ours) -> bool:
        """An order that goes with its session is another one than an order that does not."""
        return not (session.goes_with_orders and asked.kind == "place_order")

    def _some(self, asked: list[Asked], most: int) -> list[Asked]:
        return self._draw.sample(asked, min(most, len(asked)))

    async def provoke_conflicts(self) -> None:
        """The same id for something else must be turned away."""
        for holder, rest in self._rest.items():
            known = [
                asked
                for asked in self._ledger.asked.values()
                if asked.holder == holder and asked.is_checked and asked.kind not in ("run", "stop")
            ]
            for asked in self._some(known, CONFLICTS):
                other = (
                    another_of_operator() if holder == OPERATOR else another(holder, asked.command)
                )
                session = self._sessions[holder]
                if (
                    isinstance(session, HandWritten)
                    and other["type"] not in OF_REST
                    and self._draw.random() < 0.5
                ):
                    found = (await session.conflict(asked.id, other)).get("code", "carried out")
                else:
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
