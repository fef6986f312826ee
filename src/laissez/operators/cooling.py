"""Cooling: the warmer the air that a rack takes in, the dearer the rack.

The signal is the inlet temperature in degrees Celsius. The pressure is 0 up to `comfortable_c`, 1
at `limit_c` and goes on rising beyond. The defaults are the ends of ASHRAE's recommended (27
degrees) and class A1 allowable (32 degrees) ranges. A sensor that tells less than 1 or more than 70
degrees is taken to be broken: those that lose their line tell 0, 85 or 127.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laissez.operators.errors import MapError
from laissez.operators.fields import Degrees, Range
from laissez.operators.inframap import SignalMap


@dataclass(frozen=True, kw_only=True)
class Cooling(SignalMap):
    plausible: ClassVar[Range] = (1.0, 70.0)
    comfortable_c: Degrees = 27.0
    limit_c: Degrees = 32.0

    def __post_init__(self) -> None:
        if not self.comfortable_c < self.limit_c:
            raise MapError(
                f"limit_c: expected more than comfortable_c, which is {self.comfortable_c}, found"
                f" {self.limit_c}"
            )

    def pressure_at(self, value: float) -> float:
        return (value - self.comfortable_c) / (self.limit_c - self.comfortable_c)
