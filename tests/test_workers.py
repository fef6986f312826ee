"""Ctrl-C and the signal of `timeout` reach a whole group of processes: only the parent handles
them, no process is left over, and no wait hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.once

IDLE_WORKER = """
import multiprocessing, signal, sys
from laissez.workers import leave_signals_to_the_parent
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
with multiprocessing.get_context("spawn").Pool(1, leave_signals_to_the_parent) as pool:
    pool.apply(int)
    print("idle", flush=True)
    signal.pause()
"""


def test_a_signal_to_the_group_does_not_leave_the_parent_waiting() -> None:
    """The signal of `timeout`. A worker that waits for work holds a lock; if it died with the lock,
    all others would wait for ever."""
    with subprocess.Popen(
        [sys.executable, "-c", IDLE_WORKER], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            assert process.stdout is not None and b"idle\n" == process.stdout.readline()
            os.killpg(process.pid, signal.SIGTERM)
            assert 143 == process.wait(20)
        finally:
            process.kill()


WAITS_FOR_OUTPUT = """
import signal, sys
from laissez.workers import output_of
# Tests that run in the background ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
program = "import sys, time; print('begun', file=sys.stderr, flush=True); time.sleep(600)"
try:
    output_of([sys.executable, "-c", program])
except KeyboardInterrupt:
    sys.exit(7)
"""


def test_only_the_caller_of_output_of_gets_ctrl_c_and_it_ends_the_process() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WAITS_FOR_OUTPUT], stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            assert process.stderr is not None and b"begun\n" == process.stderr.readline()
            os.killpg(process.pid, signal.SIGINT)
            # reading ends: no process is left that could write
            assert (b"", 7) == (process.stderr.read(), process.wait(20))
        finally:
            process.kill()
