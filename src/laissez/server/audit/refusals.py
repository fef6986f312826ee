"""Refusals, and what is done beside the journal, on their way to the log: noted in the event loop,
within bounds, whoever asks however often.

So many a second and so many a day get a line of their own; all others are counted, by code and
holder, and become one line each per minute. Never written is what a caller sent: not a key, good or
wrong, not a body, not a path, not a problem's text, which may repeat any of them.
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
from laissez.wire.ids import KEY
from laissez.wire.limits import CLIENT_ID_MAX
from laissez.wire.problems import ProblemError
from laissez.wire.texts import code_of, explain

if TYPE_CHECKING:
    from laissez.server.auth import Principal

SECOND_US = 1_000_000
DAY_US = 86_400 * SECOND_US
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


class Noted(msgspec.Struct, frozen=True, gc=False):
    at: int
    code: str
    status: int
    operation: str = ""
    holder: str = ""
    key: str = ""
    claimed: str = ""
    address: str = ""
    id: str = ""
    times: int = 1
    until: int = 0
    keep_days: int = 0


class Refusals:
    """Belongs to the event loop of its gateway."""

    def __init__(self, clock: Clock) -> None:
        self.bounds = Audit()
        self.noted = 0  # since the start, each one
        self.lost = 0  # that could not be written
        self.digested_us = 0  # until when there are digests
        self._clock = clock
        self._waiting: list[Noted] = []
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
        """`secret` is a key that was not good: if it has the form of one, the id in it says which
        it was meant to be."""
        if isinstance(problem, Journaled):
            return
        self.noted += times
        at = self._clock.now()
        holder, key = ("", "") if principal is None else (principal.holder, principal.key)
        if not self._has_room(at):
            self._count(at, problem.code, problem.status, holder, times)
            return
        claimed = "" if key else claim(secret)
        shown = "" if _LIKE_A_KEY.search(id) else id[:CLIENT_ID_MAX]
        self._waiting.append(
            Noted(
                at,
                problem.code,
                problem.status,
                operation,
                holder,
                key,
                claimed,
                address(scope),
                shown,
                times,
            )
        )

    def note_done(self, operation: str, principal: Principal, scope: Mapping[str, Any]) -> None:
        """What changes something that is no part of the market, and so not in the journal: who
        signed in and out, and from where."""
        at = self._clock.now()
        if self._has_room(at):
            self._waiting.append(
                Noted(
                    at,
                    DONE,
                    200,
                    operation,
                    principal.holder,
                    principal.key,
                    address=address(scope),
                )
            )
        else:
            self._count(at, DONE, 200, principal.holder)

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

    def _count(self, at: int, code: str, status: int, holder: str, times: int = 1) -> None:
        which = (code, holder)
        if which not in self._sums and len(self._sums) >= SUMS_MAX:
            which = (code, OTHERS)
        if not self._sums:
            self._sums_since = at
        _, before, _ = self._sums.get(which, (0, 0, 0))
        self._sums[which] = status, before + times, at

    def take(self, whole: bool = False) -> list[Noted]:
        """What is to be written now, in the order of time; `whole`: sums that are not a minute old
        too."""
        taken, self._waiting = self._waiting, []
        now = self._clock.now()
        if self._sums and (
            whole
            or now - self._sums_since >= SUMS_EVERY_US
            or now // DAY_US != self._sums_since // DAY_US
        ):
            sums, self._sums = self._sums, {}
            taken += [
                Noted(at, code, status, holder=holder, times=times)
                for (code, holder), (status, times, at) in sums.items()
            ]
            taken.sort(key=lambda one: one.at)
        return taken


def claim(secret: str) -> str:
    """The id of the key that somebody claims to have; empty if what was sent does not even look
    like a key."""
    found = _KEY.match(secret)
    return "" if found is None else KEY + found[1]


def address(scope: Mapping[str, Any]) -> str:
    """Who called, as the network says, or a proxy that is believed: what a caller sent as its
    address, and is none, is passed over."""
    client = scope.get("client")
    # behind it comes the name of an interface, which may be anything
    host = str(client[0]).partition("%")[0] if client else ""
    try:
        ip_address(host)
    except ValueError:
        return ""
    return host
