"""What can be wrong with what the Sailor application is given."""

from __future__ import annotations


class SailorError(ValueError):
    """Something given to the Sailor application cannot be used; the message says what was expected,
    what was found and where."""


class ProfileError(SailorError):
    """A profile, read from a file or built in code, is incomplete or holds a number that no time
    can be made from."""


class PlanError(SailorError):
    """A plan does not fit its profile."""


class JobError(SailorError):
    """A training job was described, or its progress told, with a number that makes no sense."""
