"""The floor that a node should have: every map's pressure, weighted and added up, on top of the
base price.

    floor(node) = base(node) x (1 + sum of weight x pressure), within floor_min and floor_max

In the market a leaf's floor is the highest on its path (M4), so a floor set at a row counts only
where it is above that of its tree. A row's floor is therefore made of everything on its path: the
highest base price at or above it, and the pressure of every map that names it or a node above it
(of a map that names several of those, the highest). As no pressure is negative, the deepest node
that has a price has the highest, and the leaf's floor is what all maps on its path add up to.
Reclaiming one allocated leaf is nothing else: a map that names that leaf.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from laissez.operators.base import Base
from laissez.operators.errors import MapError
from laissez.operators.inframap import InfraMap
from laissez.operators.places import path_of
from laissez.units import format_cents


class Term(msgspec.Struct, frozen=True, gc=False):
    """What one map adds to a floor: `weight x pressure` base prices."""

    name: str
    weight: float
    pressure: float


class Priced(msgspec.Struct, frozen=True, gc=False):
    """How the floor of a node came about: what is wanted, what is in force, and what is asked for
    now, if anything."""

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


class Priceable:
    """A node that gets a floor, with all that bears on it; worked out once."""

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
            (each, [above for above in path if above in each.nodes])
            for each in maps
            if not set(path).isdisjoint(each.nodes)
        ]

    def terms(self, pressures: Mapping[str, Mapping[str, float]]) -> tuple[Term, ...]:
        return tuple(
            Term(each.name, each.weight, max(pressures[each.name][node] for node in nodes))
            for each, nodes in self.maps
        )

    def wanted(self, base: int, terms: tuple[Term, ...]) -> int:
        """Weights and pressures are finite, but their sum need not be."""
        price = base * (1 + sum(term.weight * term.pressure for term in terms))
        return (
            max(self.lowest, min(self.highest, round(price)))
            if math.isfinite(price)
            else self.highest
        )
