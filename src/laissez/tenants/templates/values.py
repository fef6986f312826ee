"""Reading single values: text, numbers, money, durations and times. Each says what it expects, and
gives whole numbers where rounding would hurt."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

from laissez.market.commands import DURATION_MAX_US, PRICE_MAX, TIME_MAX_US
from laissez.tenants.templates.document import Field
from laissez.tenants.terms import PRICE_MIN
from laissez.tenants.units import MICRO, SECOND_US

BUDGET_MAX: Final = 10**15  # micro-dollars: a billion dollars
NUMBER_MAX: Final = 1e9
UNITS_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DECIMAL: Final = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")
_MONEY: Final = re.compile(r"[0-9]{1,15}(\.[0-9]{1,6})?")
_WHOLE: Final = re.compile(r"0|[1-9][0-9]{0,14}")
_DURATION: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)([smhd])")
_MOMENT: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,6})?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
)
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def text(field: Field, expected: str) -> str:
    found = field.scalar("str")
    if found is None or not found.strip():
        raise field.unlike(
            expected,
            "put it in quotes" if field.scalar("int", "float", "bool", "timestamp") else "",
        )
    return found


def name(field: Field, expected: str) -> str:
    """A name of letters, digits, dots, dashes and underscores, as nodes have."""
    found = text(field, expected)
    if not is_name(found):
        raise field.unlike(f"{expected}, of at most 64 letters, digits, '.', '_' or '-'")
    return found


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def command(field: Field) -> str:
    found = text(field, "a command such as ./start.sh")
    if "\0" in found:
        raise field.unlike("a command without NUL characters")
    return found


def choice(field: Field, choices: tuple[str, ...]) -> str:
    found = field.scalar("str")
    if found not in choices:
        raise field.unlike(f"one of {', '.join(choices)}")
    return found


def flag(field: Field) -> bool:
    found = field.scalar("bool")
    if found is None:
        raise field.unlike("true or false")
    return found.lower() in ("true", "yes", "on")


def whole(field: Field, least: int, most: int) -> int:
    found = field.scalar("int")
    if found is None or not _WHOLE.fullmatch(found) or not least <= int(found) <= most:
        raise field.unlike(f"a whole number from {least} to {most}")
    return int(found)


def number(field: Field, most: float = NUMBER_MAX) -> float:
    """A number above 0."""
    found = field.scalar("int", "float")
    if found is None or not _DECIMAL.fullmatch(found) or not 0 < float(found) <= most:
        raise field.unlike(f"a number above 0 and at most {most:g}")
    return float(found)


def margin(field: Field) -> float:
    """A share that leaves something: from 0 to below 1."""
    found = field.scalar("int", "float")
    if found is None or not _DECIMAL.fullmatch(found) or not float(found) < 1:
        raise field.unlike("a share from 0 to below 1, such as 0.1")
    return float(found)


def price(field: Field) -> int:
    """Micro-dollars per hour."""
    return _money(field, PRICE_MIN, PRICE_MAX, "dollars per hour")


def money(field: Field) -> int:
    """Micro-dollars."""
    return _money(field, 1, BUDGET_MAX, "dollars")


def dollars(micro: int) -> float:
    return micro / MICRO


def _money(field: Field, least: int, most: int, unit: str) -> int:
    found = field.scalar("str", "int", "float")
    if found is None or not _MONEY.fullmatch(found):
        raise field.unlike(f'{unit}, digits with at most 6 decimals such as "6.50"')
    micro = int(Decimal(found) * MICRO)
    if not least <= micro <= most:
        raise field.unlike(f"{unit} from {Decimal(least) / MICRO:f} to {most // MICRO}")
    return micro


def duration_us(field: Field, least_us: int = 0) -> int:
    found = _DURATION.fullmatch(field.scalar("str") or "")
    if found is None:
        raise field.unlike("a duration with its unit, such as 90s, 15m, 6h or 2d")
    micro = int(Decimal(found[1]) * UNITS_S[found[2]] * SECOND_US)
    if not least_us <= micro <= DURATION_MAX_US:
        raise field.unlike(
            f"a duration from {least_us // SECOND_US}s to {DURATION_MAX_US // (86400 * SECOND_US)}d"
        )
    return micro


def duration_s(field: Field, least_s: int = 0) -> float:
    return duration_us(field, least_s * SECOND_US) / SECOND_US


def moment(field: Field) -> int | None:
    """Microseconds since 1970, if it looks like a time."""
    found = field.scalar("str", "timestamp") or ""
    if not _MOMENT.fullmatch(found):
        return None
    try:
        us = (datetime.fromisoformat(found.upper().replace(" ", "T")) - _EPOCH) // timedelta(
            microseconds=1
        )
    except (ValueError, OverflowError):
        us = -1
    if not 0 <= us <= TIME_MAX_US:
        raise field.unlike("a time that exists, such as 2026-11-20T18:00:00Z")
    return us


def shown_time(us: int) -> str:
    return (
        (_EPOCH + timedelta(microseconds=us)).isoformat() if 0 <= us <= TIME_MAX_US else f"{us} us"
    )
