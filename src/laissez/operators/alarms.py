"""Alarms: what an operator should know about and a machine cannot mend. They are values beside the
commands, told again with every decision for as long as they are true, and gone with the first in
which they are not.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class AlarmKind(StrEnum):
    """What is wrong. `docs/operators.md` says what each means and what to do."""

    MISSING = "missing"
    STALE = "stale"
    FROM_THE_FUTURE = "from_the_future"
    NOT_A_NUMBER = "not_a_number"
    OUT_OF_RANGE = "out_of_range"
    MAP_FAILED = "map_failed"
    UNKNOWN_NODE = "unknown_node"
    LEFT_OFFLINE = "left_offline"


class Alarm(msgspec.Struct, frozen=True, gc=False):
    """`where` is the map, window or node that is affected; `signal` the signal, empty if there is
    none; `since` is microseconds."""

    kind: AlarmKind
    where: str
    signal: str
    since: int
    reason: str

    @property
    def key(self) -> str:
        """What it is about. While that goes on being wrong it is one alarm, also if what is wrong
        with it changes."""
        return subject(self.where, self.signal)


def subject(where: str, signal: str) -> str:
    return f"{where}: {signal}"
