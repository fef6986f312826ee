"""A task, run against a server until it is done: look, decide, send, in a circle that outlives lost connections and restarts of either side.

What it must not forget is in its memory file; everything else it learns anew from the server. It manages all leases and orders of its tenant, so at
its first start there must be none, unless it is told to adopt them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Final, TypeAlias

import msgspec

from laissez.client import (
    AsyncClient,
    AsyncSession,
    ConnectionFailed,
    EventsMissed,
    HistoryGone,
    LaissezError,
    OutcomeUnknown,
    RateLimited,
    Unavailable,
    UnexpectedAnswer,
)
from laissez.live.hooks import LeaseHooks
from laissez.live.memory import MemoryFile
from laissez.live.scripts import ScriptFailed, Scripts
from laissez.live.task_memory import TaskMemory
from laissez.live.trader import Outcome, Trader, wall_clock
from laissez.market.commands import CancelOrder, Relinquish, TenantCommand
from laissez.tenants import EconAdapter, HookError
from laissez.tenants.templates import TemplateError
from laissez.tenants.templates.task import Task
from laissez.wire.events import Numbered

PACE_S: Final = 2.0  # between two looks, if nothing happens
PATIENCE_S: Final = 30.0  # for the session to mend itself; after that a new one is made
AGAIN_S, AGAIN_S_MAX = 1.0, 30.0  # between two attempts to reach a server that is away
AWAY: Final = (ConnectionFailed, OutcomeUnknown, Unavailable, UnexpectedAnswer, RateLimited)


Work: TypeAlias = Callable[[Trader], Awaitable[None]]


class NotAlone(Exception):
    """The tenant has leases or orders that this task did not make."""


class Where:
    """The server and the key; `repr` shows neither."""

    def __init__(self, url: str, key: str | None, insecure: bool = False) -> None:
        self.url, self.key, self.insecure = url, key, insecure

    def session(self, resume_after: int | None) -> AsyncSession:
        return AsyncSession(self.url, self.key, resume_after=resume_after, patience_s=PATIENCE_S, insecure=self.insecure)

    def client(self) -> AsyncClient:
        return AsyncClient(self.url, self.key, insecure=self.insecure)


class TaskRunner:
    """`tell(what, **facts)` is called for everything worth knowing."""

    def __init__(
        self, task: Task, tenant: str, where: Where, file: MemoryFile[TaskMemory], scripts: Scripts, tell: Callable[..., None], pace_s: float = PACE_S
    ) -> None:
        self._task = task
        self._where = where
        self._file = file
        self._scripts = scripts
        self._tell = tell
        self._pace_s = pace_s
        remembered = file.read()
        self._is_new = remembered is None
        self._memory = remembered or TaskMemory(task.name, wall_clock())
        self._app = task.make(self._memory.started_at, self._memory.application or None)
        self._adapter = EconAdapter(tenant, self._app, task.terms)
        self._hooks = LeaseHooks(task.hooks, scripts, self._memory, tell, self._saved, self._news_came)
        self._news = asyncio.Event()
        self._seen = 0  # the number of the last event that was read
        self._stopping = False

    def stop(self) -> None:
        """Leave everything as it is and end."""
        self._stopping = True
        self._news.set()

    async def run(self, adopt: bool = False) -> None:
        """Until the task is done, or `stop` is called."""
        await self._trade(self._until_done, adopt)

    async def release(self) -> None:
        """Give up everything that the task has, and forget it."""
        await self._trade(self._until_released, adopt=True)
        self._file.forget()

    async def dry_run(self) -> list[TenantCommand]:
        """What would be sent now."""
        async with self._where.client() as client, self._where.session(None) as session:
            await self._ask_probes()
            view = await self._trader(session, client).look()
            self._app.observe(view)
            return self._adapter.decide(view)

    async def _trade(self, work: Work, adopt: bool) -> None:
        pause_s = AGAIN_S
        while True:
            try:
                async with self._where.client() as client, self._where.session(self._memory.last_event) as session:
                    pause_s = AGAIN_S
                    await self._begin(session, client, adopt)
                    await self._in_session(session, self._trader(session, client), work)
                    break
            except HistoryGone:
                self._memory.last_event = None
            except AWAY as error:
                self._tell("server_away", why=str(error))
                await self._sleep(pause_s)
                pause_s = min(AGAIN_S_MAX, 2 * pause_s)
            if self._stopping:
                break
        await self._scripts.drain()
        self._remember()

    async def _begin(self, session: AsyncSession, client: AsyncClient, adopt: bool) -> None:
        """At the first start: see that nothing is there, and from where spending counts."""
        self._seen = session.last_event or 0
        if not self._is_new:
            return
        leases, orders = await asyncio.gather(session.leases(), session.orders())
        if (leases.leases or orders.orders) and not adopt:
            raise NotAlone(
                f"the tenant already has {len(leases.leases)} leases and {len(orders.orders)} open orders. A task manages all that its tenant has: "
                "give it a tenant of its own, or start it with --adopt to let it take these over"
            )
        self._memory.spent_before = await _owed(client)
        self._is_new = False
        self._remember()

    def _trader(self, session: AsyncSession, client: AsyncClient) -> Trader:
        async def spent() -> int:
            return await _owed(client) - self._memory.spent_before

        return Trader(session, self._adapter, None if self._task.terms.budget is None else spent)

    async def _in_session(self, session: AsyncSession, trader: Trader, work: Work) -> None:
        reading = asyncio.create_task(self._read(session))
        working = asyncio.ensure_future(self._caught_up(session, trader, work))
        try:
            await asyncio.wait([reading, working], return_when=asyncio.FIRST_COMPLETED)
            await (working if working.done() else reading)
        finally:
            for each in (reading, working):
                each.cancel()
            await asyncio.wait([reading, working])

    async def _read(self, session: AsyncSession) -> None:
        """Every event, in order; one that was missed is made up for by looking."""
        while True:
            try:
                async for told in session.events():
                    self._hooks.heard(told.event if isinstance(told, Numbered) else told)
                    if isinstance(told, Numbered):
                        self._seen = self._memory.last_event = told.n
                    self._news_came()
                return
            except EventsMissed as missed:
                self._tell("events_missed", why=str(missed))
                self._hooks.reconcile((await session.leases()).leases)

    async def _caught_up(self, session: AsyncSession, trader: Trader, work: Work) -> None:
        """What happened while nobody listened comes as events; what is then still not known comes from the list of leases."""
        listed = await session.leases()
        while self._seen < listed.n:
            await self._next_news()
        self._hooks.reconcile(listed.leases)
        self._tell("connected", leases=str(len(listed.leases)))
        await work(trader)

    async def _until_done(self, trader: Trader) -> None:
        while not self._stopping:
            await self._ask_probes()
            try:
                if await self._turn(trader):
                    self._tell("done")
                    return
            except HookError as error:
                self._tell("cannot_decide", why=str(error))
            self._remember()
            await self._sleep(self._pace_s)

    async def _turn(self, trader: Trader) -> bool:
        """Look, decide, send; whether the task is over."""
        view = await trader.look()
        self._app.observe(view)
        decided = self._adapter.decide(view)
        self._tell_outcomes(await trader.send(decided, view.now))
        return self._app.is_done(view.now) and not (view.leases or view.orders or decided)

    async def _until_released(self, trader: Trader) -> None:
        while True:
            view = await trader.look()
            if not (view.leases or view.orders):
                return
            name = self._adapter.tenant
            cancelled = [CancelOrder(name, order.order) for order in view.orders]
            self._tell_outcomes(await trader.send([*cancelled, *(Relinquish(name, lease.leaf) for lease in view.leases)], view.now))

    async def _ask_probes(self) -> None:
        for name, line in msgspec.structs.asdict(self._task.probes).items():
            if line is not None:
                try:
                    self._app.probed(name, await self._scripts.probe(name, line), wall_clock())
                except (ScriptFailed, TemplateError) as error:
                    self._tell("probe_failed", why=str(error))

    def _tell_outcomes(self, outcomes: list[Outcome]) -> None:
        for command, outcome in outcomes:
            if isinstance(outcome, AWAY):
                raise outcome
            if isinstance(outcome, LaissezError):
                self._tell("refused", command=type(command).__name__, why=str(outcome))
            else:
                self._tell("sent", command=type(command).__name__)

    def _saved(self) -> None:
        """The hook on an approaching limit succeeded: the work is safe, and the node may go for less."""
        self._app.checkpointed(wall_clock())
        self._news_came()

    def _news_came(self) -> None:
        self._news.set()

    async def _next_news(self) -> None:
        self._news.clear()
        await self._news.wait()

    async def _sleep(self, seconds: float) -> None:
        """Until something happens, at most so long."""
        self._news.clear()
        if not self._stopping:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), seconds)

    def _remember(self) -> None:
        self._memory.application = self._app.state()
        self._file.write(self._memory)


async def _owed(client: AsyncClient) -> int:
    """All that the tenant owes, in micro-dollars."""
    return int(Decimal((await client.bill()).total) * 1_000_000)
