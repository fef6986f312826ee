"""What one decision leaves to the next. It is plain data that travels through the caller, so that a
decision is a function of its view alone.

A caller that loses it (a restart) loses little, and always to the safe side: floors wait where they
are before they fall, alarms count from now, and leaves that a maintenance window took offline are
not brought online by themselves but named in an alarm. One that wants to lose nothing stores it: it
is a `msgspec.Struct`.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from laissez.operators.reading import Reading


class Course(msgspec.Struct, frozen=True, gc=False):
    """Where the floor of a node is heading: `side` is 1 to rise, -1 to fall, 0 to stay; `since`
    when that began, or when something was last asked for; `asked` is what was."""

    side: int
    since: int
    asked: int | None = None


class Memory(msgspec.Struct, frozen=True):
    """The course of each node's floor; since when each alarm stands; the last reading of each map's
    signals that could be used; and the leaves that maintenance took offline."""

    courses: Mapping[str, Course] = {}
    alarms: Mapping[str, int] = {}
    seen: Mapping[str, Reading] = {}
    taken: frozenset[str] = frozenset()
