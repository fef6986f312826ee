"""Kill a real server at any moment, start it again, and see whether it kept every promise:
`laissez check crashes`.

A life is one data folder: a server over it, the clients of simulated worlds on real sockets, and a
number of kills. After each kill, unanswered requests are sent again under the same id, with a
sample of the answered ones, and everything that anyone was told is compared with the journal. The
seed fixes the requests and the times of the kills, but not the operating system, so a failure may
need a few runs to show again. Simulated worlds try far more: this check is about real processes,
threads, files and sockets.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from laissez.client.errors import LaissezError
from laissez.exchange.commands import OPERATOR
from laissez_check.clients.holder import Habits
from laissez_check.clients.population import Population
from laissez_check.clients.requests import PRICES
from laissez_check.faulty_server import entry_with, snapshot_after_commands
from laissez_check.finding import Finding, Outcome
from laissez_check.started_server import LEAVES, Entry, Server, unused_port
from laissez_check.worlds import World

# Then a new folder: every start checks the whole journal, which would take longer and longer.
KILLS_PER_LIFE = 25
HABITS = Habits(
    forest=World(LEAVES, ("ann", "bob", "cat", "dan")),
    prices=PRICES,
    requests=1_000_000,  # until the server is gone
    pause_s=0.02,
    doubles=0.2,
    timeout_s=20.0,
)
REPEATED = 8  # answered requests of each holder that are sent again after a crash
SNAPSHOT_AWAITED_S = 1.5
KILL_TAKES_S = 120.0  # at most, with all that comes before and after it
STARTUP_S = 0.6  # about the time of a start: a kill before its end hits recovery

# When the next kill comes, and how often of 100.
MOMENTS = {
    "starting": 15,
    "ready": 5,
    "repeating": 15,
    "working": 36,
    "long at work": 13,
    "snapshot": 16,
}


def run(
    kills: int,
    seed: int,
    entry: Entry | None = None,
    tell: Callable[[int], None] = lambda kills: None,
) -> Outcome:
    """Kill the server `kills` times, in lives of `KILLS_PER_LIFE` with consecutive seeds. Stops at
    the first finding and keeps its folder."""
    counted: Counter[str] = Counter()
    while counted["kills"] < kills:
        before, here = counted["kills"], min(KILLS_PER_LIFE, kills - counted["kills"])
        folder = Path(tempfile.mkdtemp(prefix="laissez-crashes-"))
        life = Life(folder, seed, entry or entry_with(snapshot_after_commands))
        try:
            asyncio.run(life.live(here, lambda done, before=before: tell(before + done)))  # type: ignore[misc]
        except Finding as finding:
            counted.update(life.counted())
            story = "\n".join(life.story)
            return Outcome(
                counted,
                f"{finding}\n\n{story}\n\n"
                f"after kill {life.kills} ({life.moment}); the data is in {folder}\n"
                f"again: laissez check crashes --kills {here} --seed {seed}",
            )
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        counted.update(life.counted())
        shutil.rmtree(folder)
        seed += 1
    return Outcome(counted)


class Life(Population):
    def __init__(self, folder: Path, seed: int, entry: Entry) -> None:
        draw = random.Random(seed)
        self._server = Server(folder, unused_port(draw), entry)
        super().__init__(HABITS, self._server.url, self._server.data, draw, began=[0])
        self._work: list[asyncio.Task[None]] = []
        self.kills = 0
        self.moment = "start"

    def counted(self) -> dict[str, int]:
        return {"kills": self.kills, **super().counted()}

    async def live(self, kills: int, tell: Callable[[int], None]) -> None:
        try:
            await self._begin()
            while self.kills < kills:
                async with asyncio.timeout(KILL_TAKES_S):
                    await self._one_kill()
                tell(self.kills)
            self.moment = "end"
            await self._server.stop()
            self.compare_journal()
            self.audit()
        except (LaissezError, TimeoutError) as error:
            self._server.check_alive()
            raise Finding(
                f"a living server did not answer: {error!r}\n{self._server.log_end()}"
            ) from error
        finally:
            await self._server.kill(with_children=True)
            try:
                await self._pause()
            finally:
                for holder in self.holders.values():
                    await holder.close()

    # -- the beginning

    async def _begin(self) -> None:
        """Make the market, perhaps with kills in the middle of it, and the tenants."""
        for _ in range(self.draw.choice((0, 0, 1, 2))):
            await self._server.start()
            await asyncio.sleep(self.draw.uniform(0.5, 1.2) * STARTUP_S)
            await self._server.kill(with_children=True)
            self.kills += 1
        await self._server.start_and_wait()
        operator = self.move_in(OPERATOR, self._server.operator_key).rest
        for tenant in HABITS.forest.tenants:
            await operator.create_tenant(tenant)
            issued = await operator.issue_key(tenant)
            assert issued.secret is not None
            self.move_in(tenant, issued.secret)

    # -- one kill

    async def _one_kill(self) -> None:
        """The server is ready before and after it."""
        self.moment = self.draw.choices(list(MOMENTS), list(MOMENTS.values()))[0]
        if self.moment in ("working", "long at work", "snapshot"):
            self._go_to_work()
            await self._time_of_kill()
            if self.draw.random() < 0.08:
                await self._stop()
        await self._kill()
        if self.moment == "starting":
            await self._server.start()
            await asyncio.sleep(self.draw.uniform(0, 1.1) * STARTUP_S)
            await self._kill()
        await self._server.start_and_wait()
        if self.moment == "repeating":
            await self._interrupt_repeats()
        await self.settle()
        await self._repeat()
        self._server.check_alive()
        await self.inspector.inspect()

    async def _interrupt_repeats(self) -> None:
        """Leave requests open, and kill once more while they are sent again."""
        self._go_to_work()
        await asyncio.sleep(0.05)
        await self._kill()
        await self._server.start_and_wait()
        self._work = [asyncio.create_task(self.settle())]
        await asyncio.sleep(self.draw.uniform(0, 0.05))
        await self._kill()
        await self._server.start_and_wait()

    async def _repeat(self) -> None:
        """Use ids again, for the same request or another one."""
        for holder in self.holders.values():
            known = self.known(holder.name)
            for asked in self.draw.sample(known, min(REPEATED, len(known))):
                await self.acts.ask_again(holder, asked)
        self.ledger.check()

    def _go_to_work(self) -> None:
        holders = self.holders.values()
        self._work = [asyncio.create_task(self.acts.life_of(holder)) for holder in holders]

    async def _pause(self) -> None:
        """Requests under way are left without an answer."""
        work, self._work = self._work, []
        for task in work:
            task.cancel()
        for outcome in await asyncio.gather(*work, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome

    async def _time_of_kill(self) -> None:
        if self.moment == "working":
            await asyncio.sleep(self.draw.uniform(0.02, 0.6))
        if self.moment == "long at work":
            await asyncio.sleep(self.draw.uniform(1.0, 2.2))
        if self.moment == "snapshot":
            with suppress(TimeoutError):
                async with asyncio.timeout(SNAPSHOT_AWAITED_S):
                    while not self._server.children():
                        await asyncio.sleep(0.001)
                    await asyncio.sleep(self.draw.choice((0, 0, 0.001, 0.003)))

    async def _kill(self) -> None:
        if self._server.process.returncode is None:
            self.kills += 1
        await self._server.kill(with_children=self.draw.random() < 0.5)
        await self._pause()
        # Half the time, judge by the disk before the next start touches it.
        if self.draw.random() < 0.5:
            self.compare_journal()

    async def _stop(self) -> None:
        await self._server.stop()
        await self._pause()
        await self._server.start_and_wait()
