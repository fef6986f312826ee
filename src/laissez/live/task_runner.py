"""Runs a task against a server until it is done: look, decide, send, in a loop that survives lost
connections and restarts of either side.

Its memory is a file; it learns everything else from the server again. It manages all leases and
orders of its tenant, so there must be none at its first start unless the user lets it adopt them.

Why a crash is harmless: a turn depends on the view and the memory alone, so the next turn repeats
any lost command, and hooks run again until their lease is recorded. What must never happen: a
decision before the first probes, a hook that is skipped, or a budget that waits for a slow probe.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

import msgspec

from laissez.client import AsyncClient, AsyncSession, NotFound
from laissez.live.attending import Attendant, Where, Work
from laissez.live.hooks import LeaseHooks
from laissez.live.memory import MemoryFault, MemoryFile, TaskMemory
from laissez.live.report import Report
from laissez.live.scripts import ScriptFailed, Scripts
from laissez.live.trader import Clock, Trader, wall_clock
from laissez.market.commands import CancelOrder, Relinquish, TenantCommand
from laissez.tenants import EconAdapter, HookError, TenantView
from laissez.tenants.templates import Template, TemplateError
from laissez.tenants.templates.task import Task
from laissez.units import parse_amount

PACE_S: Final = 2.0  # between two decisions without events
AGAIN_S: Final = 0.1  # between two attempts to relinquish everything
LEAVE_S: Final = 2.0  # for the present turn when the runner is stopped


class NoSuchPlace(Exception):
    """The task names a place that the market does not have."""


class NotAlone(Exception):
    """The tenant has leases or orders that this task did not make."""


class TaskRunner:
    """`tell(what, **facts)` is called for every notable event."""

    def __init__(
        self,
        task: Task,
        tenant: str,
        where: Where,
        file: MemoryFile[TaskMemory],
        scripts: Scripts,
        tell: Callable[..., None],
        pace_s: float = PACE_S,
        clock: Clock = wall_clock,
    ) -> None:
        self._task = task
        self._tenant = tenant
        self._where = where
        self._file = file
        self._scripts = scripts
        self._tell = tell
        self._report = Report(tell)
        self._pace_s = pace_s
        self._clock = clock
        self._memory = self._recalled()
        self._app: Template | None = None  # not needed to release everything
        self._news, self._stopped, self._hurried = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._hooks = LeaseHooks(
            task.hooks, scripts, self._memory, tell, self._saved, self._news.set
        )
        self._attendant = Attendant(where, self._memory, self._hooks, self._news, tell)
        self._probing: asyncio.Task[None] | None = None
        self._left: TenantView | None = None  # the last view

    def _recalled(self) -> TaskMemory:
        remembered = self._file.read()
        fresh = TaskMemory(self._task.name, self._tenant, self._where.url, self._clock())
        self._is_new = remembered is None
        for field in ("task", "tenant", "url"):
            here, there = getattr(fresh, field), getattr(remembered or fresh, field)
            if here != there:
                raise MemoryFault(
                    f"{self._file.path} belongs to the {field} {there}, this is {here}. Name"
                    " another place with --state."
                )
        return remembered or fresh

    def stop(self) -> None:
        """End, and keep leases and orders. A second call ends running hooks too."""
        if self._stopped.is_set():
            self._hurried.set()
        self._stopped.set()
        self._news.set()

    async def run(self, adopt: bool = False) -> None:
        """Run until the task is done or `stop` is called."""
        app = self._made()

        async def work(session: AsyncSession, client: AsyncClient) -> None:
            await self._begin(session, client, adopt)
            await self._first_probed(app)
            await self._attendant.catch_up(session)
            await self._until_done(app, self._trader(app, session, client))

        await self._attend(work)

    async def release(self) -> None:
        """Give up everything that the tenant has, and forget the task."""

        async def work(session: AsyncSession, client: AsyncClient) -> None:
            if self._is_new:  # no start hook has run, and none is needed
                self._memory.leases = {
                    lease.id: lease.leaf for lease in (await session.leases()).leases
                }
            await self._attendant.catch_up(session)
            await self._until_released(
                Trader(
                    session,
                    EconAdapter(self._tenant, self._task.make(self._memory.started_at)),
                    clock=self._clock,
                )
            )

        await self._attend(work)
        self._file.forget()

    async def dry_run(self) -> list[TenantCommand]:
        """The commands that the first decision would send now."""
        app = self._made()
        async with self._where.client() as client, self._where.session() as session:
            if self._is_new:
                self._memory.spent_before = await _owed(client)
            await self._probe(app)
            view = await self._trader(app, session, client).look()
            return EconAdapter(self._tenant, app, self._task.settings).decide(view)

    def _made(self) -> Template:
        self._app = self._task.make(self._memory.started_at, self._memory.application or None)
        return self._app

    async def _attend(self, work: Work) -> None:
        """Work until it is done. If stopped, finish the present turn unless the server is away."""
        attending = asyncio.ensure_future(self._attendant.attend(work))
        stopped = asyncio.ensure_future(self._stopped.wait())
        try:
            await asyncio.wait([attending, stopped], return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait([attending], timeout=LEAVE_S)
            if attending.done():
                await attending
        finally:
            others = [attending, stopped, *([] if self._probing is None else [self._probing])]
            for each in others:
                each.cancel()
            await asyncio.wait(others)
            self._report.left(self._left)
        await self._hooks_through()
        if not self._is_new:
            self._remember()

    async def _hooks_through(self) -> None:
        """Let the user's hooks finish, unless the user stops them."""
        if self._scripts.count:
            self._tell(
                "waiting", hooks=str(self._scripts.count), hint="Ctrl-C again leaves at once"
            )
        either = [
            asyncio.ensure_future(self._scripts.drain()),
            asyncio.ensure_future(self._hurried.wait()),
        ]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        for each in either:
            each.cancel()
        await asyncio.wait(either)

    async def _begin(self, session: AsyncSession, client: AsyncClient, adopt: bool) -> None:
        """At the first start: check that the tenant has nothing, and note its debt."""
        if not self._is_new:
            return
        await self._check_scopes(client)
        leases, orders = await asyncio.gather(session.leases(), session.orders())
        if (leases.leases or orders.orders) and not adopt:
            raise NotAlone(
                f"the tenant already has {len(leases.leases)} leases and {len(orders.orders)} open"
                " orders. A task manages all that its tenant has: give it a tenant of its own, or"
                " start it with --adopt to let it take these over"
            )
        self._memory.spent_before = await _owed(client)
        self._is_new = False
        self._remember()

    async def _check_scopes(self, client: AsyncClient) -> None:
        """Fail early: the server would refuse every order that names an unknown scope."""
        for scope in self._task.scopes:
            try:
                _ = [node async for node in client.topology(scope)]
            except NotFound:
                roots = ", ".join([node.path async for node in client.topology()])
                raise NoSuchPlace(
                    f"the task names {scope}, and there is no such place here; there are {roots}"
                    " and what is below them"
                ) from None

    def _trader(self, app: Template, session: AsyncSession, client: AsyncClient) -> Trader:
        async def spent() -> int:
            return await _owed(client) - self._memory.spent_before

        adapter = EconAdapter(self._tenant, app, self._task.settings)
        return Trader(
            session, adapter, None if self._task.settings.budget is None else spent, self._clock
        )

    async def _until_done(self, app: Template, trader: Trader) -> None:
        while not self._stopped.is_set():
            self._news.clear()  # an event during the turn calls for another turn
            try:
                if await self._turn(app, trader):
                    self._tell("done")
                    return
            except HookError as error:
                self._tell("cannot_decide", why=str(error))
            self._remember()
            # a slow probe must not delay the check of the budget
            if self._probing is None or self._probing.done():
                self._probing = asyncio.create_task(self._probe(app))
            with contextlib.suppress(TimeoutError):
                # not `wait_for`, which loses a cancellation that comes together with news
                async with asyncio.timeout(self._pace_s):
                    await self._news.wait()
        self._left = await trader.look()

    async def _turn(self, app: Template, trader: Trader) -> bool:
        """Look, decide, send. Returns whether the task is over."""
        self._left = view = await trader.look()
        decided = trader.adapter.decide(view)
        self._report.outcomes(view, await trader.send(decided, view.now))
        self._report.budget(self._task.settings, view)
        return app.is_done(view.now) and not (view.leases or view.orders or decided)

    async def _until_released(self, trader: Trader) -> None:
        while True:
            self._left = view = await trader.look()
            if not (view.leases or view.orders):
                self._tell("given_up", task=self._task.name)
                return
            cancelled = [CancelOrder(self._tenant, order.order) for order in view.orders]
            given_up = [Relinquish(self._tenant, lease.lease) for lease in view.leases]
            self._report.outcomes(view, await trader.send([*cancelled, *given_up], view.now))
            await asyncio.sleep(AGAIN_S)  # a command may have been refused

    async def _first_probed(self, app: Template) -> None:
        """Run the probes once before the first decision, but not after a lost connection."""
        if self._probing is None:
            self._probing = asyncio.create_task(self._probe(app))
            await asyncio.wait([self._probing])

    async def _probe(self, app: Template) -> None:
        for name, line in msgspec.structs.asdict(self._task.probes).items():
            if line is not None:
                try:
                    app.probed(name, await self._scripts.probe(name, line), self._clock())
                    self._report.over(f"probe {name}")
                except (ScriptFailed, TemplateError) as error:
                    self._report.once(f"probe {name}", "probe_failed", why=str(error))

    def _saved(self) -> None:
        """The hook for an approaching limit has saved the work: the node is worth less."""
        if self._app is not None:
            self._app.checkpointed(self._clock())
            self._news.set()

    def _remember(self) -> None:
        if self._app is not None:
            self._memory.application = self._app.state()
        self._file.write(self._memory)


async def _owed(client: AsyncClient) -> int:
    """The tenant's debt in micro-dollars."""
    return parse_amount((await client.bill()).total)
