"""The errors in an operator's settings, and the types of the settings with their ranges. Every
range is bounded, so no setting can be infinite."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from laissez.market.commands import DURATION_MAX_US
from laissez.units import SECOND_US

MINUTE_US: Final = 60 * SECOND_US

Text: TypeAlias = Annotated[str, Meta(min_length=1, max_length=4000)]
Node: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$",
        max_length=1100,
        description="the path of a node, such as h100/row1",
    ),
]
Nodes: TypeAlias = Annotated[tuple[Node, ...], Meta(min_length=1)]
Share: TypeAlias = Annotated[float, Meta(gt=0, le=1)]
Weight: TypeAlias = Annotated[float, Meta(ge=0, le=1000)]
Pressure: TypeAlias = Annotated[float, Meta(ge=0, le=1000)]
Seconds: TypeAlias = Annotated[float, Meta(gt=0, le=DURATION_MAX_US / SECOND_US)]
Degrees: TypeAlias = Annotated[float, Meta(ge=-50, le=150)]
Range: TypeAlias = tuple[float, float]


class OperatorError(ValueError):
    """The root of all errors of this package. Bad telemetry is an alarm and not an error."""


class MapError(OperatorError):
    """Settings of a map, base price, window, controls or source that make no sense. The message has
    the setting and the expectation."""


class MapsFileError(OperatorError):
    """A `maps.toml` that cannot be used. The message has a line for each mistake: file, table,
    field, expectation and value."""


class TraceError(OperatorError):
    """A trace that cannot be read. The message names file and line."""
