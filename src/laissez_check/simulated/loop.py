"""An event loop whose time jumps from timer to timer: the same callbacks run in the same order
every time.

A process is a part of the world that can die. Its scheduled callbacks are dropped then, and those
that its code still schedules on its way out never run.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar, copy_context
from heapq import heappush
from types import FrameType
from typing import Any, TypeVar

TURNS_MAX = 400_000  # of one world: far more than any takes
CPU_S_MAX = 60.0  # the same
START_S = 1_000.0

H = TypeVar("H", bound=asyncio.Handle)


class Process:
    """A part of the world that ends as a whole."""

    def __init__(self) -> None:
        self.is_dead = False
        self.tasks: list[asyncio.Task[Any]] = []
        # Unfinished when it died, or finished with a result that nothing had awaited yet.
        self.cut_short: set[asyncio.Task[Any]] = set()


PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)


class Stuck(BaseException):
    """Nothing can happen any more, or something happens for ever. It is no `Exception`, so no code
    in the world catches it."""


class SimulatedLoop(asyncio.BaseEventLoop):
    _ready: deque[asyncio.Handle]  # the base class's own
    _scheduled: list[asyncio.TimerHandle]
    turns_max = TURNS_MAX

    def __init__(self) -> None:
        super().__init__()
        self._now = START_S
        self._selector = self  # its `select` does not wait
        self._clock_resolution = 1e-9
        self.turns = 0
        self._busy: Stuck | None = None
        self.connect: (
            Callable[[Callable[[], asyncio.BaseProtocol], str, int], Coroutine[Any, Any, Any]]
            | None
        ) = None
        self.unhandled: list[str] = []  # errors that no code awaited
        self.set_exception_handler(self._note_unhandled)
        self.set_task_factory(_task)

    def time(self) -> float:
        return self._now

    def jump(self, seconds: float) -> None:
        """Let time pass while nothing runs: the machine stands still."""
        self._now += seconds

    @contextmanager
    def watched(self, cpu_s_max: float = CPU_S_MAX) -> Iterator[None]:
        """End the loop after this much processor time, also in code that never pauses."""
        if threading.current_thread() is not threading.main_thread():  # where there are no signals
            yield
            return

        def stop(number: int, frame: FrameType | None) -> None:
            where = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else "an unknown place"
            self._busy = self._busy or Stuck(
                f"the world has taken {cpu_s_max:g} seconds of a processor and not come to its end:"
                f" at {where}"
            )
            raise self._busy

        before = signal.signal(signal.SIGVTALRM, stop)
        # Repeat it, for code that catches even this.
        signal.setitimer(signal.ITIMER_VIRTUAL, cpu_s_max, cpu_s_max)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)

    # -- for the base class

    def select(self, timeout: float | None) -> list[Any]:
        self.turns += 1
        if self._busy is not None:
            raise self._busy
        if timeout is None:
            raise Stuck("nothing is scheduled, and the world has not come to its end")
        if self.turns > self.turns_max:
            raise Stuck(
                f"the loop has turned {self.turns_max} times, and the world has not come to its end"
            )
        self._now += timeout
        return []

    def _process_events(self, events: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    def _note_unhandled(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        handle = context.get("handle")
        process = PROCESS.get() if handle is None else handle._context.get(PROCESS)
        if process is None or not process.is_dead:
            self.unhandled.append(f"{context.get('message')}: {context.get('exception')!r}")

    # -- scheduling

    def call_soon(  # type: ignore[override]
        self, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return _unless_dead(handle)

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heappush(self._scheduled, timer)
        timer._scheduled = True  # type: ignore[attr-defined]  # so that cancelling it is counted
        return _unless_dead(timer)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:  # type: ignore[override]
        """Run it at once: there is one thread."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    async def create_connection(
        self, protocol_factory: Any, host: Any = None, port: Any = None, **_: Any
    ) -> Any:
        assert self.connect is not None
        return await self.connect(protocol_factory, host, port)

    def begin(self, process: Process, work: Callable[..., Any], *args: Any) -> Any:
        """Call `work` as this process."""
        context = copy_context()
        context.run(PROCESS.set, process)
        return context.run(work, *args)

    def kill(self, process: Process) -> None:
        """End a process: none of its code runs any more."""
        process.is_dead = True
        process.cut_short = {task for task in process.tasks if not task.done()}
        for handle in [*self._ready, *self._scheduled]:
            if not handle.cancelled() and handle._context.get(PROCESS) is process:  # type: ignore[attr-defined]  # of asyncio
                process.cut_short.update(
                    heard for heard in handle._args if isinstance(heard, asyncio.Task)
                )
                handle.cancel()

    def bury(self, process: Process) -> None:
        """Drop its tasks. Their code sees an exception, and has no effect any more."""
        for task in process.tasks:
            if task.done() and task._log_traceback and task not in process.cut_short:
                self.unhandled.append(
                    f"no code awaited the result of {task.get_coro()!r}: {task.exception()!r}"
                )
        self.begin(process, _let_go, process.tasks)


def _task(loop: asyncio.AbstractEventLoop, coro: Any, **more: Any) -> asyncio.Task[Any]:
    task = asyncio.Task(coro, loop=loop, **more)
    process = PROCESS.get()
    if process is not None:
        process.tasks.append(task)
    return task


def _let_go(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        if not task.done():
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # of asyncio
            with suppress(BaseException):
                task.get_coro().close()
    tasks.clear()


def _unless_dead(handle: H) -> H:
    process = handle._context.get(PROCESS)  # type: ignore[attr-defined]  # of asyncio
    if process is not None and process.is_dead:
        handle.cancel()
    return handle
