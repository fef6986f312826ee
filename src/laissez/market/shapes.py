"""The shape of commands: the name of the first field with the wrong type, or "" if all is well.

Python checks no types at run time, and a float that slipped into a price would stay there; so the
fields are looked at as what they are, not as what they are declared to be. Numbers that no computer
word holds are refused here too, so that everything the market says can be encoded.
"""

from __future__ import annotations

from typing import Any, Final

from laissez.market.commands import Alternative, Band

WHOLE_MAX: Final = (1 << 62) - 1


def is_whole(value: Any) -> bool:
    """A whole number, and no boolean, of at most 62 bits."""
    if type(value) is not int:
        return False
    number: int = value
    return -WHOLE_MAX <= number <= WHOLE_MAX


def misshapen_place(command: Any) -> str:
    if type(command.tenant) is not str:
        return "tenant"
    return _misshapen_alternatives(command.alternatives)


def misshapen_amend(command: Any) -> str:
    if type(command.tenant) is not str:
        return "tenant"
    if not is_whole(command.order):
        return "order"
    return _misshapen_alternatives(command.alternatives)


def _misshapen_alternatives(alternatives: Any) -> str:
    if type(alternatives) is not tuple:
        return "alternatives"
    for alternative in alternatives:
        if not _is_a(alternative, Alternative):
            return "alternatives"
        if type(alternative.scope) is not str:
            return "scope"
        if not is_whole(alternative.bid):
            return "bid"
        if not is_whole(alternative.limit):
            return "limit"
    return ""


def misshapen_cancel(command: Any) -> str:
    if type(command.tenant) is not str:
        return "tenant"
    return "" if is_whole(command.order) else "order"


def misshapen_limit(command: Any) -> str:
    if type(command.tenant) is not str:
        return "tenant"
    if not is_whole(command.lease):
        return "lease"
    return "" if _is_number_or_none(command.limit) else "limit"


def misshapen_relinquish(command: Any) -> str:
    if type(command.tenant) is not str:
        return "tenant"
    if not is_whole(command.lease):
        return "lease"
    return "" if type(command.budget_spent) is bool else "budget_spent"


def misshapen_floor(command: Any) -> str:
    if type(command.node) is not str:
        return "node"
    return "" if _is_number_or_none(command.price) else "price"


def misshapen_controls(command: Any) -> str:
    if type(command.node) is not str:
        return "node"
    field = _misshapen_band("rise", command.rise) or _misshapen_band("fall", command.fall)
    if field:
        return field
    if not _is_number_or_none(command.hold_us):
        return "hold_us"
    return "" if _is_number_or_none(command.flash_us) else "flash_us"


def _misshapen_band(field: str, band: Any) -> str:
    if band is None:
        return ""
    if not _is_a(band, Band):
        return field
    if not is_whole(band.fraction_ppm):
        return "fraction_ppm"
    return "" if is_whole(band.interval_us) else "interval_us"


def misshapen_switch(command: Any) -> str:
    return "" if type(command.leaf) is str else "leaf"


def misshapen_close(command: Any) -> str:
    return "" if is_whole(command.before) else "before"


def misshapen_nothing(_: Any) -> str:
    return ""


def _is_a(value: Any, kind: type) -> bool:
    """Exactly this type. A function of its own so that the type checker, and with it the compiler,
    goes on taking the fields for anything."""
    return type(value) is kind


def _is_number_or_none(value: Any) -> bool:
    return value is None or is_whole(value)
