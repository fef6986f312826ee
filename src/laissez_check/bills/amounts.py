"""Amounts and times between text and whole numbers, without any code of the product: prices in
millionths of a dollar per hour, times in microseconds, charges as exact products of both."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

MICRO = 1_000_000
HOUR_US = 3_600 * MICRO
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def micro(text: str) -> int:
    """Millionths from decimal text."""
    exact = Fraction(text) * MICRO
    assert exact.denominator == 1, text
    return exact.numerator


def decimal(millionths: int) -> str:
    return f"{millionths // MICRO}.{millionths % MICRO:06d}"


def dollars(charge: int) -> str:
    """An exact charge in dollars, rounded down to a millionth."""
    return decimal(charge // HOUR_US)


def instant(text: str) -> int:
    """Microseconds since 1970 from RFC 3339 text."""
    return (datetime.fromisoformat(text) - EPOCH) // MICROSECOND


def when(us: int) -> str:
    text = (EPOCH + us * MICROSECOND).isoformat(timespec="microseconds")
    return text.replace("+00:00", "Z")
