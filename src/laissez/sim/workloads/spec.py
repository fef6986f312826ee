"""A tenant as plain data, drawn once. Every run makes its world anew from it."""

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
from laissez.tenants.sailor import HostLayout, Planner, WhatIf, builtin_profile

Need: TypeAlias = list[tuple[int, float]]  # GPUs, each from its time on


class Planners:
    """Sailor's planners by model, and Dynamo's engines by type. They only cache what they compute,
    so simulations may share them. Models train with Sailor's own `global_batch` by default."""

    def __init__(self, global_batch: int | None = None) -> None:
        self._global_batch = global_batch
        self._planners: dict[str, Planner] = {}
        self.engines: Mapping[str, EngineProfile] = built_in(INFERENCE_MODEL, 1)

    def get(self, model: str) -> Planner:
        if model not in self._planners:
            self._planners[model] = Planner(builtin_profile(model, self._global_batch))
        return self._planners[model]

    def what_if(
        self, model: str, scopes: tuple[str, ...], site: HostLayout, topology_aware: bool
    ) -> WhatIf:
        return WhatIf(self.get(model), scopes, site, topology_aware=topology_aware)


class DrawContext(msgspec.Struct, frozen=True):
    """The input of the draws. `shares` are the types with their shares of the cluster, `recorded`
    the bins of a trace, if there is one."""

    scenario: Scenario
    shares: Mapping[str, float]
    planners: Planners
    recorded: tuple[Load, ...] = ()


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """The tenant arrives at `start`, wants to be done at `due`, and can run on `scopes`. `value`,
    known once all tenants are drawn, is the worth in dollars of performance 1 over 0."""

    kind: ClassVar[str]

    name: str
    start: int
    due: int
    scopes: tuple[str, ...]
    value: float = 0.0
    trading: Trading = Adaptive()

    @abstractmethod
    def make(self, scenario: Scenario, site: HostLayout, planners: Planners) -> World:
        """Its world at the start."""

    @abstractmethod
    def need(self, scenario: Scenario, shares: Mapping[str, float], planners: Planners) -> Need:
        """The GPUs over time, in this mix of types, with which it just meets its objective."""
