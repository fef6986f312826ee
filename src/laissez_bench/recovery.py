"""How long a start takes after a crash: a journal of a million commands, the last snapshot some way
back, everything in memory gone."""

from __future__ import annotations

import asyncio
import random
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from laissez.journal import snapshots
from laissez.server import opening
from laissez.server.desk import Desk
from laissez.server.reading import read_command
from laissez.server.settings import Journal as JournalSettings
from laissez.server.settings import Limits
from laissez.wire.requests import SessionMessage
from laissez.workers import output_of
from laissez_bench import cluster
from laissez_bench.mix import Message, Tenant

LEAVES, TENANTS = 10_000, 1_000
# a server takes one at least every so many commands
SNAPSHOT_BEFORE_END = JournalSettings().snapshot_every


class Recovery(msgspec.Struct):
    commands: int
    replayed: int
    seconds: float
    commands_per_second: float
    megabytes: float


def measure(
    commands: int, step: Callable[[str], None], leaves: int = LEAVES, tenants: int = TENANTS
) -> Recovery:
    base = Path(tempfile.mkdtemp(prefix="laissez-bench-"))
    try:
        folder = base / "market"
        step("making the market")
        held = cluster.found(folder, leaves, tenants)
        step(f"carrying out {commands:,} commands")
        asyncio.run(_carry_out(folder, held, commands))
        step("recovering")
        return _recover(folder)
    finally:
        shutil.rmtree(base)


def _recover(folder: Path) -> Recovery:
    """In a process of its own, as a start is."""
    code = (
        "import sys, time; from pathlib import Path; from laissez.server import opening; from"
        " laissez.server.settings import Limits\nbegan = time.perf_counter(); opened ="
        " opening.open_folder(Path(sys.argv[1]), Limits())\nprint(opened.journal.last,"
        " opened.replayed, time.perf_counter() - began)"
    )
    commands, replayed, seconds = output_of([sys.executable, "-c", code, str(folder)]).split()
    size = sum(path.stat().st_size for path in folder.glob("journal.db*")) / 1e6
    return Recovery(
        int(commands),
        int(replayed),
        round(float(seconds), 2),
        round(int(commands) / float(seconds)),
        round(size, 1),
    )


async def _carry_out(folder: Path, held: list[cluster.Held], commands: int) -> None:
    opened = opening.open_folder(folder, Limits())
    desk = Desk(
        opened.exchange, opened.journal, opened.clock, Limits(), opened.history, opened.remembered
    )
    try:
        await _fill(opened, desk, held, commands, folder)
    # also when it is interrupted: what is being stored tells the loop, which must still be there
    finally:
        desk.close()
        opened.journal.close()


async def _fill(
    opened: opening.Opened, desk: Desk, held: list[cluster.Held], commands: int, folder: Path
) -> None:
    scopes = [
        path for path in opened.exchange.market.topology.nodes if path.count("/") in (1, 2, 3)
    ]
    names = list(opened.exchange.accounts)
    tenants = {
        name: Tenant(number, one, scopes, 1)
        for number, (name, one) in enumerate(zip(names, held, strict=True))
    }
    draw = random.Random(1)
    body: bytes | None = None
    at = 0
    for number in range(commands):
        name = draw.choice(names)
        _enter(desk, name, tenants, _command(tenants[name]))
        if number % 1_000 == 0:
            await desk.all_durable()
        if number == commands - SNAPSHOT_BEFORE_END or number == commands // 2:
            body, at = opened.exchange.snapshot(), desk.position
    await desk.all_durable()
    if body is not None:
        with opened.journal.reader() as reader:
            head = reader.chain_at(at)
        assert head is not None
        snapshots.write(folder, at, head, body)


def _command(tenant: Tenant) -> Message:
    while (message := tenant.next())["type"] == "quote":
        pass
    return message


def _enter(desk: Desk, name: str, tenants: dict[str, Tenant], message: Message) -> None:
    command = read_command(msgspec.convert(message, SessionMessage))
    for told in desk.enter(name, "bench", message["id"], command).applied.outcome.told:
        if told.tenant is not None:
            tenants[told.tenant].heard(msgspec.to_builtins(told.event))
