"""The processor time of a process, as the system counts it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


class CpuTime(NamedTuple):
    """Seconds, of the main thread, which is a server's loop, and of all other threads."""

    main: float
    others: float


def cpu_time(pid: int) -> CpuTime:
    """By the scheduler's count in nanoseconds; zeros where the system keeps none."""
    used = {"": 0}
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(OSError):  # a thread may end meanwhile
            used[task.name] = int((task / "schedstat").read_text().split()[0])
    main = used.get(str(pid), 0)
    return CpuTime(main / 1e9, (sum(used.values()) - main) / 1e9)
