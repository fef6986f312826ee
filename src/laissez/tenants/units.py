"""The units that the tenants' side counts in: instants are microseconds and prices micro-dollars,
whatever an application calls hours and dollars."""

from __future__ import annotations

from typing import Final

SECOND_US: Final = 1_000_000
HOUR_S: Final = 3600
HOUR_US: Final = HOUR_S * SECOND_US
MICRO: Final = 1_000_000  # micro-dollars in a dollar
