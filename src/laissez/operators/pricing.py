"""The wanted floor of a node: the base price, raised by the weighted pressures of all maps.

    floor(node) = base(node) x (1 + sum of weight x pressure), within floor_min and floor_max

In the market a leaf's floor is the highest on its path (M4), so the floor of a row counts only
where it exceeds that of its tree. Therefore a node's floor includes everything on its path: the
highest base price at or above it, and the pressure of every map that names it or a node above it
(of a map that names several of those, the highest). Pressures are not negative, so the deepest
priced node has the highest floor, and a leaf's floor is the sum of all maps on its path. To reclaim
a single leaf, name it in a map.

A base price belongs to a node, usually a root, and holds for all nodes below. It may vary by time
of day and week, in UTC: the first of `times` that covers the time gives the price. Hours that end
before they start cross midnight and belong to the day on which they start.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Annotated, Final, Literal, TypeAlias, get_args

import msgspec
from msgspec import Meta

from laissez.config import Price
from laissez.market.commands import PRICE_MAX
from laissez.operators.fields import MapError
from laissez.operators.inframap import InfraMap
from laissez.operators.view import path_of
from laissez.units import SECOND_US, format_cents

DAY_US: Final = 86_400 * SECOND_US
Day: TypeAlias = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: Final[tuple[Day, ...]] = get_args(Day)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MIDNIGHT: Final = time()
NOTHING: Final = Price(0)


class Hours(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"start": "from", "end": "to"},
):
    """From `start` to `end` on these days; the same time twice is the whole day."""

    price: Price
    days: Annotated[tuple[Day, ...], Meta(min_length=1)] = DAYS
    start: time = MIDNIGHT
    end: time = MIDNIGHT

    def covers(self, now: int) -> bool:
        moment = EPOCH + timedelta(microseconds=now)
        at, today = moment.time(), DAYS[moment.weekday()] in self.days
        if self.start == self.end:
            return today
        if self.start < self.end:
            return today and self.start <= at < self.end
        yesterday = DAYS[moment.weekday() - 1] in self.days
        return (today and at >= self.start) or (yesterday and at < self.end)


@dataclass(frozen=True, kw_only=True)
class Base:
    """The base price at a node, and the bounds of every floor from there down to the next base."""

    node: str
    price: Price
    floor_max: Price
    floor_min: Price = NOTHING
    times: tuple[Hours, ...] = ()

    def __post_init__(self) -> None:
        low, high = format_cents(self.floor_min), format_cents(self.floor_max)
        if not 0 <= self.floor_min <= self.floor_max <= PRICE_MAX:
            raise MapError(
                f'floor_max: expected at least floor_min, which is "{low}", found "{high}"'
            )
        for price in (self.price, *(hours.price for hours in self.times)):
            if not self.floor_min <= price <= self.floor_max:
                raise MapError(
                    "price: expected a base price within floor_min and floor_max,"
                    f' "{low}" to "{high}", found "{format_cents(price)}"'
                )

    def price_at(self, now: int) -> int:
        return next((hours.price for hours in self.times if hours.covers(now)), self.price)


class Term(msgspec.Struct, frozen=True, gc=False):
    """The part of one map in a floor: `weight x pressure` base prices."""

    name: str
    weight: float
    pressure: float


class Priced(msgspec.Struct, frozen=True, gc=False):
    """The terms of a floor, wanted and in force, and the price requested now, if any."""

    node: str
    base: int
    terms: tuple[Term, ...]
    wanted: int
    in_force: int
    asked: int | None

    def __str__(self) -> str:
        terms = "".join(
            f" + {term.weight:g} x {term.pressure:.3g} {term.name}"
            for term in self.terms
            if term.pressure
        )
        then = "nothing to do" if self.asked is None else f"ask for {format_cents(self.asked)}"
        return (
            f"{self.node}: {format_cents(self.base)} x (1{terms}) = {format_cents(self.wanted)},"
            f" in force {format_cents(self.in_force)}: {then}"
        )


class PricedNode:
    """A node that gets a floor, with the bases and maps on its path."""

    __slots__ = ("bases", "highest", "lowest", "maps", "node")

    def __init__(self, node: str, bases: Mapping[str, Base], maps: Sequence[InfraMap]) -> None:
        path = path_of(node)
        self.node = node
        self.bases = [bases[above] for above in path if above in bases]
        if not self.bases:
            raise MapError(
                f"{node}: expected a base price at it or above it, such as one for {path[0]}, found"
                " none"
            )
        self.lowest, self.highest = int(self.bases[-1].floor_min), int(self.bases[-1].floor_max)
        self.maps = [
            (each, named)
            for each in maps
            if (named := [above for above in path if above in each.nodes])
        ]

    def base_at(self, now: int) -> int:
        return max(base.price_at(now) for base in self.bases)

    def terms(self, pressures: Mapping[str, Mapping[str, float]]) -> tuple[Term, ...]:
        return tuple(
            Term(each.name, each.weight, max(pressures[each.name][node] for node in named))
            for each, named in self.maps
        )

    def wanted(self, base: int, terms: tuple[Term, ...]) -> int:
        price = base * (1 + sum(term.weight * term.pressure for term in terms))
        if not math.isfinite(price):  # the sum of finite terms may overflow
            return self.highest
        return max(self.lowest, min(self.highest, round(price)))
