"""Collect refusals, sign-ins and sign-outs in the event loop, until the writer takes them.

The number of lines per second and per day is limited. Refusals beyond the limit are counted by code
and holder, one line each per minute. Nothing sent by a caller is ever logged: no key, valid or not,
no body, no path, and no problem text, which may quote any of these.
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
SUMS_MAX = 200  # pairs of code and holder; beyond that, counts are by code only
WAITING_MAX = 10_000  # lines, while the disk is slow or fails
OTHERS = "*"
DONE = "done"  # the code of a request that was not refused

_KEY = re.compile(r"lz_([0-9a-f]{16})_")
_LIKE_A_KEY = re.compile(r"lz_[0-9a-f]")


class Journaled(ProblemError):
    """A refusal that the journal already records."""

    def __init__(self, refusal: Refusal, holder: str) -> None:
        super().__init__(code_of(refusal.reason), explain(refusal, holder))


class Line(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A line of the log. `holder` and `key` are authenticated; `claimed` is the id in an invalid
    key. The line stands for `times` equal events, the last of them at `at`. The writer sets `n` and
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
    aside: str = ""  # the damaged database with the lines before this one
    until: int = 0  # the last line removed by age
    keep_days: int = 0  # the retention at the time
    chain: str = ""

    @property
    def at_us(self) -> int:
        return parse_time(self.at)


class Refusals:
    """Used only in its gateway's event loop."""

    def __init__(self, clock: Clock) -> None:
        self.bounds = Audit()
        self.noted = 0  # refusals since the start
        self.lost = 0  # refusals that could not be written
        self.digested_us = 0  # days before this time have digests
        self._clock = clock
        self._waiting: list[Line] = []
        # status, count and time of the last
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
        """Note a refusal. `secret` is an invalid key, of which only the id is logged."""
        if not isinstance(problem, Journaled):
            self.noted += times
            self._add(problem.code, problem.status, operation, principal, scope, id, secret, times)

    def note_done(self, operation: str, principal: Principal, scope: Mapping[str, Any]) -> None:
        """Note a sign-in or sign-out, which is not in the journal."""
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
        """The lines to write now, by time. `whole` includes counts that are not due yet."""
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
    """The key id in a secret that was not accepted; empty if it does not look like a key."""
    found = _KEY.match(secret)
    return "" if found is None else KEY + found[1]


def address(scope: Mapping[str, Any]) -> str:
    """The caller's IP address, from the connection or a trusted proxy; empty if invalid."""
    client = scope.get("client")
    # "%" separates an interface name, which may be anything
    host = str(client[0]).partition("%")[0] if client else ""
    try:
        ip_address(host)
    except ValueError:
        return ""
    return host
