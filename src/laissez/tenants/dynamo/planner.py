"""Dynamo's SLA planner: from the expected load, the tokens per second that must be read (prefill)
and written (decode), and how many of them one engine of each type can do within the objectives.

The formulas are those of ai-dynamo/dynamo v0.7.0 (`planner_core.py`), with the throughput of a
decode engine as in its later versions: the largest batch whose ITL meets the objective. Unlike in
Dynamo, engines may differ. Dynamo divides a need by the throughput of *the* engine; here a need
stays in tokens per second, and engines of every type add up to it. A type that cannot meet an
objective at all, however little it has to do, adds nothing.

Profiles are wrong by some factor that lasts: caches are hit, batches are mixed. The corrections are
observed over profiled latency. A TTFT below the profile means that part of the input need not be
read; an ITL above it means that the planner must aim at a stricter objective.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import ClassVar

import msgspec

from laissez.tenants.dynamo.profile import DynamoError, EngineProfile
from laissez.tenants.inputs import Checked, NotNegative, Positive


class Sla(Checked, frozen=True, gc=False):
    """Objectives, and the lengths expected before any request. The defaults are Dynamo's."""

    error: ClassVar = DynamoError

    isl: Positive = 3000.0
    osl: Positive = 150.0
    ttft_ms: Positive = 500.0
    itl_ms: Positive = 50.0


class Observation(Checked, frozen=True, gc=False):
    """One interval: the number of requests, and their means, if there were any."""

    error: ClassVar = DynamoError

    num_req: NotNegative
    isl: NotNegative
    osl: NotNegative
    ttft_ms: NotNegative
    itl_ms: NotNegative
    request_duration_s: NotNegative
    interval_s: Positive


class Corrections(msgspec.Struct, frozen=True, gc=False):
    """Observed over profiled latency."""

    prefill: float = 1.0
    decode: float = 1.0


class Capacity(msgspec.Struct, frozen=True, gc=False):
    """Tokens per second that one engine reads and writes within the objectives."""

    prefill: float
    decode: float


class Plan(msgspec.Struct, frozen=True):
    """The tokens per second that the next interval needs, and those of one engine of each type."""

    req_per_s: float
    prefill_need: float
    decode_need: float
    min_endpoint: int
    capacity: Mapping[str, Capacity]

    def replicas(self, tree: str) -> tuple[int, int]:
        """Prefill and decode engines, if all are of one type."""
        one = self.capacity[tree]
        return self._engines(tree, self.prefill_need, one.prefill), self._engines(
            tree, self.decode_need, one.decode
        )

    def _engines(self, tree: str, need: float, capacity: float) -> int:
        if need <= 0:
            return self.min_endpoint
        if capacity <= 0:
            raise DynamoError(
                f"expected a type of engine that can meet the objectives, found {tree}: choose"
                " another, or a looser objective"
            )
        return max(self.min_endpoint, math.ceil(need / capacity))


def planned(
    profiles: Mapping[str, EngineProfile],
    sla: Sla,
    req_per_s: float,
    isl: float,
    osl: float,
    corrections: Corrections | None = None,
    *,
    min_endpoint: int = 1,
    headroom: float = 1.0,
) -> Plan:
    """The plan for `req_per_s` requests of `isl` and `osl` tokens, times `headroom`."""
    known = corrections or Corrections()
    prefill = req_per_s * isl * min(1.0, known.prefill) * headroom
    decode = req_per_s * osl * headroom
    capacity = {
        tree: Capacity(
            prefill_capacity(profile, sla, isl), decode_capacity(profile, sla, isl, osl, known)
        )
        for tree, profile in profiles.items()
    }
    return Plan(req_per_s, prefill, decode, min_endpoint, capacity)


def prefill_capacity(profile: EngineProfile, sla: Sla, isl: float) -> float:
    return profile.prefill_tokens_per_s(isl) if profile.ttft_ms(isl) <= sla.ttft_ms else 0.0


def decode_capacity(
    profile: EngineProfile, sla: Sla, isl: float, osl: float, corrections: Corrections
) -> float:
    """The profile alone decides whether a type can meet the objective. If the correction asks for
    the impossible, the engine serves one request at a time."""
    context = isl + osl / 2
    alone_ms = profile.itl_ms(1, context)
    if alone_ms > sla.itl_ms:
        return 0.0
    aim_ms = sla.itl_ms / corrections.decode if corrections.decode > 0 else sla.itl_ms
    return profile.decode_tokens_per_s(context, max(alone_ms, aim_ms))


def corrected(
    seen: Observation,
    profiles: Mapping[str, EngineProfile],
    now: Plan,
    serving: tuple[Mapping[str, int], Mapping[str, int]],
    before: Corrections,
) -> Corrections:
    """Observed over expected latency of the engines that were `serving` (prefill and decode, by
    type), or as `before` where nothing was observed.

    Requests are spread over engines by their capacity.
    """
    in_flight = seen.num_req * seen.request_duration_s / seen.interval_s
    context = seen.isl + seen.osl / 2
    reads = {tree: now.capacity[tree].prefill for tree in profiles}
    writes = {tree: now.capacity[tree].decode for tree in profiles}
    ttft_ms = _mean(serving[0], reads, lambda tree, share: profiles[tree].ttft_ms(seen.isl))
    itl_ms = _mean(
        serving[1], writes, lambda tree, share: profiles[tree].itl_ms(in_flight * share, context)
    )
    return Corrections(
        _ratio(seen.ttft_ms, ttft_ms, before.prefill), _ratio(seen.itl_ms, itl_ms, before.decode)
    )


def _mean(
    engines: Mapping[str, int],
    capacity: Mapping[str, float],
    latency: Callable[[str, float], float],
) -> float:
    """The mean latency, weighted by the load of each type. `latency` gets the share of the load
    that one engine has. 0 without engines."""
    total = sum(count * capacity[tree] for tree, count in engines.items())
    if total <= 0:
        return 0.0
    return sum(
        count * capacity[tree] / total * latency(tree, capacity[tree] / total)
        for tree, count in engines.items()
        if count
    )


def _ratio(seen_ms: float, expected_ms: float, before: float) -> float:
    return seen_ms / expected_ms if seen_ms > 0 and expected_ms > 0 else before
