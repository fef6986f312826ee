"""Inference services: load like that of the Azure traces of 2023, and objectives from Dynamo's
documentation.

The figures were computed from the traces (Patel et al., Splitwise, ISCA 2024). `conv`,
conversations: 5.53 requests/s with 1155 and 211 tokens in the mean; from one window of 200 s to the
next the rate varies by 20 % and goes with the one before (correlation 0.75); within a window, bins
of 10 s vary by 17 % more. `code`, completions: 2.57 requests/s with 2048 and 28 tokens, 50 %, 0.52
and 160 %. One such stream keeps less than an engine busy, so a service is many of them: their
windows rise and fall together, as hours of the day do, while the bursts within a window are each
stream's own.

A service is worth the same for every request served in time, so that what it bids for is what its
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
from laissez.sim.workloads.spec import Makings, Need, Planners, Spec
from laissez.sim.worlds.inference import InferenceWorld, Load
from laissez.tenants.dynamo import Dynamo, Serving, Sla
from laissez.tenants.dynamo.credits import in_proportion
from laissez.tenants.dynamo.planner import planned
from laissez.tenants.dynamo.predictors import Steady
from laissez.tenants.sailor import Site
from laissez.tenants.traces import Request, load_azure, load_mooncake
from laissez.units import HOUR_S, HOUR_US, SECOND_US

WINDOW_S: Final = 200

# (TTFT, ITL) in milliseconds: the examples of Dynamo's documentation (v0.7.0)
OBJECTIVES: Final = (
    (500, 50),
    (200, 20),
    (500, 30),
    (300, 10),
    (300, 25),
    (200, 10),
    (200, 20),
    (500, 20),
    (500, 50),
    (2000, 100),
)


class Traffic(msgspec.Struct, frozen=True):
    """One stream. Spreads are coefficients of variation: of lengths, between windows, and of 10 s
    bins within one; `memory` joins windows."""

    req_per_s: float
    isl: float
    osl: float
    isl_spread: float
    osl_spread: float
    windows: float
    memory: float
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

    def make(self, scenario: Scenario, site: Site, planners: Planners) -> InferenceWorld:
        table = scenario.inference
        intervals = round(table.hold_plan_seconds / table.plan_seconds)
        profiles = {tree: planners.engines[tree] for tree in self.scopes}
        serving = Serving(
            profiles,
            self.sla,
            predictor=lambda: Steady(intervals),
            headroom=table.headroom,
            correct=False,
            credits=in_proportion,
        )
        believed_s = table.cold_seconds * scenario.tenants.believed_overhead
        app = Dynamo(
            serving,
            self.scopes,
            self.value * HOUR_US / (self.due - self.start),
            self.req_per_s,
            cold_start_s=believed_s,
        )
        return InferenceWorld(
            app,
            self.start,
            self.loads,
            BIN_S * SECOND_US,
            round(table.plan_seconds * SECOND_US),
            table.cold_seconds,
        )

    def need(self, scenario: Scenario, shares: Mapping[str, float], planners: Planners) -> Need:
        """What its planner would ask for if it saw the load that comes: whole engines, with
        headroom, and those of the last peak for a while."""
        table = scenario.inference
        memory = 1 + round(table.hold_plan_seconds / BIN_S)
        wanted = [
            sum(map(math.ceil, engines(load, self.sla, shares, planners, table.headroom)))
            for load in self.loads
        ]
        held = [max(wanted[max(0, at - memory) : at + 1]) for at in range(len(wanted))]
        return [
            *((self.start + at * BIN_S * SECOND_US, float(count)) for at, count in enumerate(held)),
            (self.due, 0.0),
        ]


def engines(
    load: Load, sla: Sla, shares: Mapping[str, float], planners: Planners, headroom: float = 1.0
) -> tuple[float, float]:
    """Prefill and decode engines of the mix that serve the load just so; types that cannot meet an
    objective do nothing for it."""
    plan = planned(
        {tree: planners.engines[tree] for tree in shares},
        sla,
        load.requests / BIN_S,
        load.isl,
        load.osl,
        headroom=headroom,
    )
    reads = sum(share * plan.capacity[tree].prefill for tree, share in shares.items())
    writes = sum(share * plan.capacity[tree].decode for tree, share in shares.items())
    return plan.prefill_need / reads if reads else 0.0, plan.decode_need / writes if writes else 0.0


def draw_inference(rng: Random, name: str, start: int, makings: Makings) -> InferenceSpec:
    table = makings.scenario.inference
    windows = max(1, round(rng.uniform(*table.hours) * HOUR_S / WINDOW_S))
    wanted = rng.uniform(*table.engines)
    if makings.recorded:
        stream = stretch(rng, makings.recorded, windows * WINDOW_S // BIN_S)
        sla = _objectives(rng, mean_of(stream, "isl"), mean_of(stream, "osl"), makings)
        times = wanted / max(
            1e-9,
            sum(sum(engines(load, sla, makings.shares, makings.planners)) for load in stream)
            / len(stream),
        )
        loads = [Load(load.requests * times, load.isl, load.osl) for load in stream]
    else:
        traffic = TRAFFIC[rng.choice(sorted(TRAFFIC))]
        sla = _objectives(rng, traffic.isl, traffic.osl, makings)
        one = Load(traffic.req_per_s * BIN_S, traffic.isl, traffic.osl)
        streams = wanted / sum(engines(one, sla, makings.shares, makings.planners))
        loads = [
            drawn_bin(rng, traffic, level, streams) for level in busyness(rng, traffic, windows)
        ]
    return InferenceSpec(
        name=name,
        start=start,
        due=start + windows * WINDOW_S * SECOND_US,
        scopes=tuple(makings.shares),
        sla=sla,
        loads=tuple(loads),
    )


def _objectives(rng: Random, isl: float, osl: float, makings: Makings) -> Sla:
    """One of those that an engine of the cluster can meet for requests of such lengths."""
    slas = [Sla(isl, osl, ttft_ms, itl_ms) for ttft_ms, itl_ms in OBJECTIVES]
    one = Load(1.0, isl, osl)
    able = [sla for sla in slas if all(engines(one, sla, makings.shares, makings.planners))]
    if not able:
        found = f"{isl:.0f} and {osl:.0f} tokens on {', '.join(makings.shares)}"
        raise ScenarioError(
            "inference: expected requests for which an engine of the cluster meets one of Dynamo's"
            f" objectives, found {found}"
        )
    return rng.choice(able)


def busyness(rng: Random, traffic: Traffic, windows: int) -> list[float]:
    """How busy each bin is, with mean 1: from the middle of one window to that of the next in a
    straight line."""
    spread = math.sqrt(math.log(1 + traffic.windows**2))
    state = rng.gauss(0, 1)
    levels = []
    for _ in range(windows + 1):
        levels.append(math.exp(spread * state - spread**2 / 2))
        state = traffic.memory * state + math.sqrt(1 - traffic.memory**2) * rng.gauss(0, 1)
    bins = WINDOW_S // BIN_S
    return [
        low + (high - low) * step / bins for low, high in pairwise(levels) for step in range(bins)
    ]


def drawn_bin(rng: Random, traffic: Traffic, level: float, streams: float) -> Load:
    """One bin of so many streams together."""
    requests = (
        traffic.req_per_s
        * BIN_S
        * streams
        * level
        * _varied(rng, traffic.bursts / math.sqrt(max(1.0, streams)))
    )
    few = max(1.0, math.sqrt(requests))  # the mean of many lengths varies less than one
    return Load(
        requests,
        traffic.isl * _varied(rng, traffic.isl_spread / few),
        traffic.osl * _varied(rng, traffic.osl_spread / few),
    )


def _varied(rng: Random, variation: float) -> float:
    """A factor with mean 1 and that coefficient of variation."""
    shape = 1 / max(1e-6, variation) ** 2
    return rng.gammavariate(shape, 1 / shape)


BIN_S: Final = 10
SHIFT_BINS: Final = 6


def read_bins(path: Path) -> tuple[Load, ...]:
    """The trace in `path`, from its first request to its last full bin: Azure's CSV or, if its name
    says `.jsonl`, Mooncake's lines."""
    return _read(path, path.stat().st_mtime_ns if path.exists() else 0)


