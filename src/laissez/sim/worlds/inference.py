"""An inference service at work: a fluid queue before its prefill engines, and decode engines that
slow down as their batches grow.

Time goes in bins, in each of which requests arrive evenly. Requests that would wait much longer
than the objective are rejected early, as Mooncake does: serving them would only delay all that
follow. They count as not served. TTFT is the wait plus the prefill itself; ITL follows from the
batch size that the load causes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from laissez.sim.worlds.fluid_queue import FluidQueue, share_met
from laissez.sim.worlds.world import World
from laissez.tenants import Leaves
from laissez.tenants.dynamo import Dynamo, EngineProfile, Observation
from laissez.tenants.dynamo.profile import DecodeStep
from laissez.units import SECOND_US

# the longest wait before a request is rejected, in multiples of the TTFT objective
PATIENCE: Final = 2.0
NEVER: Final = 1 << 62
ENGINES_CACHED_MAX: Final = 64
BISECTIONS: Final = 12

Counts: TypeAlias = tuple[tuple[str, int], ...]


class Load(msgspec.Struct, frozen=True, gc=False):
    """The requests of one bin, and their mean lengths in tokens."""

    requests: float
    isl: float
    osl: float


class Window(msgspec.Struct):
    """The totals since the last plan."""

    requests: float = 0.0
    served: float = 0.0
    isl: float = 0.0
    osl: float = 0.0
    ttft_ms: float = 0.0
    itl_ms: float = 0.0
    span_us: int = 0


class InferenceWorld(World):
    """`loads` are the bins, of `bin_us` each; the planner observes every `interval_us`. `cold_s` is
    the true cold start; by default the one that the application believes."""

    def __init__(
        self,
        app: Dynamo,
        start: int,
        loads: Sequence[Load],
        bin_us: int,
        interval_us: int,
        cold_s: float | None = None,
    ) -> None:
        super().__init__(start)
        self.app: Dynamo = app
        self.due = start + len(loads) * bin_us
        self.loads, self.bin_us, self._interval_us = loads, bin_us, interval_us
        self._cold_us = round((app.cold_start_s("") if cold_s is None else cold_s) * SECOND_US)
        self._queue = FluidQueue()  # tokens to prefill
        self._score = self._arrived = 0.0
        self._window = Window()
        self._observe_at = start + interval_us
        self._engines: dict[tuple[Leaves, int], tuple[Counts, Counts, int]] = {}
        self._plans = 0
        self._warm: Leaves = ()  # the engines that serve,
        self._warm_until = start  # and until when these are all

    def is_over(self) -> bool:
        return self.at >= self.due

    def performance(self) -> float:
        """The mean over requests of how far the two objectives were met."""
        return self._score / self._arrived if self._arrived else 1.0

    def _pass(self, now: int) -> None:
        while self.at < now:
            bin_end = self.start + ((self.at - self.start) // self.bin_us + 1) * self.bin_us
            self._warm_up()
            until = min(now, bin_end, self._observe_at, self._warm_until)
            self._serve(until)
            self.at = until
            if until == self._observe_at:
                self._observe()

    def _warm_up(self) -> None:
        if self.at >= self._warm_until:
            self._warm = tuple(sorted(leaf for leaf, warm in self.nodes.items() if warm <= self.at))
            later = (warm for warm in self.nodes.values() if warm > self.at)
            self._warm_until = min(later, default=NEVER)

    def _serve(self, until: int) -> None:
        """Serve a part of a bin with the warm engines."""
        span, warm = until - self.at, self._warm
        prefill, decode, busy = self._roles(warm)
        self.node_time.reconfiguring += span * (len(self.nodes) - len(warm))
        self.node_time.useful += span * busy
        self.node_time.surplus += span * (len(warm) - busy)
        position = (self.at - self.start) // self.bin_us
        if position >= len(self.loads):
            return
        load = self.loads[position]
        arrived = load.requests * span / self.bin_us
        self._window.span_us += span
        if arrived > 0:
            self._count(load, arrived, span / SECOND_US, prefill, decode)

    def _count(
        self, load: Load, arrived: float, seconds: float, prefill: Counts, decode: Counts
    ) -> None:
        sla, window = self.app.serving.sla, self._window
        self._arrived += arrived
        window.requests += arrived
        window.isl += arrived * load.isl
        window.osl += arrived * load.osl
        admitted, met, ttft_ms = self._prefill(load, arrived, seconds, prefill)
        profiles = self.app.serving.profiles
        per_s, itl_ms = _decode(load, admitted / seconds, decode, profiles, sla.itl_ms)
        served = min(admitted, per_s * seconds)
        if served > 0:
            self._score += served * (met + min(1.0, sla.itl_ms / itl_ms)) / 2
            window.served += served
            window.ttft_ms += served * ttft_ms
            window.itl_ms += served * itl_ms

    def _prefill(
        self, load: Load, arrived: float, seconds: float, engines: Counts
    ) -> tuple[float, float, float]:
        """The admitted requests, the share of the TTFT objective that they meet, and their TTFT."""
        profiles = self.app.serving.profiles
        speeds = [
            (tree, count * profiles[tree].prefill_tokens_per_s(load.isl)) for tree, count in engines
        ]
        capacity = sum([speed for _, speed in speeds])
        if capacity <= 0:
            self._queue.waiting = 0.0  # no request waits for a service that is down
            return 0.0, 0.0, 0.0
        objective_s = self.app.serving.sla.ttft_ms / 1000
        tokens_per_s = arrived * load.isl / seconds
        pieces = self._queue.advance(seconds, tokens_per_s, capacity, PATIENCE * objective_s)
        tokens = sum([piece.amount for piece in pieces])
        if tokens <= 0:
            return 0.0, 0.0, 0.0
        own_s = sum([speed / capacity * profiles[tree].ttft_ms(load.isl) for tree, speed in speeds])
        own_s /= 1000
        met = [
            piece.amount * share_met(objective_s, own_s + piece.first_s, own_s + piece.last_s)
            for piece in pieces
        ]
        wait_s = sum([piece.amount * (piece.first_s + piece.last_s) / 2 for piece in pieces])
        return tokens / load.isl, sum(met) / tokens, (own_s + wait_s / tokens) * 1000

    def _roles(self, warm: Leaves) -> tuple[Counts, Counts, int]:
        """The prefill and decode engines by type, and how many nodes the load needs."""
        key = (warm, self._plans)
        found = self._engines.get(key)
        if found is None:
            if len(self._engines) > ENGINES_CACHED_MAX:
                self._engines.clear()
            serving = self.app.serving
            prefill, decode = (tuple(sorted(counts.items())) for counts in serving.at_work(warm))
            nodes = sum(count * serving.profiles[tree].gpus for tree, count in (*prefill, *decode))
            needed = round(nodes * (1 - serving.service_level(warm).spare))
            found = self._engines[key] = (prefill, decode, needed)
        return found

    def _observe(self) -> None:
        """Report the last interval to the planner."""
        window, self._window = self._window, Window()
        self._observe_at += self._interval_us
        if window.span_us <= 0:
            return
        arrived, served = window.requests or 1.0, window.served or 1.0
        ttft_ms, itl_ms = window.ttft_ms / served, window.itl_ms / served
        isl, osl = window.isl / arrived, window.osl / arrived
        duration_s, span_s = (ttft_ms + itl_ms * osl) / 1000, window.span_us / SECOND_US
        self._warm_up()
        self.app.observe(
            Observation(window.requests, isl, osl, ttft_ms, itl_ms, duration_s, span_s), self._warm
        )
        self._plans += 1

    def _gained(self, leaf: str) -> None:
        self.nodes[leaf] = self.at + self._cold_us
        self._warm_until = self.at

    def _lost(self, leaf: str, voluntary: bool) -> None:
        """Its requests are repeated elsewhere: seconds of work, which are not counted."""
        del self.nodes[leaf]
        self._warm_until = self.at


def _decode(
    load: Load, per_s: float, engines: Counts, profiles: dict[str, EngineProfile], itl_slo_ms: float
) -> tuple[float, float]:
    """The requests per second that are answered, and the mean ITL. Engines share the load in
    proportion to their speed within the objective."""
    context = load.isl + load.osl / 2
    if per_s <= 0:
        return 0.0, 0.0
    steps = [(profiles[tree], profiles[tree].step(context), count) for tree, count in engines]
    weights = [
        profile.decode_tokens_per_s(context, max(itl_slo_ms, step.itl_ms(1)))
        for profile, step, _ in steps
    ]
    total = sum([count * weight for (_, _, count), weight in zip(steps, weights, strict=True)])
    if total <= 0:
        return 0.0, 0.0
    answered = itl_ms = 0.0
    for (_, step, count), weight in zip(steps, weights, strict=True):
        share = count * weight / total
        batch = _batch_size(step, per_s * load.osl * weight / total)
        one_ms = step.itl_ms(batch)
        answered += min(per_s * share, count * batch / one_ms * 1000 / load.osl)
        itl_ms += share * one_ms
    return answered, itl_ms


def _batch_size(step: DecodeStep, tokens_per_s: float) -> float:
    """The batch size at which an engine decodes that many tokens per second, or the largest one."""
    low, high, itl_ms = 0.0, float(step.batch_max), step.itl_ms
    if high / itl_ms(high) * 1000 <= tokens_per_s:
        return high
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if middle / itl_ms(middle) * 1000 < tokens_per_s:
            low = middle
        else:
            high = middle
    return high
