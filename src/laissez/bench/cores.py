"""A core for the server alone, where there are two: then what a load does to another load beside it does not count as what it does to the server."""

from __future__ import annotations

import os
from pathlib import Path

LEAST_POLITE = 19


def keep_apart(server: int) -> None:
    """The server, with all its threads, on one core; this process and those it starts on the others."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(cores) < 2:
        return
    for thread in Path(f"/proc/{server}/task").iterdir():
        os.sched_setaffinity(int(thread.name), cores[:1])
    os.sched_setaffinity(0, cores[1:])


def give_way() -> None:
    """Let every other process of the same core go first."""
    os.nice(LEAST_POLITE)
