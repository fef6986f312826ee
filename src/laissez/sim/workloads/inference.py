"""Inference services: their load over time, drawn or recorded, and their objectives.

Drawn load has the statistics of the Azure traces of 2023 (Patel et al., Splitwise, ISCA 2024).
`conv`, conversations: 5.53 requests/s with means of 1155 and 211 tokens; between windows of 200 s
the rate varies by 20 %, with a correlation of 0.75 between neighbours; within a window, bins of
10 s vary by 17 % more. `code`, completions: 2.57 requests/s with 2048 and 28 tokens, 50 %, 0.52 and
160 %. One such stream keeps less than an engine busy, so a service consists of many streams. Their
windows rise and fall together, as the hours of a day do; the bursts within a window are
independent.

Recorded load comes from a public trace, multiplied to the size of the service. Repeating the trace
as it is would multiply its bursts as well. So each repetition is shifted by up to a minute, which
evens out what is shorter and keeps what is longer.

Every request that is served in time is worth the same to a service, so it bids for what its
performance counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import ClassVar, Final, Literal

import msgspec

from laissez.sim.scenario import Scenario, ScenarioError
from laissez.sim.workloads.spec import DrawContext, Need, Planners, Spec
from laissez.sim.worlds.inference import InferenceWorld, Load
from laissez.tenants.dynamo import Dynamo, Serving, Sla
from laissez.tenants.dynamo.credits import in_proportion
from laissez.tenants.dynamo.planner import planned
from laissez.tenants.dynamo.predictors import Steady
from laissez.tenants.sailor import HostLayout
from laissez.tenants.traces import Request, load_azure, load_mooncake
from laissez.units import HOUR_S, HOUR_US, SECOND_US

WINDOW_S: Final = 200
BIN_S: Final = 10
BIN_US: Final = BIN_S * SECOND_US
SHIFT_BINS: Final = 6

# (TTFT, ITL) in milliseconds: the examples in Dynamo's documentation (v0.7.0)
OBJECTIVES: Final = (
    *((500, 50), (200, 20), (500, 30), (300, 10), (300, 25)),
    *((200, 10), (200, 20), (500, 20), (500, 50), (2000, 100)),
)


class Traffic(msgspec.Struct, frozen=True):
    """One stream. The spreads are coefficients of variation: of lengths, between windows, and
    within one; `correlation` is that of neighbouring windows."""

    req_per_s: float
    isl: float
    osl: float
    isl_spread: float
    osl_spread: float
    windows: float
    correlation: float
    bursts: float


TRAFFIC: Final[Mapping[str, Traffic]] = {
    "conv": Traffic(5.53, 1155.0, 211.0, 0.97, 0.77, 0.20, 0.75, 0.17),
    "code": Traffic(2.57, 2048.0, 28.0, 0.93, 2.5, 0.50, 0.52, 1.60),
}


class InferenceSpec(Spec, frozen=True, kw_only=True):
    kind: ClassVar[str] = "inference"

    sla: Sla
    loads: tuple[Load, ...]

    @property
    def req_per_s(self) -> float:
        return sum(load.requests for load in self.loads) / (len(self.loads) * BIN_S)

    def make(self, scenario: Scenario, site: HostLayout, planners: Planners) -> InferenceWorld:
        table = scenario.inference
        intervals = round(table.hold_plan_seconds / table.plan_seconds)
        serving = Serving(
            {tree: planners.engines[tree] for tree in self.scopes},
            self.sla,
            predictor=lambda: Steady(intervals),
            headroom=table.headroom,
            correct=False,
            credits=in_proportion,
        )
        per_hour = self.value * HOUR_US / (self.due - self.start)
        believed_s = table.cold_seconds * scenario.tenants.believed_overhead
        app = Dynamo(serving, self.scopes, per_hour, self.req_per_s, cold_start_s=believed_s)
        plan_us = round(table.plan_seconds * SECOND_US)
        return InferenceWorld(app, self.start, self.loads, BIN_US, plan_us, table.cold_seconds)

    def need(self, scenario: Scenario, shares: Mapping[str, float], planners: Planners) -> Need:
        """The need that its planner would see if it knew the load in advance: whole engines with
        headroom, and those of the last peak for a while."""
        table = scenario.inference
        held = 1 + round(table.hold_plan_seconds / BIN_S)
        wanted = [
            sum(map(math.ceil, engines(load, self.sla, shares, planners, table.headroom)))
            for load in self.loads
        ]
        peaks = [max(wanted[max(0, at - held) : at + 1]) for at in range(len(wanted))]
        steps = [(self.start + at * BIN_US, float(count)) for at, count in enumerate(peaks)]
        return [*steps, (self.due, 0.0)]


def engines(
    load: Load, sla: Sla, shares: Mapping[str, float], planners: Planners, headroom: float = 1.0
) -> tuple[float, float]:
    """The prefill and decode engines of the mix that just serve the load. Types that cannot meet an
    objective do not count."""
    profiles = {tree: planners.engines[tree] for tree in shares}
    per_s = load.requests / BIN_S
    plan = planned(profiles, sla, per_s, load.isl, load.osl, headroom=headroom)
    prefill = sum(share * plan.capacity[tree].prefill for tree, share in shares.items())
    decode = sum(share * plan.capacity[tree].decode for tree, share in shares.items())
    return (
        plan.prefill_need / prefill if prefill else 0.0,
        plan.decode_need / decode if decode else 0.0,
    )


def draw_inference(rng: Random, name: str, start: int, context: DrawContext) -> InferenceSpec:
    table = context.scenario.inference
    windows = max(1, round(rng.uniform(*table.hours) * HOUR_S / WINDOW_S))
    wanted = rng.uniform(*table.engines)
    make = _recorded_loads if context.recorded else _drawn_loads
    sla, loads = make(rng, windows, wanted, context)
    return InferenceSpec(
        name=name,
        start=start,
        due=start + windows * WINDOW_S * SECOND_US,
        scopes=tuple(context.shares),
        sla=sla,
        loads=tuple(loads),
    )


def _recorded_loads(
    rng: Random, windows: int, wanted: float, context: DrawContext
) -> tuple[Sla, list[Load]]:
    """A stretch of the trace, multiplied until its mean load needs the `wanted` engines."""
    stretch = draw_stretch(rng, context.recorded, windows * WINDOW_S // BIN_S)
    sla = _draw_objectives(rng, mean_of(stretch, "isl"), mean_of(stretch, "osl"), context)
    shares, planners = context.shares, context.planners
    needed = sum(sum(engines(load, sla, shares, planners)) for load in stretch) / len(stretch)
    times = wanted / max(1e-9, needed)
    return sla, [Load(load.requests * times, load.isl, load.osl) for load in stretch]


def _drawn_loads(
    rng: Random, windows: int, wanted: float, context: DrawContext
) -> tuple[Sla, list[Load]]:
    traffic = TRAFFIC[rng.choice(sorted(TRAFFIC))]
    sla = _draw_objectives(rng, traffic.isl, traffic.osl, context)
    one = Load(traffic.req_per_s * BIN_S, traffic.isl, traffic.osl)
    streams = wanted / sum(engines(one, sla, context.shares, context.planners))
    levels = draw_levels(rng, traffic, windows)
    return sla, [draw_bin(rng, traffic, level, streams) for level in levels]


def _draw_objectives(rng: Random, isl: float, osl: float, context: DrawContext) -> Sla:
    """One of those that an engine of the cluster can meet for requests of these lengths."""
    slas = [Sla(isl, osl, ttft_ms, itl_ms) for ttft_ms, itl_ms in OBJECTIVES]
    one = Load(1.0, isl, osl)
    feasible = [sla for sla in slas if all(engines(one, sla, context.shares, context.planners))]
    if not feasible:
        raise ScenarioError(
            "inference: expected requests for which an engine of the cluster meets one of Dynamo's"
            f" objectives, found {isl:.0f} and {osl:.0f} tokens on {', '.join(context.shares)}"
        )
    return rng.choice(feasible)


def draw_levels(rng: Random, traffic: Traffic, windows: int) -> list[float]:
    """The level of load of each bin, with mean 1, interpolated between the middles of windows."""
    spread = math.sqrt(math.log(1 + traffic.windows**2))
    innovation = math.sqrt(1 - traffic.correlation**2)
    state = rng.gauss(0, 1)
    levels = []
    for _ in range(windows + 1):
        levels.append(math.exp(spread * state - spread**2 / 2))
        state = traffic.correlation * state + innovation * rng.gauss(0, 1)
    bins = WINDOW_S // BIN_S
    return [
        low + (high - low) * step / bins for low, high in pairwise(levels) for step in range(bins)
    ]


def draw_bin(rng: Random, traffic: Traffic, level: float, streams: float) -> Load:
    """One bin of that many streams together."""
    burst = _draw_factor(rng, traffic.bursts / math.sqrt(max(1.0, streams)))
    requests = traffic.req_per_s * BIN_S * streams * level * burst
    root = max(1.0, math.sqrt(requests))  # the mean of many lengths varies less than one
    return Load(
        requests,
        traffic.isl * _draw_factor(rng, traffic.isl_spread / root),
        traffic.osl * _draw_factor(rng, traffic.osl_spread / root),
    )


def _draw_factor(rng: Random, variation: float) -> float:
    """A factor with mean 1 and that coefficient of variation."""
    shape = 1 / max(1e-6, variation) ** 2
    return rng.gammavariate(shape, 1 / shape)


# -- recorded load


def read_bins(path: Path) -> tuple[Load, ...]:
    """A trace from its first request to its last full bin: Azure's CSV, or Mooncake's lines if the
    name has the suffix `.jsonl`."""
    return _read(path, path.stat().st_mtime_ns if path.exists() else 0)


@lru_cache(maxsize=4)  # every draw reads it again
def _read(path: Path, changed_at: int) -> tuple[Load, ...]:
    return to_bins(load_mooncake(path) if ".jsonl" in path.suffixes else load_azure(path))


def to_bins(requests: Sequence[Request]) -> tuple[Load, ...]:
    count = max(1, requests[-1].at_us // BIN_US)
    totals = [[0.0, 0.0, 0.0] for _ in range(count)]
    for request in requests:
        at = request.at_us // BIN_US
        if at < count:
            for place, number in enumerate((1.0, request.input_tokens, request.output_tokens)):
                totals[at][place] += number
    return tuple(_smoothed(totals, at) for at in range(count))


def _smoothed(totals: list[list[float]], at: int) -> Load:
    near = totals[max(0, at - SHIFT_BINS) : at + SHIFT_BINS + 1]
    requests, isl, osl = (sum(row[place] for row in near) for place in range(3))
    if not requests:
        return Load(0.0, 1.0, 1.0)
    return Load(requests / len(near), max(1.0, isl / requests), max(1.0, osl / requests))


def draw_stretch(rng: Random, bins: Sequence[Load], count: int) -> list[Load]:
    """`count` bins from a random one on, cyclically."""
    first = rng.randrange(len(bins))
    return [bins[(first + at) % len(bins)] for at in range(count)]


def mean_of(loads: Sequence[Load], length: Literal["isl", "osl"]) -> float:
    """The mean length over requests."""
    requests = sum(load.requests for load in loads)
    total = sum(load.requests * float(getattr(load, length)) for load in loads)
    return total / requests if requests else 1.0
