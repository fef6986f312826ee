"""Seeds: whole numbers from 0 on."""

from __future__ import annotations

from laissez.config import shown
from laissez.sim.errors import ScenarioError


def check_seed(seed: object) -> None:
    """Refuse anything else: 1.0 and True are equal to 1, and would draw other tenants than 1
    does."""
    if type(seed) is not int or seed < 0:
        raise ScenarioError(f"seed: expected a whole number from 0 on, found {shown(seed)}")
