"""The time of a start after a crash: a server is loaded over the wire and killed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from signal import SIGKILL

import msgspec

from laissez.workers import output_of
from laissez_bench.generator import Phase
from laissez_bench.world import LEAVES, TENANTS, generating, make_world, serving

RECOVERY = "recovery"
CONNECTIONS = 8
COMMANDS_PER_SECOND_LEAST = 500  # a slower server may not carry out all
RECOVER = """
import sys, time
from pathlib import Path
from laissez.server import data_folder
from laissez.server.settings import Limits
began = time.perf_counter(), time.process_time()
opened = data_folder.open_folder(Path(sys.argv[1]), Limits())
took = time.perf_counter() - began[0], time.process_time() - began[1]
print(opened.journal.last, opened.replayed, *took)
"""


class Recovery(msgspec.Struct, kw_only=True):
    load: str = RECOVERY
    commands: int  # in the journal
    replayed: int  # since the newest snapshot
    seconds: float
    us_per_command: float  # processor time, over those replayed
    megabytes: float
    seconds_per_million_extrapolated: float  # for a million replayed commands


def measure(
    commands: int, step: Callable[[str], None], leaves: int = LEAVES, tenants: int = TENANTS
) -> Recovery:
    """The server takes its snapshots as usual."""
    step("making the market")
    with make_world(leaves, tenants) as world:
        step(f"carrying out {commands:,} commands")
        with serving(world.folder, stop=SIGKILL) as server:
            plan = world.plan("batch", server, min(CONNECTIONS, tenants))
            with generating(plan) as run:
                run(Phase(10 + commands / COMMANDS_PER_SECOND_LEAST, commands_max=commands))
        step("recovering")
        return _recover(world.folder)


def _recover(folder: Path) -> Recovery:
    """In a process of its own, as a start is."""
    printed = output_of([sys.executable, "-c", RECOVER, str(folder)]).split()
    commands, replayed = map(int, printed[:2])
    seconds, cpu_s = map(float, printed[2:])
    return Recovery(
        commands=commands,
        replayed=replayed,
        seconds=round(seconds, 2),
        us_per_command=round(cpu_s * 1e6 / max(1, replayed), 2),
        megabytes=round(sum(path.stat().st_size for path in folder.glob("journal.db*")) / 1e6, 1),
        seconds_per_million_extrapolated=round(seconds * 1e6 / max(1, replayed), 1),
    )
