"""What a source gives: a value and when it was true, or why there is none. Nobody has looked yet
whether it makes sense."""

from __future__ import annotations

import msgspec


class Reading(msgspec.Struct, frozen=True, gc=False):
    """A value, and when it was true: microseconds, on the clock that also gives `now`."""

    value: float
    at: int


class Missing(msgspec.Struct, frozen=True, gc=False):
    """There is no reading, and why."""

    reason: str
