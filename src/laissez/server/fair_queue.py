"""A fair queue with load shedding. Waiting work stands in one line per holder; lines are served
round robin, a little at a time.

While the server keeps up, work is done at once and the queue costs one reading of the clock. If
more arrives than one turn of the event loop can do, the rest waits, and between two turns replies
leave and new requests are read. A holder that sends much waits behind its own work only.

Shedding follows CoDel (RFC 8289): a queue that empties is a burst, a standing queue is overload. In
a line that has not been empty for a while, work that has waited too long is refused, which is
cheap, so that the work behind it is served in time. Once all lines have been late for a while, this
applies to every line. The operator is served first and never refused.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from laissez.exchange.commands import OPERATOR
from laissez.server.clock import Clock

# of work in one turn of the loop. New arrivals wait that long. Results of one turn are stored and
# sent together.
TURN_US = 2_000
PIECE_US = 400  # of work for one line at a time
# HTTP requests begun in one turn that continue in a task, for an unknown time
REQUESTS_MAX = 4
BAD_FOR_US = 100_000  # a line late for this long is overloaded, not bursting
RETRY_AFTER_S = 1.0


class CoalescedWrites:
    """Writes to each peer once, at the end of the work that produced several replies for it.

    Used in a `with` around that work. Leaving the write to the loop's next turn would delay replies
    by a whole turn when the server is behind."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._sends: list[Callable[[], None]] | None = None

    def send_soon(self, send: Callable[[], None]) -> None:
        """Call `send` at the end of the current work, or in the loop's next turn."""
        if self._sends is None:
            self._loop.call_soon(send)
        else:
            self._sends.append(send)

    def __enter__(self) -> None:
        assert self._sends is None
        self._sends = []

    def __exit__(self, *raised: object) -> None:
        sends, self._sends = self._sends, None
        for send in sends or ():
            send()


class Work(Protocol):
    """A waiting frame or request."""

    def carry_out(self, may_go_on: Callable[[], bool]) -> bool:
        """Do all or part of it, stopping when `may_go_on` says so; returns whether it is done."""

    def turn_away(self) -> int:
        """Refuse it cheaply; returns the number of requests refused."""


class Line:
    """The waiting work of one holder."""

    __slots__ = ("name", "since", "works")

    def __init__(self, name: str, since: int) -> None:
        self.name = name
        self.works: deque[tuple[int, Work]] = deque()
        self.since = since  # when it was last empty


class FairQueue:
    """Belongs to one event loop."""

    def __init__(self, clock: Clock, wait_us_max: int, writes: CoalescedWrites) -> None:
        self.shed = 0  # requests turned away since the start
        self.on_turn: Callable[[float], None] = lambda seconds: None  # the length of a turn
        self._clock = clock
        self._wait_us_max = wait_us_max
        self._writes = writes
        self._loop = asyncio.get_running_loop()
        self._lines: dict[str, Line] = {}
        self._ring: deque[Line] = deque()
        self._in_turn = False
        self._began = 0
        self._until = 0
        self._begun = 0  # HTTP requests begun in this turn that continue in a task
        self._late_since: int | None = None  # since when all lines have been late
        self._is_behind = False

    def __len__(self) -> int:
        """The number of waiting frames and requests."""
        return sum(len(line.works) for line in self._ring)

    def may_go_on(self) -> bool:
        """Whether new work can be done at once: nothing waits, and this turn is not over."""
        if self._ring:
            return False
        now = self._clock.now()
        if self._in_turn:
            return now < self._until
        self._begin(now)
        return True

    def may_begin(self) -> bool:
        """The same for an HTTP request."""
        return self.may_go_on() and self._begun < REQUESTS_MAX

    def in_time(self) -> bool:
        """Whether this turn still lasts."""
        return self._clock.now() < self._until

    def wait(self, name: str, work: Work) -> None:
        """Queue work behind that of its holder."""
        now = self._clock.now()
        line = self._lines.get(name)
        if line is None:
            line = self._lines[name] = Line(name, now)
            self._stand(line)
        line.works.append((now, work))
        if not self._in_turn:
            self._begin(now)

    def _stand(self, line: Line) -> None:
        if line.name == OPERATOR:
            self._ring.appendleft(line)
        else:
            self._ring.append(line)

    def _begin(self, now: int) -> None:
        self._in_turn = True
        self._began = now
        self._until = now + TURN_US
        self._begun = 0
        self._loop.call_soon(self._end)

    def _end(self) -> None:
        """The loop has come round and read new arrivals. Serve the waiting lines, if any."""
        self._in_turn = False
        now = self._clock.now()
        self.on_turn((now - self._began) / 1e6)
        if self._ring:
            self._begin(now)
            with self._writes:
                self._serve()

    def _serve(self) -> None:
        while (
            self._ring and self._begun < REQUESTS_MAX and (now := self._clock.now()) < self._until
        ):
            line = self._ring.popleft()
            try:
                self._turn_late_away(line, now)
                if line.works and (now := self._clock.now()) < self._until:
                    self._serve_one(line, now)
            finally:  # a bug in one answer must not block the line for ever
                if line.works:
                    self._stand(line)
                else:
                    del self._lines[line.name]
        if not self._ring:
            self._late_since = None
            self._is_behind = False

    def _serve_one(self, line: Line, now: int) -> None:
        arrived, work = line.works.popleft()
        until = min(self._until, now + PIECE_US)
        done = work.carry_out(lambda: self._clock.now() < until)
        if not done:
            line.works.appendleft((arrived, work))

    def begun(self) -> None:
        """Count an HTTP request that continues in a task."""
        self._begun += 1

    def _turn_late_away(self, line: Line, now: int) -> None:
        while line.works and now < self._until and self._is_bad(line, line.works[0][0], now):
            self.shed += line.works.popleft()[1].turn_away()
            now = self._clock.now()

    def _is_bad(self, line: Line, arrived: int, now: int) -> bool:
        """Whether work that arrived then has waited too long in an overloaded line, or while all
        lines are late."""
        if line.name == OPERATOR:
            return False
        if now - arrived <= self._wait_us_max:
            self._late_since = None
            return False
        if self._late_since is None:
            self._late_since = now
        self._is_behind = self._is_behind or now - self._late_since >= BAD_FOR_US
        return self._is_behind or now - line.since >= BAD_FOR_US
