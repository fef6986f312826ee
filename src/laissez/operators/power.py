"""Power headroom: the nearer a row comes to its power cap, the dearer it gets, so that work that
can move does before anything has to be capped.

The signal is the power drawn as a share of what the row is provisioned for (`measured_power_util`
of the Google traces). `headroom = (cap - used) / cap`; the pressure is 0 while the headroom is
comfortable, 1 when there is none left, and goes on rising beyond.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laissez.operators.fields import Range, Share
from laissez.operators.inframap import SignalMap


@dataclass(frozen=True, kw_only=True)
class PowerTelemetry(SignalMap):
    """What the telemetry means."""

    cap: Share = 0.8

    def headroom(self, used: float) -> float:
        return (self.cap - used) / self.cap


@dataclass(frozen=True, kw_only=True)
class Power(PowerTelemetry):
    """What it is worth."""

    plausible: ClassVar[Range] = (0.0, 1.5)
    comfortable: Share = 0.1

    def pressure_at(self, value: float) -> float:
        return (self.comfortable - self.headroom(value)) / self.comfortable
