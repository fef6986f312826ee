"""The user's command lines: hooks for the events of a lease, and probes, which print a number.

A command line runs in a shell of its own, in the folder of the task, with the facts in its
environment. At its timeout it is killed, together with its children. A failure is reported and does
not stop the trading: a failed checkpoint is no reason to lose the GPU as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

POLL_S: Final = 0.05  # between two checks for remaining children
GRACE_S: Final = 5.0  # between SIGTERM and SIGKILL
OUTPUT_BYTES_MAX: Final = 64 * 1024  # a probe prints a number


class ScriptFailed(Exception):
    """A command line failed."""


class Scripts:
    """Runs command lines, those of one lease one after the other in the order of events."""

    def __init__(self, folder: Path, timeout_s: float) -> None:
        self._folder = folder
        self._timeout_s = timeout_s
        self._last: dict[str, asyncio.Task[None]] = {}  # the latest of each lease

    def call(
        self,
        lease: str,
        line: str,
        facts: Mapping[str, str],
        then: Callable[[ScriptFailed | None], None],
    ) -> None:
        """Run a hook after the earlier ones of its lease; `then` gets its failure, or None."""
        before = self._last.get(lease)
        task = asyncio.create_task(self._after(before, line, facts, then))
        self._last[lease] = task
        task.add_done_callback(
            lambda done: self._last.pop(lease) if self._last.get(lease) is done else None
        )

    def is_busy(self, lease: str) -> bool:
        return lease in self._last

    @property
    def count(self) -> int:
        """The number of leases with a running hook."""
        return len(self._last)

    async def drain(self) -> None:
        """Wait until every hook has finished."""
        while self._last:
            await asyncio.gather(*self._last.values(), return_exceptions=True)

    async def probe(self, name: str, line: str) -> float:
        """The last number that a command line prints."""
        words = (await self._run(line, {}, capture=True)).split()
        try:
            number = float(words[-1])
        except (IndexError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise ScriptFailed(
                f"expected the probe {name} to print a number, found"
                f" {words[-1][:40] if words else 'nothing'!r}"
            )
        return number

    async def _after(
        self,
        before: asyncio.Task[None] | None,
        line: str,
        facts: Mapping[str, str],
        then: Callable[[ScriptFailed | None], None],
    ) -> None:
        if before is not None:
            await asyncio.wait([before])
        try:
            await self._run(line, facts, capture=False)
        except ScriptFailed as failed:
            then(failed)
        else:
            then(None)

    async def _run(self, line: str, facts: Mapping[str, str], capture: bool) -> str:
        try:
            process = await asyncio.create_subprocess_shell(
                line,
                cwd=self._folder,
                env={**os.environ, **facts},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE if capture else None,
                start_new_session=True,  # so that its children can be killed with it
            )
        except OSError as error:
            raise ScriptFailed(f"{line!r} cannot be started: {error.strerror}") from error
        try:
            async with asyncio.timeout(self._timeout_s):
                printed = await _finished(process)
        except TimeoutError:
            await _end(process)
            raise ScriptFailed(f"{line!r} was ended after {self._timeout_s:g} s") from None
        except asyncio.CancelledError:
            await _end(process)
            raise
        if process.returncode:
            raise ScriptFailed(f"{line!r} failed with exit status {process.returncode}")
        return printed.decode(errors="replace")


async def _finished(process: asyncio.subprocess.Process) -> bytes:
    """The end of its output, after it has exited."""
    printed = b""
    while process.stdout is not None and (more := await process.stdout.read(OUTPUT_BYTES_MAX)):
        printed = (printed + more)[-OUTPUT_BYTES_MAX:]
    await process.wait()
    return printed


async def _end(process: asyncio.subprocess.Process) -> None:
    """Terminate it with its children, and kill them after a while."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await process.wait()
                await _all_gone(process.pid)


async def _all_gone(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        while True:
            os.killpg(group, 0)
            await asyncio.sleep(POLL_S)
