"""Carbon: the dirtier the grid, the dearer the hour, for work that can wait.

The signal is the carbon intensity of the site's grid in grams of CO2 equivalent per kilowatt-hour.
The pressure is the share by which it exceeds the reference, so 1 at twice the reference. Nothing
overheats when it is unknown, so it presses nothing then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from msgspec import Meta

from laissez.operators.fields import Pressure, Range, Seconds
from laissez.operators.inframap import SignalMap


@dataclass(frozen=True, kw_only=True)
class Carbon(SignalMap):
    plausible: ClassVar[Range] = (0.0, 2000.0)  # a grid of lignite alone is at about 1,100
    reference: Annotated[float, Meta(ge=1, le=2000)]
    safe_pressure: Pressure = 0.0
    stale_after_s: Seconds = 7200.0  # grids publish by the quarter or the full hour

    def pressure_at(self, value: float) -> float:
        return (value - self.reference) / self.reference
