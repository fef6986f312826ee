"""What can be wrong with what the planner is given."""

from __future__ import annotations


class DynamoError(ValueError):
    """Something that no plan can be made from; the message says what was expected and what was
    found."""


class ProfileError(DynamoError):
    """An engine's profile that cannot be read or used."""


class SettingError(DynamoError):
    """A setting or an observation out of its range."""


def from_zero(name: str, value: float) -> float:
    """`value`, if it is a finite number from 0 on."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 <= value < float("inf")
    ):
        raise SettingError(f"expected {name} to be a number from 0 on, found {value!r}")
    return value


def above_zero(name: str, value: float) -> float:
    """`value`, if it is a finite number above 0."""
    if not from_zero(name, value):
        raise SettingError(f"expected {name} to be a number above 0, found {value!r}")
    return value
