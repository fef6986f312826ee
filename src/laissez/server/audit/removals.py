"""Which days the service removed because they were old, by its own lines; and how far those are
believed.

Whoever can write to the folder can add such a line, chained as it must be. So it is believed only
of days that were old: when it says that it was written, and by the clock of whoever verifies, since
a line may say that it is of next year.
"""

from __future__ import annotations

from typing import NamedTuple

from laissez.server.audit.files import REMOVED, first_kept
from laissez.server.audit.lines import Broken, Digest, Refusal
from laissez.server.settings import Audit
from laissez.wire.times import HOUR_US, TimeError, parse_time

# that of the service and that of whoever verifies; days are removed right after midnight
CLOCKS_DIFFER_US = HOUR_US
KEEP_DAYS_MIN = 1  # no setting is less


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
