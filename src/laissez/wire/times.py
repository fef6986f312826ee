"""Times as people and JSON write them: RFC 3339 in UTC with microseconds. Inside, time is whole
microseconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND_US = 1_000_000
HOUR_US = 3_600 * SECOND_US
_FORM = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,6})?([Zz]|[+-]\d{2}:\d{2})")


class TimeError(ValueError):
    """A text is not a time; the message says what was expected and what was found."""


@lru_cache(16)  # thousands of times in a row share a second
def _format_second(second: int) -> str:
    # strftime writes the year 1 as 1, which is no time any more
    return (_EPOCH + timedelta(seconds=second)).isoformat()[:19]


def format_time(us: int) -> str:
    return f"{_format_second(us // SECOND_US)}.{us % SECOND_US:06d}Z"


def parse_time(text: str) -> int:
    """Microseconds since 1970 from text such as "2026-11-15T08:30:00Z" or
    "2026-11-15T09:30:00.25+01:00"."""
    try:
        if _FORM.fullmatch(text) is None:
            raise ValueError
        moment = datetime.fromisoformat(text.upper().replace(" ", "T"))
        return (moment - _EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        raise TimeError(
            f'expected a time such as "2026-11-15T08:30:00Z", found {text[:40]!r}'
        ) from None