@lru_cache(maxsize=4)  # every draw asks for it
def _read(path: Path, changed_at: int) -> tuple[Load, ...]:
    return binned(load_mooncake(path) if ".jsonl" in path.suffixes else load_azure(path))


def binned(requests: Sequence[Request]) -> tuple[Load, ...]:
    count = max(1, requests[-1].at_us // (BIN_S * SECOND_US))
    totals = [[0.0, 0.0, 0.0] for _ in range(count)]
    for request in requests:
        at = request.at_us // (BIN_S * SECOND_US)
        if at < count:
            for place, number in enumerate((1.0, request.input_tokens, request.output_tokens)):
                totals[at][place] += number
    return tuple(_evened(totals, at) for at in range(count))


def stretch(rng: Random, bins: Sequence[Load], count: int) -> list[Load]:
    """`count` bins from a random one on; after the last comes the first."""
    first = rng.randrange(len(bins))
    return [bins[(first + at) % len(bins)] for at in range(count)]


def mean_of(loads: Sequence[Load], length: Literal["isl", "osl"]) -> float:
    """The mean over requests."""
    requests = sum(load.requests for load in loads)
    return (
        sum(load.requests * float(getattr(load, length)) for load in loads) / requests
        if requests
        else 1.0
    )


def _evened(totals: list[list[float]], at: int) -> Load:
    near = totals[max(0, at - SHIFT_BINS) : at + SHIFT_BINS + 1]
    requests, came, answered = (sum(row[place] for row in near) for place in range(3))
    return (
        Load(requests / len(near), max(1.0, came / requests), max(1.0, answered / requests))
        if requests
        else Load(0.0, 1.0, 1.0)
    )
