"""From the floor in force to the floor that is wanted: up at once, down slowly, and not for every
trembling.

- **Up at once.** A floor that has to rise protects something: power, cooling, a plan.
- **Down slowly.** A floor falls by at most `fall_per_minute` of itself, compounded, so it does not
  matter how often decisions are made. The clock starts when the floor wanted first is below the one
  in force, not when that was set.
- **No trembling.** A difference within `tolerance` is left alone until it has stood on one side for
  `settle_s`. Jitter around the floor in force changes sides all the time; a difference that stands
  does not.
- **The market may hold a floor up** (M16). What it clipped is not asked for again before a new
  interval of the band has surely begun.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from msgspec import Meta

from laissez.operators.fields import MINUTE_US, Share
from laissez.operators.memory import Course
from laissez.units import SECOND_US


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How floors move. A `fall_per_minute` of 1 lets them fall at once."""

    fall_per_minute: Share = 0.05
    tolerance: Annotated[float, Meta(ge=0, le=0.5)] = 0.01
    settle_s: Annotated[float, Meta(ge=0, le=86_400)] = 60.0


class Floor(NamedTuple):
    """A node's floor: the one wanted, the one in force, the highest there may be, and the interval
    of the fall band that governs it, if one does."""

    wanted: int
    in_force: int
    highest: int
    band_interval_us: int | None


def step(floor: Floor, before: Course | None, now: int, pace: Pace) -> tuple[int | None, Course]:
    """The price to ask for now, if any, and the course from now on."""
    side = (floor.wanted > floor.in_force) - (floor.wanted < floor.in_force)
    course = (
        before
        if before is not None and _goes_on(before, side, floor.in_force, now)
        else Course(side, now)
    )
    passed_us = now - course.since
    price = (
        floor.wanted
        if side > 0
        else max(floor.wanted, min(floor.highest, _fallen(floor.in_force, passed_us, pace)))
    )
    if not _is_worth_it(price, floor, passed_us, pace) or _was_clipped(course, floor, passed_us):
        return None, course
    return price, Course(side, now, price)


def _goes_on(before: Course, side: int, in_force: int, now: int) -> bool:
    """Whether it is the same movement as before. A rise that was asked for and came is over; a fall
    goes on step by step."""
    return (
        before.side == side and before.since <= now and not (side > 0 and before.asked == in_force)
    )


def _fallen(in_force: int, passed_us: int, pace: Pace) -> int:
    """How low the floor may be by now."""
    if pace.fall_per_minute == 1:
        return 0
    kept: float = (1 - pace.fall_per_minute) ** (passed_us / MINUTE_US)
    return math.floor(in_force * kept)


def _is_worth_it(price: int, floor: Floor, passed_us: int, pace: Pace) -> bool:
    trifle = pace.tolerance * floor.in_force
    if price == floor.in_force:
        return False
    if abs(floor.wanted - floor.in_force) <= trifle:
        return passed_us >= pace.settle_s * SECOND_US
    return price == floor.wanted or abs(price - floor.in_force) > trifle


def _was_clipped(course: Course, floor: Floor, passed_us: int) -> bool:
    """Whether the market did not let the floor fall to what was asked, and would not now. Without a
    band, what was asked was lost on its way."""
    if (
        course.side > 0
        or course.asked is None
        or course.asked >= floor.in_force
        or floor.band_interval_us is None
    ):
        return False
    return passed_us < floor.band_interval_us
