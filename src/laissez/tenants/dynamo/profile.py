"""The speed of one engine: the time to first token (TTFT) by input length, and the time between
tokens (ITL) by load.

A decode step reads the weights, does a little for each request and reads every token in the cache:
ITL is about `a + b * n + c * n * context`. Profiles give it along curves of equal context, by the
share `kv` of the cache in use. With `kv` fixed the formula is linear in `1 / context`, so that is
how two curves are joined. (Joining them by the context itself, as a plane over `kv` and context
does, is wrong by 31 % at the median between contexts of 350 and 4320 in AIConfigurator's sweeps; by
its inverse, 2.6 %.) Nothing is extrapolated: outside of the profiled range the nearest profiled
value holds, and a batch never uses more of the cache than was profiled at that context, or
throughput would grow for nothing along the flat end of a curve.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

import msgspec

from laissez.tenants.cache import Cache

CACHED_MAX: Final = 4096  # throughputs and steps of one profile
# a straight part of a curve: where it begins, the latency there, its rise and its width
Line: TypeAlias = tuple[float, float, float, float]


class DynamoError(ValueError):
    """A profile or setting from which no plan can be made. The message has the expectation."""


class Curve(msgspec.Struct, frozen=True):
    """A latency that never falls, linear between points."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]

    def at(self, x: float) -> float:
        since, ms, rise, width = self.line(x)
        return ms + rise * ((x - since) / width)

    def line(self, x: float) -> Line:
        """The straight part on which `x` lies."""
        xs, ys = self.xs, self.ys
        after = bisect_left(xs, x)
        if after in (0, len(xs)):
            return 0.0, ys[max(0, after - 1)], 0.0, 1.0
        return xs[after - 1], ys[after - 1], ys[after] - ys[after - 1], xs[after] - xs[after - 1]


def curve(name: str, points: Sequence[tuple[float, float]]) -> Curve:
    """The curve through `points` of x and milliseconds, in any order.

    Noise only ever adds to a latency. So where a sweep falls although there is more to do, the
    higher point is the wrong one, and is lowered.
    """
    if not points:
        raise DynamoError(f"{name}: expected at least one point, found none")
    for x, y in points:
        if not 0 < x < math.inf or not 0 < y < math.inf:
            raise DynamoError(f"{name}: expected finite numbers above 0, found {y} ms at {x}")
    ordered = sorted(points)
    xs = tuple(float(x) for x, _ in ordered)
    if len(set(xs)) < len(xs):
        raise DynamoError(f"{name}: expected each point once, found one twice in {xs}")
    ys = [float(y) for _, y in ordered]
    for at in range(len(ys) - 2, -1, -1):
        ys[at] = min(ys[at], ys[at + 1])
    return Curve(xs, tuple(ys))


class Band:
    """The latencies between two curves. Both are straight between neighbouring points of either, so
    one search finds the place on both."""

    __slots__ = ("edges", "high", "lines", "low")

    def __init__(self, low: Curve, high: Curve) -> None:
        self.low, self.high = low, high
        self.edges = sorted({*low.xs, *high.xs})
        self.lines = [(*low.line(x), *high.line(x)) for x in (*self.edges, math.inf)]

    def at(self, x: float, share: float) -> float:
        """The latency at `x`, at `share` of the way from the low curve to the high one."""
        low, low_ms, low_rise, low_width, high, high_ms, high_rise, high_width = self.lines[
            bisect_left(self.edges, x)
        ]
        ms = low_ms + low_rise * ((x - low) / low_width)
        return ms + (high_ms + high_rise * ((x - high) / high_width) - ms) * share


class DecodeStep(msgspec.Struct, frozen=True):
    """A step of decoding at one context: between two curves, up to `used_max` of the cache."""

    band: Band
    share: float
    tokens: float  # that one request has in the cache
    max_kv_tokens: int
    used_max: float
    batch_max: int  # the most requests at once that fit the cache and were profiled

    def itl_ms(self, concurrency: float) -> float:
        used = concurrency * self.tokens / self.max_kv_tokens
        return self.band.at(used if used < self.used_max else self.used_max, self.share)


