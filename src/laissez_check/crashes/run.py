"""Kill the server at any moment, start it again, and see whether it kept every promise:
`laissez check crashes`.

A life is one data folder: a server over it, clients that speak to it without pause, and a number of
kills. After each kill everything that was not answered is sent again under the same id, with a
sample of what was, and everything that anyone was ever told is compared with the journal. The seed
fixes the requests and the times of the kills; what the operating system does in between is its own,
so a failure may need a few runs. Simulated worlds try far more: this is about real processes, files
and sockets.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from laissez.exchange.commands import OPERATOR
from laissez_check.crashes.clients import Encoding, Lost, Rest, Session
from laissez_check.crashes.inspector import Inspector
from laissez_check.crashes.journal import Truth, compare
from laissez_check.crashes.ledger import Ledger
from laissez_check.crashes.load import Load
from laissez_check.crashes.served import entry_of
from laissez_check.finding import Finding
from laissez_check.started_server import LEAVES, Entry, Server, unused_port

# Then a new folder: every start checks the whole journal, which would take longer and longer.
KILLS_PER_LIFE = 25
TENANTS = ("ann", "bob", "cat", "dan")
# Of those with a session beside REST.
ENCODINGS: dict[str, Encoding] = {"bob": "json", "dan": "msgpack"}
SNAPSHOT_AWAITED_S = 1.5
KILL_TAKES_S = 120.0  # at most, with all that comes before and after it
STARTUP_S = 0.6  # about how long a start takes: kills before it is over hit recovery

# When the next kill comes, and how often of 100.
MOMENTS = {
    "starting": 15,
    "ready": 5,
    "repeating": 15,
    "working": 36,
    "long at work": 13,
    "snapshot": 16,
}


class Outcome(msgspec.Struct, frozen=True):
    """How far it came, in numbers, and the finding."""

    counted: dict[str, int]
    failure: str | None


def run(
    kills: int,
    seed: int,
    entry: Entry | None = None,
    tell: Callable[[int], None] = lambda kills: None,
) -> Outcome:
    """Kill so often, in lives of `KILLS_PER_LIFE` with seeds that follow one another. Stops at the
    first finding and keeps its folder."""
    counted: Counter[str] = Counter()
    while counted["kills"] < kills:
        before, here = counted["kills"], min(KILLS_PER_LIFE, kills - counted["kills"])
        folder = Path(tempfile.mkdtemp(prefix="laissez-crashes-"))
        life = Life(folder, seed, entry or entry_of())
        try:
            asyncio.run(life.live(here, lambda done, before=before: tell(before + done)))  # type: ignore[misc]
        except Finding as finding:
            counted.update(life.counted())
            return Outcome(
                counted,
                f"{finding}\n\nafter kill {life.kills} ({life.moment}); the data is in {folder}\n"
                f"again: laissez check crashes --kills {here} --seed {seed}",
            )
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        counted.update(life.counted())
        shutil.rmtree(folder)
        seed += 1
    return Outcome(counted, None)


class Life:
    def __init__(self, folder: Path, seed: int, entry: Entry) -> None:
        self._draw = random.Random(seed)
        self._server = Server(folder, unused_port(self._draw), entry)
        self._ledger = Ledger((OPERATOR, *TENANTS))
        self._truth = Truth(self._server.data)
        self._down = asyncio.Event()
        self._rest: dict[str, Rest] = {}
        self._sessions: dict[str, Session] = {}
        self._inspector = Inspector(self._ledger, self._truth, self._rest)
        self._load = Load(self._draw, self._ledger, self._rest, self._sessions, self._down)
        self.kills = 0
        self.moment = "start"

    def counted(self) -> dict[str, int]:
        return {
            "kills": self.kills,
            "answers": self._ledger.answers,
            "repeats": self._ledger.repeats,
            "bills": self._inspector.bills,
            "entries": self._truth.last,
        }

    async def live(self, kills: int, tell: Callable[[int], None]) -> None:
        try:
            await self._begin()
            while self.kills < kills:
                async with asyncio.timeout(KILL_TAKES_S):
                    await self._one_kill()
                tell(self.kills)
                self._ledger.check()
            await self._end()
        except (Lost, TimeoutError) as error:
            self._ledger.check()
            what = "nothing moves any more"
            if isinstance(error, Lost):
                what = "the connection was lost while the server was alive"
            raise Finding(f"{what}: {error.__cause__!r}\n{self._server.log_end()}") from error
        finally:
            await self._server.kill(with_children=True)
            for session in self._sessions.values():
                await session.close()
            for rest in self._rest.values():
                await rest.close()

    # -- the beginning

    async def _begin(self) -> None:
        """Found the market, perhaps with kills in the middle of it, and make tenants."""
        for _ in range(self._draw.choice((0, 0, 1, 2))):
            await self._server.start()
            await asyncio.sleep(self._draw.uniform(0.5, 1.2) * STARTUP_S)
            await self._server.kill(with_children=True)
            self.kills += 1
        await self._server.start_and_wait()
        key = (self._server.data / "keys" / "operator.key").read_text().strip()
        operator = self._add(OPERATOR, key)
        for tenant in TENANTS:
            await operator.request("POST", "/v1/tenants", json={"name": tenant})
            issued = await operator.request("POST", f"/v1/tenants/{tenant}/keys", json={})
            self._add(tenant, issued.json()["secret"])
        for session in self._sessions.values():
            await session.open()

    def _add(self, holder: str, key: str) -> Rest:
        ledger, url = self._ledger, self._server.url
        self._rest[holder] = Rest(ledger, holder, url, key)
        if holder in ENCODINGS:
            session = Session(ledger, holder, url, key, self._down, ENCODINGS[holder])
            self._sessions[holder] = session
        return self._rest[holder]

    # -- one kill

    async def _one_kill(self) -> None:
        """The server is ready at the beginning and at the end of it."""
        self.moment = self._draw.choices(list(MOMENTS), list(MOMENTS.values()))[0]
        if self.moment in ("working", "long at work", "snapshot"):
            self._load.begin()
            await self._time_of_kill()
            if self._draw.random() < 0.08:
                await self._stop()
        await self._kill()
        if self.moment == "starting":
            await self._server.start()
            await asyncio.sleep(self._draw.uniform(0, 1.1) * STARTUP_S)
            await self._kill()
        await self._come_back()
        if self.moment == "repeating":
            await self._interrupt_repeats()
        await self._inspector.inspect()

    async def _interrupt_repeats(self) -> None:
        """Leave requests open, and kill once more in the middle of repeating them."""
        self._load.begin()
        await asyncio.sleep(0.05)
        await self._kill()
        await self._server.start_and_wait()
        self._down.clear()
        self._load.begin_repeating()
        await asyncio.sleep(self._draw.uniform(0, 0.05))
        await self._kill()
        await self._come_back()

    async def _come_back(self) -> None:
        if self._server.process.returncode is not None:
            await self._server.start_and_wait()
        self._down.clear()
        await self._load.repeat()
        await self._load.provoke_conflicts()
        self._server.check_alive()
        self._ledger.check()

    async def _time_of_kill(self) -> None:
        if self.moment == "working":
            await asyncio.sleep(self._draw.uniform(0.02, 0.6))
        if self.moment == "long at work":
            await asyncio.sleep(self._draw.uniform(1.0, 2.2))
        if self.moment == "snapshot":
            with suppress(TimeoutError):
                async with asyncio.timeout(SNAPSHOT_AWAITED_S):
                    while not self._server.children():
                        await asyncio.sleep(0.001)
                    await asyncio.sleep(self._draw.choice((0, 0, 0.001, 0.003)))

    async def _kill(self) -> None:
        if self._server.process.returncode is None:
            self.kills += 1
        await self._server.kill(with_children=self._draw.random() < 0.5)
        await self._gone()
        # Half the time by what lies on the disk before the next start touches it.
        if self._draw.random() < 0.5:
            self._truth.read_on()
            compare(self._truth, self._ledger)

    async def _stop(self) -> None:
        await self._server.stop()
        await self._gone()
        await self._server.start_and_wait()
        self._down.clear()

    async def _gone(self) -> None:
        self._down.set()
        await self._load.ended()

    # -- the end

    async def _end(self) -> None:
        """Take every leaf offline, so that nothing is charged any more; then all sums must be
        exact, also after one more start."""
        self.moment = "end"
        operator = self._rest[OPERATOR]
        for leaf in LEAVES:
            await operator.request("PATCH", f"/v1/resources/{leaf}", json={"online": False})
        await asyncio.sleep(1.1)  # no fee lasts longer
        await self._inspector.inspect(at_rest=True)
        before = await operator.pages("/v1/bills")
        await self._stop()
        for bill, again in zip(before, await operator.pages("/v1/bills"), strict=True):
            if (bill["tenant"], bill["total"]) != (again["tenant"], again["total"]):
                raise Finding(f"a bill was {bill} before the last start and is {again} after it")
        await self._inspector.inspect(at_rest=True)
        await self._server.stop()
        verify = [sys.executable, "-m", "laissez.cli", "journal", "verify", str(self._server.data)]
        verified = subprocess.run(verify, capture_output=True, text=True)  # noqa: ASYNC221  nothing else is under way
        if verified.returncode != 0:
            raise Finding(f"the journal is not well: {verified.stdout}{verified.stderr}")
