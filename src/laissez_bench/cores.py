"""The processor time of a process, as the system counts it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


class CpuTime(NamedTuple):
    """Seconds, of the main thread, which is a server's loop, and of all other threads."""

    main: float
    others: float


def give_way() -> None:
    """Let every other process on the same core go first; on Linux this concerns one thread."""
    os.nice(19)


def cpu_time(pid: int) -> CpuTime:
    """By the scheduler's count in nanoseconds; zeros where the system keeps none."""
    used = {"": 0}
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(OSError):  # a thread may end meanwhile
            used[task.name] = int((task / "schedstat").read_text().split()[0])
    main = used.get(str(pid), 0)
    return CpuTime(main / 1e9, (sum(used.values()) - main) / 1e9)


def cpu_seconds(pid: int) -> float:
    return sum(cpu_time(pid))
