"""Who a tenant is: plain data, drawn once, from which its world is made anew for every run."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, TypeAlias

import msgspec

from laissez.sim.scenario import INFERENCE_MODEL, Scenario
from laissez.sim.tenant import Adaptive, Trading
from laissez.sim.worlds.inference import Load
from laissez.sim.worlds.world import World
from laissez.tenants.dynamo import EngineProfile, built_in
from laissez.tenants.sailor import Planner, Shadow, Site, builtin_profile

Need: TypeAlias = list[tuple[int, float]]  # how many GPUs, from which instant on


class Planners:
    """Sailor's planners, one for each model, and Dynamo's engines, one for each type. They only
    remember what they have computed, so simulations may share them. Models train with Sailor's own
    `global_batch`, unless given.
    """

    def __init__(self, global_batch: int | None = None) -> None:
        self._global_batch = global_batch
        self._planners: dict[str, Planner] = {}
        self.engines: Mapping[str, EngineProfile] = built_in(INFERENCE_MODEL, 1)

    def get(self, model: str) -> Planner:
        if model not in self._planners:
            self._planners[model] = Planner(builtin_profile(model, self._global_batch))
        return self._planners[model]

    def shadow(
        self, model: str, scopes: tuple[str, ...], site: Site, topology_aware: bool
    ) -> Shadow:
        return Shadow(self.get(model), scopes, site, topology_aware=topology_aware)


class Makings(msgspec.Struct, frozen=True):
    """What tenants are drawn from: the scenario, the types in their shares of the cluster, and bins
    of recorded load, if there are any."""

    scenario: Scenario
    shares: Mapping[str, float]
    planners: Planners
    recorded: tuple[Load, ...] = ()


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """It comes at `start` and wants to be done at `due`; `scopes` are where it can run.

    `value` dollars for going from performance 0 to 1: known when all tenants are drawn.
    """

    kind: ClassVar[str]

    name: str
    start: int
    due: int
    scopes: tuple[str, ...]
    value: float = 0.0
    trading: Trading = Adaptive()

    @abstractmethod
    def make(self, scenario: Scenario, site: Site, planners: Planners) -> World:
        """Its world, from the beginning."""

    @abstractmethod
    def need(self, scenario: Scenario, shares: Mapping[str, float], planners: Planners) -> Need:
        """How many GPUs, of the types mixed in these shares, it needs from which instant on to meet
        its objective just so."""
