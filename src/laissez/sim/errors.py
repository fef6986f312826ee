"""What can be wrong with a scenario beyond its form."""

from __future__ import annotations


class ScenarioError(ValueError):
    """A scenario that cannot be run; the message names the place, what was expected and what was
    found."""
