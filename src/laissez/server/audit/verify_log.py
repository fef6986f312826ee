"""Verify the log of refusals: each line follows from the one before it, and is in the file of its
day; days that are gone were removed because they were old.

Whoever can write to the folder can add a line that tells of a removal, chained as it must be. So
such a line is believed only of days that were old: by its own time, and by the clock of whoever
verifies, since a line may say that it is of next year.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from laissez.server.audit.log import (
    REMOVED,
    Broken,
    Digest,
    Refusal,
    days,
    first_kept,
    lines_of,
    path_of,
    read,
)
from laissez.server.settings import Audit
from laissez.units import HOUR_US, TimeError, parse_time

UNKNOWN = "?"  # the chain after a line that cannot be read
# that of the service and that of whoever verifies; days are removed right after midnight
CLOCKS_DIFFER_US = HOUR_US
KEEP_DAYS_MIN = 1  # no setting is less


@dataclass
class Verdict:
    """`problems` is empty if all is well; each names its place."""

    entries: int = 0
    head: str = ""
    replayed: int = 0  # entries that were carried out again, with the same outcome
    # after which entry each was taken that is what replaying gives
    snapshots: list[int] = field(default_factory=list)
    refusals: int = 0  # lines that were read
    first_refusal: int = 0
    last_refusal: int = 0
    refusals_chain: str = ""
    removed_lines: int = 0  # of days that are gone, and were old, as the service told
    removed_from: str = ""  # the first of those days
    removed_until: str = ""  # the last
    removed_after_days: int = 0  # how old each was at least
    digests: int = 0
    compared: int = 0  # digests kept elsewhere
    until: str = ""  # the last day that has a digest
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems

    def tell(self, where: str, what: str) -> None:
        self.problems.append(f"{where}: {what}")

    def read(self, path: Path) -> Iterator[tuple[int, bytes]]:
        """The lines of a file with their numbers. One that cannot be read is a problem, and has
        none."""
        try:
            return lines_of(path)
        except OSError as error:
            self.tell(path.name, f"it cannot be read: {error.strerror}")
            return iter(())


class Removal(NamedTuple):
    line: int
    until: int  # the last line that it removed
    keep_days: int
    first_kept: str  # the oldest day that had to stay


class Removals:
    """`keep_days` overrules what lines say of it. Without `now`, their time is believed."""

    def __init__(self, keep_days: int | None, now: int | None) -> None:
        self._keep_days = keep_days
        self._now = now
        self._told: list[Removal] = []

    def note(self, line: Refusal) -> None:
        if line.code != REMOVED:
            return
        try:
            at = parse_time(line.at)
        except TimeError as error:
            raise Broken(str(error)) from None
        if self._now is not None:
            at = min(at, self._now + CLOCKS_DIFFER_US)
        # lines of old do not say
        keep_days = max(KEEP_DAYS_MIN, self._keep_days or line.keep_days or Audit().keep_days)
        self._told.append(Removal(line.n, line.until, keep_days, first_kept(at, keep_days)))

    def of(self, day: Digest) -> Removal | None:
        """The line that tells of the day's removal, the latest; whether it is believed is another
        question."""
        return max(
            (one for one in self._told if day.refusals <= one.until),
            key=lambda one: one.first_kept,
            default=None,
        )


def was_old(day: Digest, removal: Removal) -> bool:
    return day.date < removal.first_kept


class Following:
    """What is wrong goes to the verdict, once for each break."""

    def __init__(
        self,
        folder: Path,
        beginning: str,
        digests: Collection[Digest],
        removals: Removals,
        verdict: Verdict,
    ) -> None:
        self.ends: dict[str, tuple[int, str]] = {}  # of each day that has a file: its last line
        self._folder = folder
        self._beginning = beginning
        self._digests = digests
        self._removals = removals
        self._verdict = verdict

    def check(self) -> None:
        before: Refusal | None = None
        for date in days(self._folder):
            path = path_of(self._folder, date)
            for number, stored in self._verdict.read(path):
                where = f"{path.name}, line {number}"
                try:
                    before = self._check_line(stored, before, date)
                except Broken as broken:
                    self._verdict.tell(where, str(broken))
                    before = _as_told(stored, before)
            if before is not None:
                self.ends[date] = before.n, before.chain
        if before is not None:
            self._verdict.last_refusal, self._verdict.refusals_chain = before.n, before.chain

    def _check_line(self, stored: bytes, before: Refusal | None, date: str) -> Refusal:
        n, chain = self._expected(stored) if before is None else (before.n + 1, before.chain)
        line = read(stored, Refusal, None)
        if line.n > n:
            raise Broken(f"lines {n} to {line.n - 1} are missing before it")
        if line.n < n:
            raise Broken(f"line {n} was expected here, {line.n} found")
        line = read(stored, Refusal, None if chain == UNKNOWN else chain)
        if not line.at.startswith(date):
            raise Broken(f"it is of {line.at[:10]}, and in the file of another day")
        if before is not None and line.at < before.at:
            raise Broken("its time lies before that of the line before it")
        self._verdict.refusals += 1
        self._removals.note(line)
        return line

    def _expected(self, stored: bytes) -> tuple[int, str]:
        """What the oldest line that is left must follow: the beginning, or the end of a day whose
        file was removed after its digest was made."""
        line = read(stored, Refusal, None)
        self._verdict.first_refusal = line.n
        ends = [digest for digest in self._digests if digest.refusals == line.n - 1]
        return (ends[-1].refusals + 1, ends[-1].refusals_chain) if ends else (1, self._beginning)


def _as_told(stored: bytes, before: Refusal | None) -> Refusal | None:
    """A line that is broken, as the one that the next must follow, so that one break is told
    once."""
    try:
        return read(stored, Refusal, None)
    except Broken:
        return None if before is None else Refusal(before.n + 1, before.at, "", chain=UNKNOWN)
