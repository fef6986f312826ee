"""Note refusals, sign-ins and sign-outs in the event loop, until the writer takes them.

The number of lines is bounded per second and per day. What is beyond is counted by code and holder,
one line each per minute. Nothing that a caller sent is ever written: no key, good or wrong, no
body, no path, and no problem's text, which may repeat any of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import msgspec

from laissez.exchange.refusals import Refusal
from laissez.server.clock import Clock
from laissez.server.settings import Audit
from laissez.units import HOUR_US, SECOND_US, format_time, parse_time
from laissez.wire.ids import KEY
from laissez.wire.limits import CLIENT_ID_MAX
from laissez.wire.problems import ProblemError
from laissez.wire.texts import code_of, explain

if TYPE_CHECKING:
    from laissez.server.auth import Principal

DAY_US = 24 * HOUR_US
SUMS_EVERY_US = 60 * SECOND_US
SUMS_MAX = 200  # pairs of code and holder that are counted apart; all others by their code
WAITING_MAX = 10_000  # lines, if the disk is slow or gone
OTHERS = "*"
DONE = "done"  # the code of what was not refused

_KEY = re.compile(r"lz_([0-9a-f]{16})_")
_LIKE_A_KEY = re.compile(r"lz_[0-9a-f]")


class Journaled(ProblemError):
    """A refusal that the journal holds, with who asked for what and why not."""

    def __init__(self, refusal: Refusal, holder: str) -> None:
        super().__init__(code_of(refusal), explain(refusal, holder))


class Line(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A line of the log. `holder` and `key` are proven; `claimed` is the id in a key that was not
    good. The line stands for `times` alike, the last of them at `at`. The writer sets `n` and
    `chain`."""

    n: int
    at: str
    code: str
    status: int = 0
    operation: str = ""
    holder: str = ""
    key: str = ""
    claimed: str = ""
    address: str = ""
    id: str = ""
    times: int = 1
    aside: str = ""  # the damaged database that held the lines before this one
    until: int = 0  # the last line that was removed because it was old
    keep_days: int = 0  # and how old a day had to be for that
    chain: str = ""

    @property
    def at_us(self) -> int:
        return parse_time(self.at)


class Refusals:
    """Belongs to the event loop of its gateway."""

    def __init__(self, clock: Clock) -> None:
        self.bounds = Audit()
        self.noted = 0  # since the start, each one
        self.lost = 0  # that could not be written
        self.digested_us = 0  # until when there are digests
        self._clock = clock
        self._waiting: list[Line] = []
        # status, how many, when the last was
        self._sums: dict[tuple[str, str], tuple[int, int, int]] = {}
        self._sums_since = 0
        self._second = self._day = 0
        self._this_second = self._this_day = 0

    def note(
        self,
        problem: ProblemError,
        operation: str,
        principal: Principal | None,
        scope: Mapping[str, Any],
        id: str = "",
        secret: str = "",
        times: int = 1,
    ) -> None:
        """`secret` is a key that was not good: the id in it says which it was meant to be."""
        if not isinstance(problem, Journaled):
            self.noted += times
            self._add(problem.code, problem.status, operation, principal, scope, id, secret, times)

    def note_done(self, operation: str, principal: Principal, scope: Mapping[str, Any]) -> None:
        """Sign-ins and sign-outs: they are no part of the market, and so not in the journal."""
        self._add(DONE, 200, operation, principal, scope)

    def _add(
        self,
        code: str,
        status: int,
        operation: str,
        principal: Principal | None,
        scope: Mapping[str, Any],
        id: str = "",
        secret: str = "",
        times: int = 1,
    ) -> None:
        at = self._clock.now()
        holder, key = ("", "") if principal is None else (principal.holder, principal.key)
        if not self._has_room(at):
            self._count(at, code, status, holder, times)
            return
        who = (holder, key, "" if key else claim(secret), address(scope))
        shown = "" if _LIKE_A_KEY.search(id) else id[:CLIENT_ID_MAX]
        self._waiting.append(Line(0, format_time(at), code, status, operation, *who, shown, times))

    def _has_room(self, at: int) -> bool:
        second, day = at // SECOND_US, at // DAY_US
        if second != self._second:
            self._second, self._this_second = second, 0
        if day != self._day:
            self._day, self._this_day = day, 0
        bounds = self.bounds
        has_room = (
            self._this_second < bounds.lines_per_second
            and self._this_day < bounds.lines_per_day
            and len(self._waiting) < WAITING_MAX
        )
        self._this_second += has_room
        self._this_day += has_room
        return has_room

    def _count(self, at: int, code: str, status: int, holder: str, times: int) -> None:
        which = (code, holder)
        if which not in self._sums and len(self._sums) >= SUMS_MAX:
            which = (code, OTHERS)
        if not self._sums:
            self._sums_since = at
        _, before, _ = self._sums.get(which, (0, 0, 0))
        self._sums[which] = status, before + times, at

    def take(self, whole: bool = False) -> list[Line]:
        """The lines to write now, in the order of time; `whole`: also sums that are not a minute
        old."""
        taken, self._waiting = self._waiting, []
        now = self._clock.now()
        is_due = (
            now - self._sums_since >= SUMS_EVERY_US or now // DAY_US != self._sums_since // DAY_US
        )
        if whole or is_due:
            sums, self._sums = self._sums, {}
            for (code, holder), (status, times, at) in sums.items():
                taken.append(Line(0, format_time(at), code, status, holder=holder, times=times))
            taken.sort(key=lambda line: line.at)
        return taken


def claim(secret: str) -> str:
    """The id of the key that somebody claims to have; empty if it does not look like a key."""
    found = _KEY.match(secret)
    return "" if found is None else KEY + found[1]


def address(scope: Mapping[str, Any]) -> str:
    """The caller's address, as the network or a trusted proxy says; empty if it is none."""
    client = scope.get("client")
    # behind "%" comes the name of an interface, which may be anything
    host = str(client[0]).partition("%")[0] if client else ""
    try:
        ip_address(host)
    except ValueError:
        return ""
    return host
