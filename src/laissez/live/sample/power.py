"""The power map of the sample: three racks, of which each in turn comes near its cap for a while."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from laissez.operators import Base, Composition, Operator, Pace, Power, Price, PythonCallable

ROUND_S: Final = 120.0  # until it is the same rack's turn again
TURN_S: Final = 25.0
QUIET, BUSY = 0.70, 0.79  # of what the rack is provisioned for; the span of Google's power domains in May 2019
RACKS: Final = ("h100/zone-a/rack1", "h100/zone-a/rack2", "h100/zone-b/rack1")
BASES: Final = {"h100": 2_000_000, "a100": 1_100_000}


def make_operator() -> Operator:
    maps = [Power(name=rack, nodes=(rack,), signal=rack, cap=0.8, comfortable=0.1, weight=1.0) for rack in RACKS]
    bases = [Base(node=node, price=Price(price), floor_max=Price(10 * price)) for node, price in BASES.items()]
    sources = {rack: PythonCallable(call=load(turn)) for turn, rack in enumerate(RACKS)}
    return Operator(Composition(bases=bases, maps=maps, pace=Pace(fall_per_minute=0.9, settle_s=1.0)), sources)


def load(turn: int) -> Callable[[int], float]:
    """The power of a rack as a share: high while it is its turn."""

    def measured(now: int) -> float:
        since_s = (now / 1_000_000 - turn * ROUND_S / len(RACKS)) % ROUND_S
        return BUSY if since_s < TURN_S else QUIET

    return measured
