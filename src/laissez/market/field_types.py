"""The types of a command's fields, checked at run time: Python does not hold callers to them.

A float that slipped into a price would stay there, and a number beyond 62 bits could not be
encoded. So fields are declared as `Any` here and looked at as what they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from laissez.market.commands import (
    AdvanceTime,
    Alternative,
    AmendOrder,
    Band,
    BringOnline,
    CancelOrder,
    CloseBooks,
    PlaceOrder,
    Relinquish,
    SetControls,
    SetFloor,
    SetLimit,
    TakeOffline,
)

WHOLE_MAX: Final = (1 << 62) - 1

# Given a field's name and value: the name of what has the wrong type, "" if nothing has.
Check: TypeAlias = Callable[[str, Any], str]


def wrong_field(command: Any) -> str:
    """The first field of a command with the wrong type; "" if all are right."""
    for field, check in _FIELDS[type(command)]:
        wrong = check(field, getattr(command, field))
        if wrong:
            return wrong
    return ""


def is_whole(value: Any) -> bool:
    """Whether it is an integer of at most 62 bits, and not a boolean."""
    if type(value) is not int:
        return False
    number: int = value
    return -WHOLE_MAX <= number <= WHOLE_MAX


def _text(field: str, value: Any) -> str:
    return "" if type(value) is str else field


def _whole(field: str, value: Any) -> str:
    return "" if is_whole(value) else field


def _whole_or_none(field: str, value: Any) -> str:
    return "" if value is None or is_whole(value) else field


def _flag(field: str, value: Any) -> str:
    return "" if type(value) is bool else field


def _alternatives(field: str, value: Any) -> str:
    if type(value) is not tuple:
        return field
    for alternative in value:
        if not _is_a(alternative, Alternative):
            return field
        if type(alternative.scope) is not str:
            return "scope"
        if not is_whole(alternative.bid):
            return "bid"
        if not is_whole(alternative.limit):
            return "limit"
    return ""


def _band(field: str, value: Any) -> str:
    if value is None:
        return ""
    if not _is_a(value, Band):
        return field
    if not is_whole(value.fraction_ppm):
        return "fraction_ppm"
    return "" if is_whole(value.interval_us) else "interval_us"


def _is_a(value: Any, kind: type) -> bool:
    """Whether it is exactly of this type. As a function of its own this does not narrow the type,
    so that the compiler still takes the fields for anything."""
    return type(value) is kind


_FIELDS: Final[dict[type, tuple[tuple[str, Check], ...]]] = {
    PlaceOrder: (("tenant", _text), ("alternatives", _alternatives)),
    AmendOrder: (("tenant", _text), ("order", _whole), ("alternatives", _alternatives)),
    CancelOrder: (("tenant", _text), ("order", _whole)),
    SetLimit: (("tenant", _text), ("lease", _whole), ("limit", _whole_or_none)),
    Relinquish: (("tenant", _text), ("lease", _whole), ("budget_spent", _flag)),
    SetFloor: (("node", _text), ("price", _whole_or_none)),
    SetControls: (
        ("node", _text),
        ("rise", _band),
        ("fall", _band),
        ("hold_us", _whole_or_none),
        ("flash_us", _whole_or_none),
    ),
    TakeOffline: (("leaf", _text),),
    BringOnline: (("leaf", _text),),
    AdvanceTime: (),
    CloseBooks: (("before", _whole),),
}
