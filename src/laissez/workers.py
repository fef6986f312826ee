"""Worker processes: they end with their parent, at once, and only it hears of Ctrl-C.

Ctrl-C reaches every process of a terminal's group, and so does what `timeout` sends. There are two
ways to keep such things from workers:

- `deaf_to_interrupts` where they are begun: from their first instant they miss Ctrl-C alone.
  `timeout` still ends them, should the parent fail to. `worker_pool` is used within it; `output_of`
  uses it itself.
- `leave_signals_to_the_parent` in each worker of a `multiprocessing.Pool`, which must not lose one
  in any way but by its parent's hand.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from threading import Thread


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0))


@contextmanager
def worker_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Worker processes. Whatever ends the block early ends them at once: a simulation under way has
    nothing to put in order."""
    before = multiprocessing.active_children()
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), initializer=_end_with_parent
    )
    try:
        yield pool
    except BaseException:
        for process in multiprocessing.active_children():
            if process not in before:
                process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """In a worker: end as soon as there is nobody left to work for. A parent that is killed
    outright cannot end its workers any more."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait_and_end() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait_and_end, daemon=True).start()


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Processes that begin here never hear of Ctrl-C: the parent, which does not hear of it here
    either, ends them. Only begin them here."""
    heard = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, heard)


def leave_signals_to_the_parent() -> None:
    """In a worker of a `multiprocessing.Pool`. One that died while it waited for work would take
    the pool's lock with it, and the parent would wait for that lock for ever."""
    os.setpgid(0, 0)


def output_of(command: list[str], told: bytes = b"") -> bytes:
    """What a process prints that is told this. Whatever interrupts this one ends it."""
    with deaf_to_interrupts():
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        try:
            printed, _ = process.communicate(told)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return printed
