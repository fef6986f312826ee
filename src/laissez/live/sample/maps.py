"""The maps of the sample: three racks that take turns in nearing their power caps, a grid whose
carbon intensity varies, and a rack whose cables will be changed next week.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from laissez.operators import (
    Base,
    Carbon,
    Composition,
    Instant,
    Maintenance,
    Operator,
    Power,
    Price,
    PythonCallable,
    SlewLimits,
)
from laissez.operators.pricing import DAY_US
from laissez.units import HOUR_US, SECOND_US

ROUND_S: Final = 120.0  # until it is the same rack's turn again
TURN_S: Final = 25.0
# shares of the provisioned power; the span of Google's power domains in May 2019
QUIET, BUSY = 0.70, 0.79
RACKS: Final = {
    "power-a1": "h100/zone-a/rack1",
    "power-a2": "h100/zone-a/rack2",
    "power-b1": "h100/zone-b/rack1",
}
BASES: Final = {"h100": 2_000_000, "a100": 1_100_000}
# grams of CO2 equivalent per kWh, one after the other
GRID: Final = (280.0, 290.0, 300.0, 315.0, 330.0, 315.0, 300.0, 290.0)
GRID_S: Final = 90.0  # each of them; a step of at most 1 % of a floor


def make_operator(now: int) -> Operator:
    power = [
        Power(name=name, nodes=(rack,), signal=name, cap=0.8, comfortable=0.1, weight=1.0)
        for name, rack in RACKS.items()
    ]
    carbon = Carbon(name="grid", nodes=tuple(BASES), signal="grid", reference=300.0, weight=0.2)
    bases = [
        Base(node=node, price=Price(price), floor_max=Price(10 * price))
        for node, price in BASES.items()
    ]
    sources = {name: PythonCallable(call=load(turn)) for turn, name in enumerate(RACKS)} | {
        "grid": PythonCallable(call=intensity)
    }
    limits = SlewLimits(fall_per_minute=0.9, settle_s=1.0)
    return Operator(
        Composition(bases=bases, maps=[*power, carbon], maintenance=[cabling(now)], limits=limits),
        sources,
    )


def cabling(now: int) -> Maintenance:
    """Four hours of the night, a week from now."""
    start = (now // DAY_US + 7) * DAY_US + 2 * HOUR_US
    return Maintenance(
        name="cabling-a4",
        nodes=("a100/zone-a/rack4",),
        start=Instant(start),
        end=Instant(start + 4 * HOUR_US),
    )


def intensity(now: int) -> float:
    """The carbon intensity of the grid, which changes in steps as published data do."""
    return GRID[int(now / SECOND_US // GRID_S) % len(GRID)]


def load(turn: int) -> Callable[[int], float]:
    """The power of a rack as a share: high while it is its turn."""

    def measured(now: int) -> float:
        since_s = (now / SECOND_US - turn * ROUND_S / len(RACKS)) % ROUND_S
        return BUSY if since_s < TURN_S else QUIET

    return measured
