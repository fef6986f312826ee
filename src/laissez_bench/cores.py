"""Who uses which core, and how much of it: what one load does to another beside it is not what it
does to the server."""

from __future__ import annotations

import os
from pathlib import Path

LEAST_POLITE = 19


def keep_apart(server: int) -> None:
    """The server's first thread, which is its loop, on one core, where there are two; this process
    and those it starts on the others."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(cores) > 1:
        os.sched_setaffinity(server, cores[:1])
        os.sched_setaffinity(0, cores[1:])


def give_way() -> None:
    """Let every other process of the same core go first; on Linux, before this thread alone."""
    os.nice(LEAST_POLITE)


def cpu_seconds(pid: int) -> float:
    """That a process has used; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
