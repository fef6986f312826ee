"""The slew-rate limiter of floors: up at once, down slowly, with a deadband.

- **Up at once.** A rising floor protects something: power, cooling, a plan.
- **Down slowly.** A floor falls by at most `fall_per_minute` of itself, compounded, so the interval
  of the decisions does not matter. The clock starts when the wanted floor is first below the one in
  force.
- **Deadband.** A difference within `tolerance` waits until it has kept its sign for `settle_s`.
  Jitter around the floor in force changes its sign all the time.
- **The market's own limit** (M16). A fall that the market's band clipped is not requested again
  before a new interval of the band has surely begun.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from msgspec import Meta

from laissez.operators.fields import MINUTE_US, Share
from laissez.operators.view import FloorState
from laissez.units import SECOND_US


@dataclass(frozen=True, kw_only=True)
class SlewLimits:
    """A `fall_per_minute` of 1 lets floors fall at once."""

    fall_per_minute: Share = 0.05
    tolerance: Annotated[float, Meta(ge=0, le=0.5)] = 0.01
    settle_s: Annotated[float, Meta(ge=0, le=86_400)] = 60.0


class Floor(NamedTuple):
    """A node's floor, its upper bound, and the interval of its fall band, if any."""

    wanted: int
    in_force: int
    highest: int
    band_interval_us: int | None


def step(
    floor: Floor, before: FloorState | None, now: int, limits: SlewLimits
) -> tuple[int | None, FloorState]:
    """The price to request now, if any, and the new state."""
    direction = (floor.wanted > floor.in_force) - (floor.wanted < floor.in_force)
    state = FloorState(direction, now)
    if before is not None and _continues(before, direction, floor.in_force, now):
        state = before
    passed_us = now - state.since
    price = floor.wanted
    if direction <= 0:
        price = max(price, min(floor.highest, _fallen(floor.in_force, passed_us, limits)))
    if not _is_due(price, floor, passed_us, limits) or _was_clipped(state, floor, passed_us):
        return None, state
    return price, FloorState(direction, now, price)


def _continues(before: FloorState, direction: int, in_force: int, now: int) -> bool:
    """A requested rise ends when it is in force; a fall continues step by step."""
    has_risen = direction > 0 and before.asked == in_force
    return before.direction == direction and before.since <= now and not has_risen


def _fallen(in_force: int, passed_us: int, limits: SlewLimits) -> int:
    """The lowest price that the floor may have fallen to."""
    if limits.fall_per_minute == 1:
        return 0
    kept: float = (1 - limits.fall_per_minute) ** (passed_us / MINUTE_US)
    return math.floor(in_force * kept)


def _is_due(price: int, floor: Floor, passed_us: int, limits: SlewLimits) -> bool:
    deadband = limits.tolerance * floor.in_force
    if price == floor.in_force:
        return False
    if abs(floor.wanted - floor.in_force) <= deadband:
        return passed_us >= limits.settle_s * SECOND_US
    return price == floor.wanted or abs(price - floor.in_force) > deadband


def _was_clipped(state: FloorState, floor: Floor, passed_us: int) -> bool:
    """Whether the market clipped the requested fall and would clip it again. Without a band, the
    request was lost on its way."""
    if state.direction > 0 or state.asked is None or state.asked >= floor.in_force:
        return False
    return floor.band_interval_us is not None and passed_us < floor.band_interval_us
