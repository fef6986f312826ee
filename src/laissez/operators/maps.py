"""The maps that come with LaissezCloud: power, cooling, carbon and utilisation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from msgspec import Meta

from laissez.operators.fields import Degrees, MapError, Pressure, Range, Seconds, Share
from laissez.operators.inframap import InfraMap, SignalMap
from laissez.operators.view import OperatorView


@dataclass(frozen=True, kw_only=True)
class PowerTelemetry(SignalMap):
    """The signal is drawn over provisioned power (Google's `measured_power_util`)."""

    cap: Share = 0.8

    def headroom(self, used: float) -> float:
        return (self.cap - used) / self.cap


@dataclass(frozen=True, kw_only=True)
class Power(PowerTelemetry):
    """The nearer a row is to its power cap, the higher its price, so that movable work leaves
    before anything must be capped. The pressure is 0 at a comfortable headroom, 1 without any, and
    rises beyond."""

    plausible: ClassVar[Range] = (0.0, 1.5)
    comfortable: Share = 0.1

    def pressure_at(self, value: float) -> float:
        return (self.comfortable - self.headroom(value)) / self.comfortable


@dataclass(frozen=True, kw_only=True)
class Cooling(SignalMap):
    """The warmer the air at the inlet of a rack (degrees Celsius), the higher its price.

    The pressure is 0 up to `comfortable_c`, 1 at `limit_c`, and rises beyond. The defaults are the
    upper ends of ASHRAE's recommended and class A1 allowable ranges. Sensors that lose their line
    report 0, 85 or 127, so these are implausible.
    """

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


@dataclass(frozen=True, kw_only=True)
class Carbon(SignalMap):
    """The dirtier the grid (grams of CO2 equivalent per kWh), the higher the price of work that can
    wait. The pressure is the share above the reference, so 1 at twice the reference. An unknown
    intensity is harmless, so the safe pressure is 0."""

    plausible: ClassVar[Range] = (0.0, 2000.0)  # a grid of lignite alone is at about 1,100
    reference: Annotated[float, Meta(ge=1, le=2000)]
    safe_pressure: Pressure = 0.0
    stale_after_s: Seconds = 7200.0  # grids publish every quarter of an hour or every hour

    def pressure_at(self, value: float) -> float:
        return (value - self.reference) / self.reference


@dataclass(frozen=True, kw_only=True)
class Utilisation(InfraMap):
    """The fuller a row beyond its target, the higher its price.

    The market knows which leaves are leased, so no telemetry is needed. The pressure is 0 up to the
    `target` share and 1 when every online leaf is leased. It feeds back on its own cause and relies
    on floors that fall slowly: a tenant that leaves does not find the row cheap again at once.
    """

    target: Annotated[float, Meta(ge=0, le=0.99)] = 0.8

    def pressure(self, node: str, values: Mapping[str, float], view: OperatorView) -> float:
        return (view.share_leased(node) - self.target) / (1 - self.target)
