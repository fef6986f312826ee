"""The power of two rows, sample by sample: from real files, the stretch around the first one's
largest jump, or made up with the same shape.

A jump takes a row from comfort, where its power raises no price, to where it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from statistics import fmean
from typing import Final

import msgspec

from laissez.config import Instant
from laissez.operators.maps import Power
from laissez.operators.sources import CsvTrace
from laissez.operators.view import Missing
from laissez.sim.kernel import random_stream
from laissez.units import SECOND_US
from laissez_experiments.lab.plan import Plan
from laissez_experiments.power.run import BEFORE, SAMPLE_S

AFTER: Final = 12  # samples from the jump on
QUICK_AFTER: Final = 5
COMFORTABLE: Final = Power.cap * (1 - Power.comfortable)  # up to here power raises no price
FILES_MAX: Final = 2

# of a series that is made up: within what Google's rows draw, from 0.61 to 0.79
CALM, JUMPED, OTHER, NOISE = 0.66, 0.77, 0.67, 0.003


class PowerSeriesError(Exception):
    """Files of power that the experiment cannot use; the message says which are expected."""


class TwoRows(msgspec.Struct, frozen=True, kw_only=True):
    """`pressed` jumps after `BEFORE` samples. `source` says where both are from."""

    pressed: tuple[float, ...]
    other: tuple[float, ...]
    source: str

    @property
    def calm(self) -> tuple[float, ...]:
        """The first row as it would be without the jump."""
        return (
            *self.pressed[:BEFORE],
            *self.pressed[BEFORE - 1 : BEFORE] * (len(self.pressed) - BEFORE),
        )


def two_rows(plan: Plan) -> TwoRows:
    after = QUICK_AFTER if plan.quick else AFTER
    if len(plan.power) > FILES_MAX:
        raise PowerSeriesError(
            f"expected one or two files of power, one for each row, found {len(plan.power)}"
        )
    if not plan.power:
        source = "made up, with levels as in Google's power traces of 2019"
        return TwoRows(
            pressed=_made_up("pressed", (CALM, JUMPED), after),
            other=_made_up("other", (OTHER, OTHER), after),
            source=source,
        )
    first, second = plan.power[0], plan.power[-1]
    samples = read_samples(first)
    at = _largest_jump(samples, after, first)
    if first == second:
        return TwoRows(
            pressed=_window(samples, at, after),
            other=_quietest(samples, after),
            source=f"{first.name}, around its largest jump and at its quietest",
        )
    others = read_samples(second)
    if len(others) < at + after:
        raise PowerSeriesError(
            f"{second}: expected at least {at + after} samples, as far as the jump in {first.name},"
            f" found {len(others)}"
        )
    return TwoRows(
        pressed=_window(samples, at, after),
        other=_window(others, at, after),
        source=f"{first.name} and {second.name}, around the largest jump",
    )


def read_samples(file: Path) -> list[float]:
    """The power in a file, every five minutes."""
    trace = CsvTrace(file=file, starts_at=Instant(0))
    found: list[float] = []
    for at in count():
        reading = trace.read(at * SAMPLE_S * SECOND_US)
        if isinstance(reading, Missing):
            return found
        found.append(reading.value)
    raise AssertionError("a trace that does not repeat ends")


def _largest_jump(samples: Sequence[float], after: int, file: Path) -> int:
    """From comfort to the highest power that lasts: the mean of all samples after it counts."""
    jumps = [
        at
        for at in range(BEFORE, len(samples) - after + 1)
        if max(samples[at - BEFORE : at]) <= COMFORTABLE < samples[at]
    ]
    if not jumps:
        asked = (
            f"{BEFORE} samples of power up to {COMFORTABLE:g} and then {after} that begin above it"
        )
        raise PowerSeriesError(
            f"{file}: expected a jump, {asked}, found none in {len(samples)} samples"
        )
    return max(
        jumps, key=lambda at: fmean(samples[at : at + after]) - max(samples[at - BEFORE : at])
    )


def _window(samples: Sequence[float], at: int, after: int) -> tuple[float, ...]:
    return tuple(samples[at - BEFORE : at + after])


def _quietest(samples: Sequence[float], after: int) -> tuple[float, ...]:
    return min(
        (_window(samples, at, after) for at in range(BEFORE, len(samples) - after + 1)), key=max
    )


def _made_up(row: str, levels: tuple[float, float], after: int) -> tuple[float, ...]:
    chance = random_stream(0, "power", row)
    return tuple(
        round(chance.gauss(level, NOISE), 3)
        for level, samples in zip(levels, (BEFORE, after), strict=True)
        for _ in range(samples)
    )
