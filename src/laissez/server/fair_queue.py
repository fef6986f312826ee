"""A fair queue: work that has to wait stands in a line of its holder. Lines are served in turn,
a little at a time.

While the service keeps up nobody waits, and all this costs is a look at the clock. When more has
come than can be done in one turn of the event loop, the rest stands in line, and between two turns
answers go out and new requests are read. So one holder that sends much waits for itself alone.

A burst is waited out. A line that has not been empty for a while is not going to be: in it, whoever
has waited too long is turned away, which costs little, and those behind are served in time. So is
everybody who has waited too long once all have for a while, until nobody waits any more. (The
thought is that of CoDel, RFC 8289: a queue that empties is good, one that stands is bad.) The
operator is served first and never turned away.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from laissez.exchange.commands import OPERATOR
from laissez.server.clock import Clock
from laissez.server.coalesce import CoalescedWrites

# of work in one turn of the loop: who arrives meanwhile waits that long, and what is done together
# is stored and sent together
TURN_US = 10_000
PIECE_US = 2_000  # of work for one line at a time
# over HTTP in one turn: each is only begun here, carried out a moment later, and nobody knows how
# long that takes
REQUESTS_MAX = 4
BAD_FOR_US = 100_000  # a line that is late for so long stays so
RETRY_AFTER_S = 1.0


class Work(Protocol):
    """Something that somebody has asked for."""

    def carry_out(self, may_go_on: Callable[[], bool]) -> bool:
        """Do it, or a part of it, and stop when it may not go on; says whether it is done."""

    def turn_away(self) -> int:
        """Refuse it, as cheaply as can be; says how many requests that were."""


class Line:
    """What one holder waits for."""

    __slots__ = ("name", "since", "works")

    def __init__(self, name: str, since: int) -> None:
        self.name = name
        self.works: deque[tuple[int, Work]] = deque()
        self.since = since  # it was empty before that


class FairQueue:
    """Belongs to one event loop."""

    def __init__(self, clock: Clock, wait_us_max: int, writes: CoalescedWrites) -> None:
        self.shed = 0  # requests turned away since the start
        self.on_turn: Callable[[float], None] = lambda seconds: None  # how long a turn took
        self._clock = clock
        self._wait_us_max = wait_us_max
        self._writes = writes
        self._loop = asyncio.get_running_loop()
        self._lines: dict[str, Line] = {}
        self._ring: deque[Line] = deque()
        self._in_turn = False
        self._began = 0
        self._until = 0
        self._begun = 0  # requests over HTTP, in this turn
        self._late_since: int | None = None  # from when on everybody was late
        self._is_behind = False

    def __len__(self) -> int:
        """How many wait."""
        return sum(len(line.works) for line in self._ring)

    def may_go_on(self) -> bool:
        """Nobody waits, and this turn is not over: what has come can be done at once."""
        if self._ring:
            return False
        now = self._clock.now()
        if self._in_turn:
            return now < self._until
        self._begin(now)
        return True

    def may_begin(self) -> bool:
        """The same for a request over HTTP, which is only begun now; if so, it is."""
        if not self.may_go_on() or self._begun >= REQUESTS_MAX:
            return False
        self._begun += 1
        return True

    def in_time(self) -> bool:
        """Whether this turn still lasts, for whoever has begun something in it."""
        return self._clock.now() < self._until

    def wait(self, name: str, work: Work) -> None:
        """Let it stand in line."""
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
        """The loop has come round: what has arrived since has been read. If somebody waits, the
        next turn is theirs."""
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
            finally:  # a bug in one answer must not keep the others of the line waiting for ever
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
        """A request over HTTP that stood in line was begun."""
        self._begun += 1

    def _turn_late_away(self, line: Line, now: int) -> None:
        while line.works and now < self._until and self._is_bad(line, line.works[0][0], now):
            self.shed += line.works.popleft()[1].turn_away()
            now = self._clock.now()

    def _is_bad(self, line: Line, arrived: int, now: int) -> bool:
        """Has it waited for too long, in a line that has not been empty for a while, or while
        everybody has in all lines?"""
        if line.name == OPERATOR:
            return False
        if now - arrived <= self._wait_us_max:
            self._late_since = None
            return False
        if self._late_since is None:
            self._late_since = now
        self._is_behind = self._is_behind or now - self._late_since >= BAD_FOR_US
        return self._is_behind or now - line.since >= BAD_FOR_US
