"""Worker processes that end with their parent. Only the parent handles Ctrl-C.

A terminal sends Ctrl-C to every process of its group, and so does `timeout` with its signal. There
are two ways to shield workers:

- `deaf_to_interrupts` around their start blocks Ctrl-C alone, from their first instant. `timeout`
  still ends them if the parent does not. Use `worker_pool` within it; `output_of` includes it.
- `leave_signals_to_the_parent` in each worker of a `multiprocessing.Pool` shields from both: the
  pool must not lose a worker except to its parent.
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
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


@contextmanager
def worker_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Worker processes. An exception in the block ends them at once: a running simulation has
    nothing to clean up."""
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
    """In a worker: end when the parent ends. A parent that is killed cannot end its workers."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait_and_end() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait_and_end, daemon=True).start()


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Processes started in this block never receive Ctrl-C; their parent must end them. The parent
    does not receive it in the block either, so do nothing else there."""
    heard = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, heard)


def leave_signals_to_the_parent() -> None:
    """Call it in a worker of a `multiprocessing.Pool`. A worker that died while waiting for work
    would keep the pool's lock, and the parent would wait for the lock for ever."""
    os.setpgid(0, 0)


def output_of(command: list[str], stdin: bytes = b"") -> bytes:
    """The output of a process. An exception here, such as Ctrl-C, ends the process."""
    with deaf_to_interrupts():
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        try:
            printed, _ = process.communicate(stdin)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return printed
