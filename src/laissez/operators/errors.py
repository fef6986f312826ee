"""What can be wrong with what an operator wrote. Bad telemetry is none of this: that is an alarm,
and prices go on without it."""

from __future__ import annotations


class OperatorError(ValueError):
    """The root of all errors of this package."""


class MapError(OperatorError):
    """Settings of a map, a base price, a window, controls or a source that make no sense; the
    message says which and what was expected."""


class MapsFileError(OperatorError):
    """A `maps.toml` that cannot be used. One line for each mistake: file, table, field, what was
    expected, what was found."""


class TraceError(OperatorError):
    """A trace that cannot be read; the message names file and line."""
