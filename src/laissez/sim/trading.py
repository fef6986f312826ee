"""How a tenant deals with its cloud: through the adapter of what it runs, or as it would today,
with so many GPUs at one price."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from laissez.sim.worlds.world import World
from laissez.tenants import EconAdapter, Terms
from laissez.tenants.templates import OnDemand, Spot
from laissez.units import MICRO_PER_DOLLAR


class Adaptive(msgspec.Struct, frozen=True, tag="adaptive"):
    """What it runs says what a GPU is worth; `budget` dollars bound what it spends in all."""

    budget: float | None = None


class Fixed(msgspec.Struct, frozen=True, tag="fixed"):
    """`nodes` GPUs, each for up to `price` dollars per hour, for as long as it is there."""

    nodes: int
    price: float
    template: str = "on-demand"  # or `spot`


Trading = Adaptive | Fixed
TEMPLATES: dict[str, Callable[[tuple[str, ...], int, float], OnDemand | Spot]] = {
    "on-demand": OnDemand,
    "spot": Spot,
}


def trader(
    name: str, trading: Trading, world: World, scopes: tuple[str, ...], moves_max: int
) -> EconAdapter:
    """Who trades for the tenant."""
    match trading:
        case Fixed(nodes, price, template):
            return EconAdapter(name, TEMPLATES[template](scopes, nodes, price), Terms(moves_max=0))
        case Adaptive(budget):
            return EconAdapter(
                name,
                world.app,
                Terms(
                    moves_max=moves_max,
                    budget=None if budget is None else round(budget * MICRO_PER_DOLLAR),
                ),
            )
