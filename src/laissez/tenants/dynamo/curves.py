"""Latencies between profiled points: along one curve, and from one curve to another.

Noise only ever adds to a latency. So where a sweep falls although there is more to do, the higher
point is the wrong one, and is lowered.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from laissez.tenants.dynamo.errors import ProfileError

# from which x on, the latency there, and how much more it is how much further
Line: TypeAlias = tuple[float, float, float, float]


class Curve(msgspec.Struct, frozen=True):
    """A latency that never falls, linear between points."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]

    def at(self, x: float) -> float:
        since, ms, rise, width = self.line(x)
        return ms + rise * ((x - since) / width)

    def line(self, x: float) -> Line:
        """The straight part on which `x` lies."""
        xs, ys = self.xs, self.ys
        after = bisect_left(xs, x)
        if after in (0, len(xs)):
            return 0.0, ys[max(0, after - 1)], 0.0, 1.0
        return xs[after - 1], ys[after - 1], ys[after] - ys[after - 1], xs[after] - xs[after - 1]


def curve(name: str, points: Sequence[tuple[float, float]]) -> Curve:
    """The curve through `points` of x and milliseconds, in any order."""
    if not points:
        raise ProfileError(f"{name}: expected at least one point, found none")
    for x, y in points:
        if not 0 < x < math.inf or not 0 < y < math.inf:
            raise ProfileError(f"{name}: expected finite numbers above 0, found {y} ms at {x}")
    ordered = sorted(points)
    xs = tuple(float(x) for x, _ in ordered)
    if len(set(xs)) < len(xs):
        raise ProfileError(f"{name}: expected each point once, found one twice in {xs}")
    ys = [float(y) for _, y in ordered]
    for at in range(len(ys) - 2, -1, -1):
        ys[at] = min(ys[at], ys[at + 1])
    return Curve(xs, tuple(ys))


class Band:
    """What lies between two curves. Between neighbouring points of either, both are straight: one
    search finds the place on both."""

    __slots__ = ("edges", "high", "lines", "low")

    def __init__(self, low: Curve, high: Curve) -> None:
        self.low, self.high = low, high
        self.edges = sorted({*low.xs, *high.xs})
        self.lines = [(*low.line(x), *high.line(x)) for x in (*self.edges, math.inf)]

    def at(self, x: float, share: float) -> float:
        """The latency at `x`, so far from the low curve to the high one."""
        low, low_ms, low_rise, low_width, high, high_ms, high_rise, high_width = self.lines[
            bisect_left(self.edges, x)
        ]
        ms = low_ms + low_rise * ((x - low) / low_width)
        return ms + (high_ms + high_rise * ((x - high) / high_width) - ms) * share
