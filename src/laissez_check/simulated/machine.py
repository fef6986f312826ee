"""The machine under the service: it starts, loses its power or its process, fails to write, and
starts again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random

from laissez.exchange.commands import OPERATOR, SERVICE, Caps, CreateTenant
from laissez.journal import JournalError
from laissez.market import Topology
from laissez.server import data_folder
from laissez.server.clock import Clock
from laissez.server.data_folder import open_folder
from laissez.server.first_start import KEYS, has_market, issue_first_key
from laissez.server.gateway import Gateway
from laissez.server.lifecycle import Service
from laissez.server.serve import Server
from laissez.wire.problems import ProblemError
from laissez_check.disk.faulty import FaultyDisk
from laissez_check.finding import Finding
from laissez_check.simulated.edges import Wall
from laissez_check.simulated.listening import listen
from laissez_check.simulated.logbook import silence
from laissez_check.simulated.loop import Process, SimulatedLoop
from laissez_check.simulated.mix import Mix
from laissez_check.simulated.network import Network
from laissez_check.simulated.storing import LoopCommit, LoopCopy

PORT = 8340
NO_FILES = Path(__file__).parent / "none"  # without the console
FOUNDING_TAKES = 60  # operations of the disk, about
STANDSTILLS_S = (0.5, 5.0, 90.0)
TRIES_MAX = 40  # to start, while something goes wrong each time


class Life(Process):
    """One run of the service, from its start to its end."""

    def __init__(self, ended: asyncio.Future[None]) -> None:
        super().__init__()
        self.ended = ended
        self.service: Service | None = None
        self.server: Server | None = None


class Machine:
    """The service's machine, with the loop, the network, the disk and the clock of a world."""

    def __init__(self, mix: Mix, root: Path, seed: int, tell: Callable[[str], None]) -> None:
        self.loop = SimulatedLoop()
        self.wall = Wall(self.loop)
        self.network = Network(self.loop, Random(f"{seed} network"), mix.weather)
        self.disk = FaultyDisk(root, Random(f"{seed} disk"))
        self._mix = mix
        self._draw = Random(f"{seed} machine")
        self._tell = tell
        self.folder = Path(mix.settings.data.folder)
        self.topology = Topology.of(list(mix.forest.leaves), {})
        self.began: list[int] = []  # for each run of the service, the number of events before it
        self.calm = False  # no more faults
        self.met: Counter[str] = Counter()
        self._lives: list[Life] = []
        self._by_power = False
        self._failed_lately = False
        self.last_state = b""  # after the last planned stop
        self.disk.on_crash = self._went_down

    @property
    def life(self) -> Life:
        """The current run of the service, or the last one."""
        return self._lives[-1]

    @property
    def service(self) -> Service:
        assert self.life.service is not None
        return self.life.service

    # -- up

    async def start(self) -> None:
        """Start the service, again and again until it is up."""
        for _ in range(TRIES_MAX):
            life = Life(self.loop.create_future())
            self._lives.append(life)
            self._set_clock()
            self._failed_lately = False
            self._arm()
            starting = self.loop.begin(life, self.loop.create_task, self._serve(life))
            await asyncio.wait((starting, life.ended), return_when=asyncio.FIRST_COMPLETED)
            error = starting.exception() if starting.done() else None
            if not life.is_dead and error is None:
                self._tell("up")
                return
            self._note_failure(error)
            await self._after_the_end(life)
        raise Finding(f"L1: the service did not start in {TRIES_MAX} tries")

    def _note_failure(self, error: BaseException | None) -> None:
        """A start may fail only if the disk does."""
        if error is None or self.disk.crashed:
            self._count("crash while starting")
        elif self.may_fail and isinstance(error, JournalError | OSError | ProblemError):
            self._count("start failed")
        else:
            raise Finding(f"R1: the service does not start: {error!r}") from error

    async def _serve(self, life: Life) -> None:
        settings = self._mix.settings
        if not has_market(self.folder):
            data_folder.create(self.folder, self.topology, settings.limits.open_orders_max)
        clock = partial(Clock, wall=self.wall.now_ns, passed=self.wall.passed_ns)
        opened = open_folder(self.folder, settings.limits, start_clock=clock)
        self.began.append(opened.exchange.events)
        commit = partial(LoopCommit, draw=self._draw, slow=self._mix.slow_disk)
        life.service = Service(
            settings, opened, commit, partial(LoopCopy, draw=self._draw), NO_FILES
        )
        life.service.begin()
        await self._found_accounts(life.service.gateway)
        life.server = listen(self.network, PORT, life.service)

    async def _found_accounts(self, gateway: Gateway) -> None:
        """Make the tenants, and keys for them and the operator in files, unless they exist."""
        await issue_first_key(gateway, self.folder, OPERATOR)
        for tenant in self._mix.forest.tenants:
            if tenant not in gateway.exchange.accounts:
                gateway.enter(OPERATOR, SERVICE, "", CreateTenant(tenant, Caps()))
            await issue_first_key(gateway, self.folder, tenant)

    @property
    def is_well(self) -> bool:
        life = self.life
        return not life.is_dead and life.server is not None and self.service.gateway.failure is None

    @property
    def now(self) -> int:
        """The time of the service's own clock."""
        return self.service.gateway.clock.now()

    @property
    def open_streams(self) -> int:
        """The number of sessions and streams that the service counts as open."""
        return len(self.service.quota)

    def key_of(self, holder: str) -> str:
        return (self.folder / KEYS / f"{holder}.key").read_text().strip()

    # -- down

    def crash(self) -> None:
        """Crash now, between two operations of the disk."""
        self.disk.crashed = True
        self._went_down()

    def _went_down(self) -> None:
        """End the life, perhaps within an operation of the disk. From here on the process has no
        effect."""
        life = self.life
        if life.is_dead:
            return
        self._count("crash")
        self._by_power = self._draw.random() < self._mix.power
        self._end(life, told=not self._by_power or self._draw.random() < 0.3)

    def _end(self, life: Life, told: bool) -> None:
        self.loop.kill(life)
        self.network.deafen(PORT)
        self.network.cut(life, told)
        if not life.ended.done():
            life.ended.set_result(None)

    async def stop(self) -> None:
        """Stop as planned, with a farewell and a snapshot."""
        life = self.life
        stopping = self.loop.begin(life, self.loop.create_task, self._stop(life))
        await asyncio.wait((stopping, life.ended), return_when=asyncio.FIRST_COMPLETED)
        if life.is_dead:
            return
        error = stopping.exception()
        if error is not None and not (self.may_fail or self.service.gateway.failure):
            raise Finding(f"R2: a planned stop failed: {error!r}") from error
        self._count("planned stop")
        self._end(life, told=True)

    async def _stop(self, life: Life) -> None:
        assert life.server is not None
        server, service, life.server = life.server, self.service, None
        await server.shutdown()
        await service.stop_tasks()
        await service.end()
        service.close()
        self.last_state = service.gateway.exchange.snapshot()

    async def ended(self) -> None:
        """Wait for the end of this life, and clean up after it."""
        life = self.life
        await life.ended
        await self._after_the_end(life)

    async def _after_the_end(self, life: Life) -> None:
        await asyncio.sleep(self._draw.choice((0.0, 0.05, 0.5)))
        life.is_dead = True
        crashed, self.disk.crashed = self.disk.crashed, True  # so closing files changes nothing
        self._close(life)
        self.disk.crashed = crashed
        if crashed and self._by_power:
            self.disk.power_off()
            self._count("power failure")
            self._tell("power off")
        else:
            self.disk.kill()
            self._tell("killed" if crashed else "ended")
        self._mend()

    def _close(self, life: Life) -> None:
        service = life.service
        if service is not None:
            with suppress(Exception):
                service.gateway._reader.close()
            with suppress(Exception):
                service._journal.close()
            with suppress(Exception):
                service.beside.close()
        with silence():
            self.loop.bury(life)

    # -- faults

    @property
    def may_fail(self) -> bool:
        """Whether the disk fails, or failed in this life of the service."""
        return (
            self.disk.fail_at is not None
            or self.disk.room is not None
            or self.disk.crashed
            or self._failed_lately
        )

    def _arm(self) -> None:
        disk, draw, mix = self.disk, self._draw, self._mix
        if self.calm:
            return
        if self.met["crash"] < mix.crashes:
            first = FOUNDING_TAKES if disk.operations == 0 and draw.random() < 0.8 else 0
            disk.crash_at = disk.operations + first + draw.randint(1, draw.choice(mix.crash_within))
        if draw.random() < mix.io_errors:
            disk.fail_at = disk.operations + draw.randint(1, 120)
            disk.fail_forever = draw.random() < 0.5
            self._tell(
                "the disk will fail for ever" if disk.fail_forever else "the disk will fail once"
            )
        if draw.random() < mix.full:
            disk.room = draw.choice((10_000, 60_000, 200_000))
            self._tell("the disk fills up")

    def _set_clock(self) -> None:
        if self._draw.random() < self._mix.wrong_clock and not self.calm:
            # Within the day for which ids are remembered.
            self.wall.wrong_us = self._draw.choice((-36_000, -60, 0, 60, 36_000)) * 1_000_000
            self._count("clock jump")

    def stand_still(self) -> None:
        """Stop everything, also clients and network, for a while. Then all timers are due at
        once."""
        self.loop.jump(self._draw.choice(STANDSTILLS_S))
        self._count("standstill")

    def _mend(self) -> None:
        self.disk.fail_at, self.disk.fail_forever, self.disk.room = None, False, None

    def calm_down(self) -> None:
        self.calm = True
        self._failed_lately = self.may_fail
        self.disk.crash_at = None
        self._mend()

    def _count(self, what: str) -> None:
        self.met[what] += 1
        self._tell(what)

    def close(self) -> None:
        """End the world."""
        if not self.life.is_dead:
            self._end(self.life, told=False)
        self.disk.crashed = True
        for life in self._lives:
            self._close(life)
