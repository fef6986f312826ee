"""One world, from its seed to its verdict: a first phase with faults, and a second without, in
which the service must keep all promises."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import traceback
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from laissez.client.errors import LaissezError
from laissez.exchange.commands import OPERATOR
from laissez.journal import Reader, wal
from laissez.journal.recovery import replay
from laissez.server.data_folder import Replaying
from laissez_check.bills.amounts import instant
from laissez_check.clients.population import SETTLES_WITHIN_S, Population
from laissez_check.finding import Finding
from laissez_check.patches import replaced
from laissez_check.scratch import scratch
from laissez_check.simulated.bugs import planted
from laissez_check.simulated.edges import patched
from laissez_check.simulated.logbook import Logbook
from laissez_check.simulated.loop import Stuck
from laissez_check.simulated.machine import PORT, Life, Machine
from laissez_check.simulated.mix import draw_mix
from laissez_check.simulated.promises import numbered
from laissez_check.simulated.receivers import Receiver

LOOK_EVERY_S = 1.0  # for a service that can store nothing more
DELIVERED_WITHIN_S = 90.0
QUIET_S = 3.0  # without any request: longer than any hold
LATE_US = 1_000_000
GONE_WITHIN_S = 30.0  # for sessions that ended without a word


class Verdict(msgspec.Struct, frozen=True):
    seed: int
    failure: str | None
    story: tuple[str, ...]  # its last lines
    counted: dict[str, int]
    faults: dict[str, int]
    digest: str  # of the whole story


def play(seed: int, bug: str | None = None) -> Verdict:
    collects = gc.isenabled()
    gc.disable()  # a world is small and ends soon
    try:
        with scratch() as root, planted(bug):
            return World(seed, root).play()
    finally:
        if collects:
            gc.enable()


class World(Population):
    def __init__(self, seed: int, root: Path) -> None:
        self.seed = seed
        draw = Random(f"{seed} world")
        self.mix = draw_mix(draw, str(root / "data"))
        self._machine = machine = Machine(self.mix, root, seed, self.tell)
        url = f"http://127.0.0.1:{PORT}"
        super().__init__(self.mix, url, machine.folder, draw, machine.began)
        self._loop = machine.loop
        self._receiver: Receiver | None = None
        self._transcript = hashlib.sha256()
        self._quiet_since = 0  # by the service's clock

    def tell(self, what: str) -> None:
        line = f"{self._machine.loop.time() - 1000:9.4f}  {what}"
        super().tell(line)
        self._transcript.update(line.encode())

    def play(self) -> Verdict:
        failure: str | None = None
        logbook = Logbook(self.ledger.breaks, lambda: self._machine.may_fail)
        pages = [(wal, "CHECKPOINT_PAGES", self.mix.checkpoint_pages)]
        edges = patched(self._loop, self._machine.wall, self.seed)
        with self._machine.disk, replaced(pages), edges, logbook.kept():
            asyncio.set_event_loop(self._loop)
            try:
                with self._loop.watched():
                    self._loop.run_until_complete(self._live())
            except Finding as finding:
                failure = numbered(str(finding))
            except Stuck as stuck:
                failure = f"L1: {stuck}"
            except Exception as error:
                failure = f"B1: {''.join(traceback.format_exception(error)[-6:])}"
            finally:
                self._machine.close()
                self._cancel_all()
                asyncio.set_event_loop(None)
                self._loop.close()
        if failure is None and self._loop.unhandled:
            failure = f"B1: an error that no code awaited: {self._loop.unhandled[0]}"
        self._transcript.update(
            msgspec.json.encode([self.ledger.seen, list(self.ledger.asked.values())])
        )
        digest = self._transcript.hexdigest()
        story = tuple(self.story)
        return Verdict(self.seed, failure, story, self.counted(), self._met(), digest)

    def _met(self) -> dict[str, int]:
        """The faults that really happened, by kind."""
        machine = self._machine
        return dict(machine.network.met + machine.met + machine.disk.met + self.acts.met)

    def _cancel_all(self) -> None:
        left = [task for task in asyncio.all_tasks(self._loop) if not task.done()]
        for task in left:
            task.cancel()
        with suppress(Stuck):
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))

    def counted(self) -> dict[str, int]:
        deliveries = 0 if self._receiver is None else self._receiver.deliveries
        return {**super().counted(), "deliveries": deliveries}

    # -- the two phases

    async def _live(self) -> None:
        await self._machine.start()
        supervising = asyncio.create_task(self._supervise())
        for name in (OPERATOR, *self.mix.forest.tenants):
            self.move_in(name, self._machine.key_of(name))
        await self._unless_found(self._unsafe_phase(), supervising)
        self.tell("calm")
        self._machine.network.calm_down()
        self._machine.calm_down()
        try:
            async with asyncio.timeout(SETTLES_WITHIN_S):
                await self._unless_found(self._come_to_rest(), supervising)
        except TimeoutError:
            raise Finding(
                f"L1: the world did not come to rest within {SETTLES_WITHIN_S} seconds without"
                " faults"
            ) from None
        except LaissezError as error:
            raise Finding(f"L1: without faults, the service answered: {error!r}") from error
        supervising.cancel()
        await self._last_checks()

    async def _unless_found(
        self, work: Coroutine[Any, Any, None], supervising: asyncio.Task[None]
    ) -> None:
        """Do the work, unless the service fails to come up meanwhile."""
        working = asyncio.create_task(work)
        try:
            await asyncio.wait((working, supervising), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.tell(f"at rest in {_place(working)}")
            raise
        if supervising.done():
            working.cancel()
            supervising.result()
        await working
        self.ledger.check()

    async def _supervise(self) -> None:
        """Start the service again after each end, and end it when it can store nothing more."""
        machine = self._machine
        while True:
            life = machine.life
            stops = self._happens(self.mix.stops)
            await asyncio.wait(
                (life.ended,), timeout=self.draw.uniform(0.1, 4.0) if stops else LOOK_EVERY_S
            )
            if self._happens(self.mix.standstill):
                machine.stand_still()
            await self._end_if_due(life, stops and not machine.calm)
            if life.ended.done():
                await machine.ended()
                await machine.start()

    def _happens(self, rate: float) -> bool:
        return self.draw.random() < rate and not self._machine.calm

    async def _end_if_due(self, life: Life, stops: bool) -> None:
        machine = self._machine
        failure = None if life.service is None else life.service.gateway.failure
        if failure is not None and not machine.may_fail:
            raise Finding(f"B1: the service gave up, and its disk is well: {failure}")
        if life.is_dead or not (stops or failure is not None):
            return
        if failure is not None and self.draw.random() < 0.5:
            machine.crash()
        else:
            await machine.stop()

    # -- with faults

    async def _unsafe_phase(self) -> None:
        first, last = (self.holders[self.mix.forest.tenants[index]] for index in (0, -1))
        if self.mix.webhooks:
            self._receiver = Receiver(self._machine.network, self.ledger, self.draw)
            await self._receiver.subscribe(last)
        lives = [asyncio.create_task(self.acts.life_of(holder)) for holder in self.holders.values()]
        streams = [asyncio.create_task(self.acts.read_stream(first))] if self.mix.streams else []
        await asyncio.wait(lives, return_when=asyncio.FIRST_EXCEPTION)
        for task in streams:
            task.cancel()
        await asyncio.gather(*streams, return_exceptions=True)
        for task in lives:
            if task.done():
                task.result()

    # -- without faults

    async def _come_to_rest(self) -> None:
        while not self._machine.is_well:
            await asyncio.sleep(0.5)
        await self._watch_time_pass()
        await self.settle()
        await self._settle_deliveries()
        self.tell("settled")
        await self.inspector.inspect()
        await self._settle_sessions()
        self.ledger.check()
        self.compare_journal()
        self._compare_streams()
        self._check_what_ended()
        await self._end_sessions()

    async def _watch_time_pass(self) -> None:
        """Let time pass without any request. Holds and budgets must end all the same."""
        self._quiet_since = self._machine.now
        await asyncio.sleep(QUIET_S)

    def _check_what_ended(self) -> None:
        """Compare the times of events with those of their commands, which only the journal has."""
        for one, entered_at in zip(
            self.truth.streams[OPERATOR], self.truth.entered_at, strict=True
        ):
            at = instant(one["event"]["at"])
            if self._quiet_since <= at < entered_at - LATE_US:
                raise Finding(
                    f"T1: {one} was seen to {(entered_at - at) / 1e6:.3f} seconds late, and nothing"
                    " stood in the way"
                )

    async def _end_sessions(self) -> None:
        for holder in self.holders.values():
            await holder.close_session(forgets=False)
        with suppress(TimeoutError):
            async with asyncio.timeout(GONE_WITHIN_S):
                while self.truth.going or self._machine.open_streams:
                    await asyncio.sleep(0.25)
                    self.truth.read_on()
        left = [f"the order {order} of {tenant}" for tenant, order in sorted(self.truth.going)] + [
            "a place"
        ] * self._machine.open_streams
        if left:
            raise Finding(
                f"G1: {left[0]} is still there {GONE_WITHIN_S:g} seconds after all sessions have"
                " ended"
            )

    async def _settle_sessions(self) -> None:
        """Wait until every session has all events of the pages, except before a known gap."""
        for name, holder in self.holders.items():
            while 0 <= holder.told.last < self.inspector.read[name]:
                # The session may have lost its connection before, and given up only now.
                await self.settle_session(holder)
                await asyncio.sleep(0.1)

    def _compare_streams(self) -> None:
        """A tenant's events must be the operator's about that tenant, in the same order."""
        all_told = [one for _, one in sorted(self.ledger.seen[OPERATOR].items())]
        for tenant in self.mix.forest.tenants:
            its_own = [one["event"] for _, one in sorted(self.ledger.seen[tenant].items())]
            about_it = [one["event"] for one in all_told if one.get("tenant") == tenant]
            both = min(len(its_own), len(about_it))  # one of them may be a little ahead
            if its_own[:both] != about_it[:both]:
                raise Finding(
                    f"V1: the events that {tenant} was told are not those that the operator was"
                    " told about it"
                )

    async def _settle_deliveries(self) -> None:
        receiver = self._receiver
        if receiver is None:
            return
        receiver.is_calm = True
        holder = self.holders[receiver.holder]
        while not receiver.is_subscribed:
            await receiver.subscribe(holder)
            await asyncio.sleep(0.5)
        events = await holder.pages("/v1/events", after=0)
        await receiver.catch_up(events[-1]["n"], DELIVERED_WITHIN_S)

    async def _last_checks(self) -> None:
        machine = self._machine
        await machine.stop()
        await machine.ended()
        self.compare_journal()
        for holder, id in sorted(self.forbidden & self.truth.parts.keys()):
            raise Finding(
                f"K1: {id} of {holder} was carried out; it was asked in a session whose key was"
                " revoked"
            )
        self.ledger.check()
        self._check_replay()
        self.audit()

    def _check_replay(self) -> None:
        with Reader(self._machine.folder) as reader:
            again = Replaying.begin(reader.genesis)
            for group in reader.groups(1):
                replay(again, group)
        if again.snapshot() != self._machine.last_state:
            raise Finding("D2: the journal, replayed, gives another state than the service had")


def _place(task: asyncio.Task[Any]) -> str:
    """Where a task waits."""
    found: list[str] = []
    waits: Any = task.get_coro()
    while waits is not None:
        frame = getattr(waits, "cr_frame", None) or getattr(waits, "ag_frame", None)
        if frame is not None:
            found.append(f"{frame.f_code.co_name}:{frame.f_lineno}")
        waits = getattr(waits, "cr_await", None) or getattr(waits, "ag_await", None)
    return " > ".join(found)
