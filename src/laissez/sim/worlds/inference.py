"""An inference service at work: a fluid queue before its prefill engines, and decode engines that
slow down the more they have to do at once.

Time goes in bins, in each of which requests come evenly. Those that would wait much longer than the
objective are turned away at the door (early rejection, as Mooncake does): serving them would only
make all that come after them late as well. They count as not served. What is read waits for its
turn (TTFT is the wait and the prefill itself); what is written shares its engine with the others
(ITL at as many at once as the load makes).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from laissez.sim.worlds.fluid_queue import FluidQueue, share_met
from laissez.sim.worlds.world import World
from laissez.tenants import Leaves
from laissez.tenants.dynamo import Dynamo, EngineProfile, Observation
from laissez.tenants.dynamo.profile import DecodeStep
from laissez.units import SECOND_US

# times the objective for the first token that a request may wait before it is turned away
PATIENCE: Final = 2.0
NEVER: Final = 1 << 62


class Load(msgspec.Struct, frozen=True, gc=False):
    """The requests of one bin, and their mean lengths in tokens."""

    requests: float
    isl: float
    osl: float


class Seen(msgspec.Struct):
    """What happened since the planner last looked."""

    requests: float = 0.0
    served: float = 0.0
    isl: float = 0.0
    osl: float = 0.0
    ttft_ms: float = 0.0
    itl_ms: float = 0.0
    span_us: int = 0


class InferenceWorld(World):
    """`loads` are the bins, of `bin_us` each; the planner looks every `interval_us`.

    `cold_s` is what a cold start takes in truth; what the application believes, unless given.
    """

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
        self._queue = FluidQueue()  # tokens to read
        self._score = self._came = 0.0
        self._seen = Seen()
        self._look_at = start + interval_us
        self._engines: dict[tuple[Leaves, int], tuple[Counts, Counts, int]] = {}
        self._plans = 0
        self._warm: Leaves = ()  # the engines that serve,
        self._warm_until = start  # and until when these are all

    def is_over(self) -> bool:
        return self.at >= self.due

    def performance(self) -> float:
        """Request-weighted mean of how far the two objectives were met."""
        return self._score / self._came if self._came else 1.0

    def _pass(self, now: int) -> None:
        while self.at < now:
            bin_end = self.start + ((self.at - self.start) // self.bin_us + 1) * self.bin_us
            self._warm_up()
            until = min(now, bin_end, self._look_at, self._warm_until)
            self._serve(until)
            self.at = until
            if until == self._look_at:
                self._look()

    def _warm_up(self) -> None:
        if self.at >= self._warm_until:
            self._warm = tuple(sorted(leaf for leaf, warm in self.nodes.items() if warm <= self.at))
            self._warm_until = min(
                (warm for warm in self.nodes.values() if warm > self.at), default=NEVER
            )

    def _serve(self, until: int) -> None:
        """One piece of one bin, with the engines that are warm."""
        span, warm = until - self.at, self._warm
        reads, writes, busy = self._at_work(warm)
        self.node_time.reconfiguring += span * (len(self.nodes) - len(warm))
        self.node_time.useful += span * busy
        self.node_time.surplus += span * (len(warm) - busy)
        position = (self.at - self.start) // self.bin_us
        if position >= len(self.loads):
            return
        load = self.loads[position]
        came = load.requests * span / self.bin_us
        self._seen.span_us += span
        if came > 0:
            self._account(load, came, span / SECOND_US, reads, writes)

    def _account(
        self, load: Load, came: float, seconds: float, reads: Counts, writes: Counts
    ) -> None:
        sla, profiles, seen = self.app.serving.sla, self.app.serving.profiles, self._seen
        self._came += came
        seen.requests += came
        seen.isl += came * load.isl
        seen.osl += came * load.osl
        taken, met, ttft_ms = self._read(load, came, seconds, reads, profiles)
        written, itl_ms = _write(load, taken / seconds, writes, profiles, sla.itl_ms)
        served = min(taken, written * seconds)
        if served > 0:
            self._score += served * (met + min(1.0, sla.itl_ms / itl_ms)) / 2
            seen.served += served
            seen.ttft_ms += served * ttft_ms
            seen.itl_ms += served * itl_ms

    def _read(
        self,
        load: Load,
        came: float,
        seconds: float,
        reads: Counts,
        profiles: dict[str, EngineProfile],
    ) -> tuple[float, float, float]:
        """How many requests are taken in, how far they meet the objective for the first token, and
        their mean TTFT."""
        paces = [
            (tree, count * profiles[tree].prefill_tokens_per_s(load.isl)) for tree, count in reads
        ]
        capacity = sum([pace for _, pace in paces])
        if capacity <= 0:
            self._queue.waiting = 0.0  # nobody waits for a service that is not there
            return 0.0, 0.0, 0.0
        objective_s = self.app.serving.sla.ttft_ms / 1000
        pieces = self._queue.passed(
            seconds, came * load.isl / seconds, capacity, PATIENCE * objective_s
        )
        tokens = sum([amount for amount, _, _ in pieces])
        if tokens <= 0:
            return 0.0, 0.0, 0.0
        alone_s = (
            sum([pace / capacity * profiles[tree].ttft_ms(load.isl) for tree, pace in paces]) / 1000
        )
        met = (
            sum(
                [
                    amount * share_met(objective_s, alone_s + first_s, alone_s + last_s)
                    for amount, first_s, last_s in pieces
                ]
            )
            / tokens
        )
        wait_s = (
            sum([amount * (first_s + last_s) / 2 for amount, first_s, last_s in pieces]) / tokens
        )
        return tokens / load.isl, met, (alone_s + wait_s) * 1000

    def _at_work(self, warm: Leaves) -> tuple[Counts, Counts, int]:
        """Engines that prefill and that decode, by type, and how many nodes the load needs; the
        others only spread it."""
        key = (warm, self._plans)
        found = self._engines.get(key)
        if found is None:
            if len(self._engines) > 64:
                self._engines.clear()
            serving = self.app.serving
            reads, writes = (tuple(sorted(counts.items())) for counts in serving.at_work(warm))
            nodes = sum(count * serving.profiles[tree].gpus for tree, count in (*reads, *writes))
            found = self._engines[key] = (
                reads,
                writes,
                round(nodes * (1 - serving.standing(warm).spare)),
            )
        return found

    def _look(self) -> None:
        """The planner learns what the last interval was like."""
        seen, self._seen = self._seen, Seen()
        self._look_at += self._interval_us
        if seen.span_us <= 0:
            return
        came, served = seen.requests or 1.0, seen.served or 1.0
        ttft_ms, itl_ms, osl = seen.ttft_ms / served, seen.itl_ms / served, seen.osl / came
        duration_s = (ttft_ms + itl_ms * osl) / 1000
        self._warm_up()
        self.app.observe(
            Observation(
                seen.requests,
                seen.isl / came,
                osl,
                ttft_ms,
                itl_ms,
                duration_s,
                seen.span_us / SECOND_US,
            ),
            self._warm,
        )
        self._plans += 1

    def _gained(self, leaf: str) -> None:
        self.nodes[leaf] = self.at + self._cold_us
        self._warm_until = self.at

    def _lost(self, leaf: str, voluntary: bool) -> None:
        """What it was doing is done again elsewhere: seconds of work, which are not counted."""
        del self.nodes[leaf]
        self._warm_until = self.at


Counts = tuple[tuple[str, int], ...]


def _write(
    load: Load, per_s: float, writes: Counts, profiles: dict[str, EngineProfile], itl_slo_ms: float
) -> tuple[float, float]:
    """Requests per second that can be answered, and the mean ITL: engines share them by what each
    can do within the objective."""
    context = load.isl + load.osl / 2
    if per_s <= 0:
        return 0.0, 0.0
    engines = [(profiles[tree], profiles[tree].step(context), count) for tree, count in writes]
    weights = [
        profile.decode_tokens_per_s(context, max(itl_slo_ms, step.itl_ms(1)))
        for profile, step, _ in engines
    ]
    total = sum([count * weight for (_, _, count), weight in zip(engines, weights, strict=True)])
    if total <= 0:
        return 0.0, 0.0
    answered = itl_ms = 0.0
    for (_, step, count), weight in zip(engines, weights, strict=True):
        share = count * weight / total
        at_once = _at_once(step, per_s * load.osl * weight / total)
        one_ms = step.itl_ms(at_once)
        answered += min(per_s * share, count * at_once / one_ms * 1000 / load.osl)
        itl_ms += share * one_ms
    return answered, itl_ms


def _at_once(step: DecodeStep, tokens_per_s: float) -> float:
    """How many requests an engine has at once so that it writes that many tokens per second: the
    most it can, if that is not enough."""
    low, high, itl_ms = 0.0, float(step.batch_max), step.itl_ms
    if high / itl_ms(high) * 1000 <= tokens_per_s:
        return high
    for _ in range(12):
        middle = (low + high) / 2
        if middle / itl_ms(middle) * 1000 < tokens_per_s:
            low = middle
        else:
            high = middle
    return high
