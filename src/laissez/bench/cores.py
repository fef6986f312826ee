"""A core for the server's loop alone, where there are two: what one load does to another beside it is not what it does to the server."""

from __future__ import annotations

import os

LEAST_POLITE = 19


def keep_apart(server: int) -> None:
    """The server's first thread, which is its loop, on one core; this process and those it starts on the others."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(cores) > 1:
        os.sched_setaffinity(server, cores[:1])
        os.sched_setaffinity(0, cores[1:])


def give_way() -> None:
    """Let every other process of the same core go first."""
    os.nice(LEAST_POLITE)
