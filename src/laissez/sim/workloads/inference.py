"""Inference services: load that comes in windows of 200 s, as the Azure traces of 2023 do, and objectives from Dynamo's documentation.

The figures are those of the traces (Patel et al., Splitwise, ISCA 2024). `conv`, conversations: 5.53 requests/s with 1155 and 211 tokens in the mean,
windows of 200 s from 4.07 over 5.47 to 7.78 requests/s. `code`, completions: 2.57 requests/s with 2048 and 28 tokens, windows from 0.16 over 2.76 to
4.66. One such stream keeps less than an engine busy, so a service is many of them: windows rise and fall together, as hours of the day do, while the
bursts within a window are each stream's own.

A service is worth the same for every request served in time, so that what it bids for is what its performance counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random
from typing import ClassVar, Final

import msgspec

from laissez.sim.scenario import Scenario
from laissez.sim.workloads.spec import Planners, Spec
from laissez.sim.worlds.inference import InferenceWorld, Load
from laissez.tenants.dynamo import Dynamo, Serving, Sla, built_in
from laissez.tenants.dynamo.credits import in_proportion
from laissez.tenants.dynamo.planner import planned
from laissez.tenants.dynamo.predictors import Steady
from laissez.tenants.sailor import Site
from laissez.tenants.units import HOUR_S, HOUR_US, SECOND_US

BIN_S: Final = 10
WINDOW_S: Final = 200
MODEL: Final = "llama-3.1-8b"

# (TTFT, ITL) in milliseconds: the examples of Dynamo's documentation (v0.7.0)
OBJECTIVES: Final = ((500, 50), (200, 20), (500, 30), (300, 10), (300, 25), (200, 10), (200, 20), (500, 20), (500, 50), (2000, 100))


class Traffic(msgspec.Struct, frozen=True):
    """`windows` and `bursts` are the coefficients of variation between windows, and of one stream's 10 s bins within one."""

    req_per_s: float
    isl: float
    osl: float
    isl_spread: float
    osl_spread: float
    lows: float
    windows: float
    bursts: float


TRAFFIC: Final[Mapping[str, Traffic]] = {
    "conv": Traffic(5.53, 1155.0, 211.0, 0.97, 0.77, 0.0, 0.17, 0.20),
    "code": Traffic(2.57, 2048.0, 28.0, 0.93, 2.5, 0.12, 0.33, 1.80),
}


class InferenceSpec(Spec, frozen=True, kw_only=True):
    kind: ClassVar[str] = "inference"

    sla: Sla
    loads: tuple[Load, ...]

    @property
    def req_per_s(self) -> float:
        return sum(load.requests for load in self.loads) / (len(self.loads) * BIN_S)

    def make(self, scenario: Scenario, site: Site, planners: Planners) -> InferenceWorld:
        table = scenario.inference
        intervals = round(table.hold_plan_seconds / table.plan_seconds)
        profiles = {tree: built_in(MODEL, 1)[tree] for tree in self.scopes}
        serving = Serving(profiles, self.sla, predictor=lambda: Steady(intervals), headroom=table.headroom, correct=False, credits=in_proportion)
        app = Dynamo(serving, self.scopes, self.value * HOUR_US / (self.due - self.start), self.req_per_s, cold_start_s=table.cold_seconds)
        return InferenceWorld(app, self.start, self.loads, BIN_S * SECOND_US, round(table.plan_seconds * SECOND_US))

    def need(self, shares: Mapping[str, float], planners: Planners) -> list[tuple[int, float]]:
        each = [(self.start + at * BIN_S * SECOND_US, engines(load, self.sla, shares)) for at, load in enumerate(self.loads)]
        return [*each, (self.due, 0.0)]


def engines(load: Load, sla: Sla, shares: Mapping[str, float]) -> float:
    """GPUs of the mix that serve the load just so; types that cannot meet an objective do nothing for it."""
    profiles = built_in(MODEL, 1)
    plan = planned({tree: profiles[tree] for tree in shares}, sla, load.requests / BIN_S, load.isl, load.osl)
    reads = sum(share * plan.capacity[tree].prefill for tree, share in shares.items())
    writes = sum(share * plan.capacity[tree].decode for tree, share in shares.items())
    return plan.prefill_need / reads + plan.decode_need / writes if reads and writes else math.inf


def draw_inference(chance: Random, name: str, start: int, scenario: Scenario, shares: Mapping[str, float], planners: Planners) -> InferenceSpec:
    table = scenario.inference
    traffic = TRAFFIC[chance.choice(sorted(TRAFFIC))]
    windows = max(1, round(chance.uniform(*table.hours) * HOUR_S / WINDOW_S))
    ttft_ms, itl_ms = chance.choice(OBJECTIVES)
    sla = Sla(traffic.isl, traffic.osl, ttft_ms, itl_ms)
    one = Load(traffic.req_per_s * BIN_S, traffic.isl, traffic.osl)
    streams = chance.uniform(*table.engines) / engines(one, sla, shares)
    loads = [load for _ in range(windows) for load in _window(chance, traffic, max(streams, 0.01))]
    return InferenceSpec(
        name=name,
        start=start,
        due=start + windows * WINDOW_S * SECOND_US,
        value=scenario.tenants.value,
        scopes=tuple(shares),
        sla=sla,
        loads=tuple(loads),
    )


def _window(chance: Random, traffic: Traffic, streams: float) -> list[Load]:
    """One window of so many streams together."""
    quiet = chance.random() < traffic.lows
    level = chance.uniform(0.05, 0.4) if quiet else _varied(chance, traffic.windows)
    bins = []
    for _ in range(WINDOW_S // BIN_S):
        requests = traffic.req_per_s * BIN_S * streams * level * _varied(chance, traffic.bursts / math.sqrt(max(1.0, streams)))
        few = max(1.0, math.sqrt(requests))  # the mean of many lengths varies less than one
        bins.append(Load(requests, traffic.isl * _varied(chance, traffic.isl_spread / few), traffic.osl * _varied(chance, traffic.osl_spread / few)))
    return bins


def _varied(chance: Random, variation: float) -> float:
    """A factor with mean 1 and that coefficient of variation."""
    shape = 1 / max(1e-6, variation) ** 2
    return chance.gammavariate(shape, 1 / shape)