class EngineProfile:
    """One engine of `gpus` GPUs of type `gpu`. `prefill` is TTFT by input length, `decode` is ITL
    by context and share of the cache in use."""

    def __init__(
        self,
        gpu: str,
        gpus: int,
        max_kv_tokens: int,
        prefill: Sequence[tuple[float, float]],
        decode: Mapping[float, Sequence[tuple[float, float]]],
    ) -> None:
        if gpus < 1 or max_kv_tokens < 1 or not decode:
            raise DynamoError(
                f"{gpu}: expected GPUs, cache tokens and decode curves, found {gpus},"
                f" {max_kv_tokens} and {len(decode)}"
            )
        self.gpu, self.gpus, self.max_kv_tokens = gpu, gpus, max_kv_tokens
        self.prefill = curve(f"{gpu}, prefill", prefill)
        self.contexts = tuple(sorted(decode))
        if not 0 < self.contexts[0] <= self.contexts[-1] < math.inf:
            raise DynamoError(
                f"{gpu}, decode: expected finite contexts above 0, found {self.contexts}"
            )
        self.decode = tuple(
            curve(f"{gpu}, decode at context {context:g}", decode[context])
            for context in self.contexts
        )
        used_max = max(each.xs[-1] for each in self.decode)
        if used_max > 1:
            raise DynamoError(
                f"{gpu}, decode: expected shares of the cache up to 1, found {used_max}"
            )
        self._bands = [
            Band(low, high)
            for low, high in pairwise((self.decode[0], *self.decode, self.decode[-1]))
        ]
        self._throughputs = Cache(CACHED_MAX, self._throughput)
        self._steps = Cache(CACHED_MAX, self._step)

    def ttft_ms(self, isl: float) -> float:
        """Time to first token of one request of `isl` tokens."""
        _check("isl", isl)
        return self.prefill.at(isl)

    def prefill_tokens_per_s(self, isl: float) -> float:
        """Input tokens that the whole engine reads per second, one request after the other."""
        return min(isl, self.prefill.xs[-1]) / self.ttft_ms(isl) * 1000

    def itl_ms(self, concurrency: float, context: float) -> float:
        """Time between tokens with `concurrency` requests of `context` tokens each."""
        _check("concurrency", concurrency)
        return self._steps[context].itl_ms(concurrency)

    def step(self, context: float) -> DecodeStep:
        """A step of decoding, for many questions about one context."""
        return self._steps[context]

    def largest_batch(self, context: float, itl_slo_ms: float) -> int:
        """The most requests at once whose ITL meets the objective; 0 if not even one does."""
        step = self._steps[context]
        if not step.itl_ms(1) <= itl_slo_ms:
            return 0
        meets, fails = 1, step.batch_max + 1
        while fails - meets > 1:
            middle = (meets + fails) // 2
            if step.itl_ms(middle) <= itl_slo_ms:
                meets = middle
            else:
                fails = middle
        return meets

    def decode_tokens_per_s(self, context: float, itl_slo_ms: float) -> float:
        """Output tokens per second at the largest batch; 0 if the objective cannot be met."""
        return self._throughputs[context, itl_slo_ms]

    def _throughput(self, asked: tuple[float, float]) -> float:
        context, itl_slo_ms = asked
        batch = self.largest_batch(context, itl_slo_ms)
        return batch / self.itl_ms(batch, context) * 1000

    def _step(self, context: float) -> DecodeStep:
        band, share = self._beside(context)
        low, high, tokens = band.low.xs[-1], band.high.xs[-1], max(context, self.contexts[0])
        used_max = low + (high - low) * share
        batch_max = max(1, int(used_max * self.max_kv_tokens / tokens + 1e-9))
        return DecodeStep(band, share, tokens, self.max_kv_tokens, used_max, batch_max)

    def _beside(self, context: float) -> tuple[Band, float]:
        """The band around `context`, and the place of the context between its two curves."""
        _check("context", context)
        after = bisect_left(self.contexts, context)
        if after in (0, len(self.contexts)):
            return self._bands[after], 0.0
        low, high = 1 / self.contexts[after - 1], 1 / self.contexts[after]
        return self._bands[after], (1 / context - low) / (high - low)


def _check(name: str, value: float) -> None:
    if not 0 <= value < math.inf:
        raise DynamoError(f"expected {name} to be a number from 0 on, found {value}")
